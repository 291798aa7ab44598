"""Rules that tell the last character of a word from the same character inside.

subword-nmt and fastBPE start the word ``low`` as ``l o w</w>``. A rule of ours holds in both places, so it
is two of theirs, one after the other: ``(l, r)`` and ``(l, r</w>)``. That gives the same tokens wherever the
rules are in order (docs/formats.md says why).
"""

from __future__ import annotations

from pathlib import Path

from exactbpe import _core
from exactbpe.formats.agreement import note_order, rules_with_ids
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown
from exactbpe.formats.source import built
from exactbpe.formats.spelling import check_fields
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

END = "</w>"


def doubled(tokenizer: Tokenizer, path: Path, losses: Losses) -> list[list[str]]:
    """The rules of a tokenizer, each for the inside and for the end of a word."""
    note_order(tokenizer, losses)
    merges = rules_with_ids(tokenizer)
    check_fields(path, merges)
    _refuse_marked(path, merges)
    losses.add_prefix(tokenizer.word_prefix)
    return [rule for left, right in merges for rule in ([left, right], [left, right + END])]


def read_trained(data: bytes, given: Given, *, counted: bool) -> Tokenizer | None:
    """A quick way for doubled rules in order, ``counted`` or not; ``None`` leaves them to `halved`."""
    found = _core.Model.of_codes(data, counted) if given.is_nothing else None
    return None if found is None else Tokenizer._of(found, "error", "")


def halved(path: Path, rules: list[list[str]], losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer whose rules were doubled, and no other."""
    inside, at_end = rules[::2], rules[1::2]
    if [[left, right + END] for left, right in inside] != at_end:
        raise BPEError(
            f"{path}: the rules for the end of a word ({END}) are not those for its inside, so no Tokenizer "
            "can do the same: use exactbpe.formats.SubwordNMT"
        )
    _refuse_marked(path, inside)
    tokenizer = built(path, inside, None, given)
    note_order(tokenizer, losses)
    return tokenizer


def _refuse_marked(path: Path, merges: list[list[str]]) -> None:
    """Refuse symbols that look like the end of a word."""
    for index, (left, right) in enumerate(merges):
        for symbol in (left, right, left + right):
            if symbol.endswith(END) and symbol != END:
                inside = symbol.removesuffix(END)
                message = f"{shown(symbol)} would be taken for {shown(inside)} at the end of a word"
                raise BPEError(f"{path}: merges[{index}]: {message}")
