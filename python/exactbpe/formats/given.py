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

    @property
    def is_nothing(self) -> bool:
        """Whether all is left to the file."""
        return self.alphabet is None and self.unknown is None and self.word_prefix is None
