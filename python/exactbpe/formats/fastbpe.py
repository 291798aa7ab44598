"""The codes of fastBPE: ``left right count``, with ``</w>`` as in subword-nmt and no header."""

from __future__ import annotations

import re
from pathlib import Path

from exactbpe.formats import end_of_word
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown
from exactbpe.formats.source import fields, lines, place
from exactbpe.formats.spelling import utf8
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

FIRST_LINE = re.compile(rb"[^ \n]+ [^ \n]+ [0-9]+\n")


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The file of a tokenizer. It knows no counts, and fastBPE does not use them to encode: all are 0."""
    rules = end_of_word.doubled(tokenizer, path, losses)
    return {path: utf8(path, "".join(f"{left} {right} 0\n" for left, right in rules), [])}


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file that `spell` wrote, or one like it."""
    trained = end_of_word.read_trained(data, given, counted=True)
    return trained or end_of_word.halved(path, read_codes(path, data), losses, given)


def read_codes(path: Path, data: bytes) -> list[list[str]]:
    """The rules in a file as they are."""
    every = lines(path, data)
    rows = fields(path, every, 3, "a rule: left part, right part and count")
    for index, (_, _, count) in enumerate(rows):
        if not (count.isascii() and count.isdigit()):
            raise BPEError(f"{place(path, every, index)}: the count must be digits, not {shown(count)}")
    return [[left, right] for left, right, _ in rows]
