"""What the caller says of a tokenizer that its file does not say, or says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Given:
    """`exactbpe.Tokenizer`'s own options; ``None`` leaves one to the file."""

    alphabet: Iterable[str] | None = None
    unknown: str | None = None
    word_prefix: str | None = None
