"""Rules as lines ``left right`` below a header: what ``merges.txt`` and the codes of subword-nmt share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from exactbpe.formats.source import fields, lines
from exactbpe.reference import BPEError

HEADER = "#version: 0.2"
_HEADERS = re.compile(r"#version: (\d+)\.(\d+)(?:\.0+)*(?: - .*)?(\r?)")


class Rules(NamedTuple):
    """The rules of a file, and the version its header names, if it has one."""

    rules: list[list[str]]
    version: tuple[int, int] | None


def spell_rules(merges: list[list[str]]) -> str:
    """The text of the rules."""
    return "".join(f"{line}\n" for line in [HEADER, *map(" ".join, merges)])


def read_rules(path: Path, data: bytes) -> Rules:
    """The rules in a file. A header counts on line 1 only: ``#version`` is a token like any other."""
    every = lines(path, data)
    header = _HEADERS.fullmatch(every[0]) if every else None
    if header and header[3]:
        offset = len(every[0].encode()) - 1
        message = "lines end in CR LF, and CR would belong to the tokens: convert them to LF"
        raise BPEError(f"{path}, line 1 (byte {offset}): {message}")
    rows = fields(path, every, 2, "a rule, left and right part", skip=1 if header else 0)
    return Rules(rows, (int(header[1]), int(header[2])) if header else None)
