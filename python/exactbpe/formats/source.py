"""Bytes in, text and rules out: read with a limit, split exactly, refused by file, line and byte."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator
from pathlib import Path

from exactbpe.files import not_utf8
from exactbpe.formats.given import Given
from exactbpe.formats.messages import shown
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

# What a file may cost before it is refused. The longest trained token is half as long as the longest word.
MAX_FILE = 1 << 30  # bytes
MAX_TOKEN = 1 << 20  # characters

BLOCK = 1 << 20


def read(path: Path) -> bytes:
    """All of a file, which need not be a regular one."""
    blocks = []
    size = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            size += len(block)
            if size > MAX_FILE:
                raise BPEError(f"{path} is longer than {MAX_FILE} bytes, so it is not a tokenizer")
            blocks.append(block)
    return b"".join(blocks)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Half a million small lists, none of them garbage, make the collector run again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def decoded(path: Path, data: bytes) -> str:
    """The text of UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(f"{path}, line {data.count(10, 0, error.start) + 1},", error.start) from None


def lines(path: Path, data: bytes) -> list[str]:
    """The lines of UTF-8. Only U+000A ends one: `str.splitlines` would cut at ten other characters, too."""
    every = decoded(path, data).split("\n")
    if not every[-1]:
        every.pop()
    return every


def place(path: Path, lines: list[str], index: int) -> str:
    """Where a line stands, for a message."""
    offset = sum(len(line.encode()) + 1 for line in lines[:index])
    return f"{path}, line {index + 1} (byte {offset})"


def fields(path: Path, lines: list[str], number: int, what: str, skip: int = 0) -> list[list[str]]:
    """Each line split at exactly one U+0020 into so many fields, none of them empty; ``what`` they are."""
    rows = [line.split(" ") for line in lines[skip:]]
    for index, row in enumerate(rows, skip):
        if len(row) != number or not all(row):
            expected = f"must be {what}, with one space between"
            raise BPEError(f"{place(path, lines, index)} {expected}, not {shown(lines[index])}")
    longest = max(range(len(rows)), key=lambda index: max(map(len, rows[index])), default=0)
    for row in rows[longest : longest + 1]:
        check_length(place(path, lines, skip + longest), row)
    return rows


def check_length(path: Path | str, tokens: Iterable[str]) -> None:
    """Refuse tokens that cost more than they can be worth; ``path`` is the file, or a place in it."""
    longest = max(map(len, tokens), default=0)
    if longest > MAX_TOKEN:
        raise BPEError(f"{path}: a token has {longest} characters; {MAX_TOKEN} are the most")


def built(
    path: Path,
    merges: list[list[str]],
    alphabet: Iterable[str] | None,
    given: Given,
    unknown: str = "error",
    word_prefix: str = "",
) -> Tokenizer:
    """The tokenizer; what the caller gives goes before what the file says."""
    try:
        return Tokenizer(
            merges,
            alphabet if given.alphabet is None else given.alphabet,
            unknown=unknown if given.unknown is None else given.unknown,
            word_prefix=word_prefix if given.word_prefix is None else given.word_prefix,
        )
    except (TypeError, BPEError) as error:
        raise BPEError(f"{path}: {error}") from None
