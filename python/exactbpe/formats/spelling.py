"""Tokens that a file can hold, and the refusal by name of those it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from exactbpe.formats.messages import shown, shown_rule
from exactbpe.formats.source import check_length
from exactbpe.reference import BPEError


def utf8(path: Path, text: str, tokens: Iterable[str]) -> bytes:
    """``text``, which spells ``tokens``, as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        token = next(token for token in tokens if _surrogate(token))
        message = f"{path}: {shown(token)} holds a lone surrogate, which no UTF-8 file can hold"
        raise BPEError(message) from None


def check_tokens(path: Path, tokens: list[str]) -> None:
    """Refuse what is too long to be read back, and lone surrogates that JSON would escape."""
    check_length(path, tokens)
    utf8(path, "".join(tokens), tokens)


def check_fields(path: Path, merges: list[list[str]]) -> None:
    """Refuse parts that would end a field or a line, and those that `check_tokens` refuses."""
    parts = list(chain.from_iterable(merges))
    check_tokens(path, parts)
    everything = "".join(parts)
    if " " in everything or "\n" in everything:
        index = next(i for i, rule in enumerate(merges) if {" ", "\n"} & set("".join(rule)))
        rule = f"merges[{index}] = {shown_rule(merges[index])}"
        raise BPEError(f"{path}: {rule} holds a space or a line break, which would end a token")


def _surrogate(token: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in token)
