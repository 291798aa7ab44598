"""Files: output that appears whole or not at all, and the refusal of what is not UTF-8."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from exactbpe.reference import BPEError

if TYPE_CHECKING:
    from pathlib import Path

# `tempfile` and `pathlib` are imported where they are needed: they take as long as all the rest together.

PathLike = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends without an error.

    What is not a regular file (a pipe, a terminal) cannot be replaced and is written as it is.
    """
    import tempfile
    from pathlib import Path

    target = Path(path)
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a directory: name a file in it")
        yield target
        return
    target = target.resolve()  # the file behind a link is replaced, not the link
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {target.parent}") from None
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A temporary folder where a file is being written, or elsewhere if ``path`` is a pipe or a terminal."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(dir=path.parent if path.is_file() else None) as folder:
        yield Path(folder)


def read_lines(stream: BinaryIO, block: int) -> Iterator[bytes]:
    """Blocks of whole lines: each ends with a line feed (the last line gets one if it has none).

    A line ends at U+000A and nowhere else. A block holds about ``block`` bytes, or one longer line.
    """
    rest: list[bytes] = []
    while read := stream.read(block):
        end = read.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, read[:end]])
            rest = []
        rest.append(read[end:])
    if any(rest):
        yield b"".join([*rest, b"\n"])


def not_utf8(source: object, offset: int) -> BPEError:
    """The refusal of bytes that are not UTF-8; ``offset`` counts bytes from the start of ``source``."""
    return BPEError(
        f"{source} is not valid UTF-8 at byte {offset}: convert it, or replace what is wrong, first"
    )
