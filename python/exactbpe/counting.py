"""Texts and files to counts of words: all that learning needs to know of a corpus."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from exactbpe import _core
from exactbpe.files import PathLike, folder_beside, not_utf8, replacing
from exactbpe.progress import ProgressCallback, Reporter
from exactbpe.reference import BPEError, iterator, not_a_str, whole_number

if TYPE_CHECKING:
    from pathlib import Path

# Files that are read at the same time.
OPEN_FILES = 32


class WordCounts:
    """How often each word occurs.

    Words are what ``str.split()`` gives. Counts reach up to 2**64 - 1; what would pass that raises
    ``OverflowError``. However texts are ordered, grouped or spread over threads, equal words give equal
    counts, and equal counts are equal objects. A call that fails leaves the counts as they were.

    >>> counts = WordCounts({"low": 2})
    >>> counts.add("low lower")
    >>> counts["low"], len(counts), counts.total
    (3, 2, 4)
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._core = _core.WordCounts()
        if counts is not None:
            self.add_counts(counts)

    # ------------------------------------------------------------------------------------ adding

    def add(self, text: str, *, threads: int | None = None) -> None:
        """Count the words of one text.

        Raises:
            TypeError: ``text`` is not a ``str``.
        """
        if not isinstance(text, str):
            raise not_a_str("text", text)
        self.update([text], threads=threads)

    def update(self, texts: Iterable[str], *, threads: int | None = None) -> None:
        """Count the words of all texts.

        Raises:
            TypeError: ``texts`` is one ``str`` or ``bytes``, or one of its elements is not a ``str``.
        """
        self._core.merge(count_texts("texts", texts, cores(threads)))

    def add_file(
        self, path: PathLike, *, threads: int | None = None, progress: ProgressCallback | None = None
    ) -> None:
        """Count the words of a UTF-8 file, read block by block.

        Raises:
            OSError: the file cannot be read.
            BPEError: it is not valid UTF-8; the message names the byte.
        """
        with open(path, "rb") as file:
            self.add_stream(file, path, threads=threads, progress=progress)

    def add_stream(
        self,
        stream: BinaryIO,
        name: object,
        *,
        threads: int | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Count the words of an open binary stream of UTF-8; ``name`` stands for it in messages."""
        counter = _core.TextCounter(cores(threads))
        reporter = Reporter(progress, "count", _size(stream))
        done = 0
        for size in _count_blocks(counter, stream, name):
            done += size
            reporter.report(done, counter.memory)
        reporter.report(done, counter.memory, last=True)
        self._core.merge(counter.take())

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add the counts of a mapping.

        Raises:
            TypeError: a word is not a ``str``, or a count is not a whole number.
            BPEError: a word is empty or holds whitespace, or a count is negative.
        """
        if not isinstance(counts, Mapping):
            raise TypeError(f"counts must be a mapping of words to counts, not {type(counts).__name__}")
        added = _core.WordCounts()
        for word, count in counts.items():
            if not isinstance(word, str):
                raise not_a_str("a word", word)
            if word.split() != [word]:
                raise BPEError(
                    f"{word!r} is not a word: it is empty or holds whitespace; add texts with update()"
                )
            count = whole_number(f"the count of {word!r}", count)
            if count < 0:
                raise BPEError(f"the count of {word!r} must not be negative, but is {count}")
            if count >= 2**64:
                raise OverflowError(f"the count of {word!r} is {count}; at most 2**64 - 1 can be counted")
            if count:
                added.add_word(word, count)
        self._core.merge(added)

    def merge(self, other: WordCounts) -> None:
        """Add all counts of ``other``."""
        if not isinstance(other, WordCounts):
            raise TypeError(f"other must be WordCounts, not {type(other).__name__}")
        self._core.merge(other._core)

    def __add__(self, other: WordCounts) -> WordCounts:
        if not isinstance(other, WordCounts):
            return NotImplemented
        result = WordCounts()
        result.merge(self)
        result.merge(other)
        return result

    # ------------------------------------------------------------------------------------ looking

    def __len__(self) -> int:
        """The number of distinct words."""
        return len(self._core)

    @property
    def total(self) -> int:
        """The number of words, each as often as it occurs."""
        return self._core.total

    def __getitem__(self, word: str) -> int:
        """How often ``word`` occurs; 0 if it does not, as in `collections.Counter`."""
        if not isinstance(word, str):
            raise not_a_str("word", word)
        return self._core.get(word)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._core.get(word) > 0

    def __iter__(self) -> Iterator[str]:
        """The words: the most frequent first, in code point order among equals."""
        return (word for word, _ in self.items())

    def items(self) -> list[tuple[str, int]]:
        """The words with their counts, in the order of iteration."""
        return self.most_common()

    def most_common(self, n: int | None = None) -> list[tuple[str, int]]:
        """The ``n`` most frequent words with their counts; all without ``n``."""
        n = len(self) if n is None else max(0, min(whole_number("n", n), len(self)))
        return self._core.most_common(n)

    def __eq__(self, other: object) -> bool:
        return self._core.equals(other._core) if isinstance(other, WordCounts) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"<WordCounts: {len(self):,} distinct of {self.total:,} words>"

    # ------------------------------------------------------------------------------------ keeping

    def save(self, path: PathLike) -> None:
        """Write the counts to a file, whole or not at all; the same counts give the same bytes."""
        with replacing(path) as temporary:
            self._core.save(temporary)

    @classmethod
    def load(cls, path: PathLike) -> WordCounts:
        """Read what `save` has written.

        Raises:
            OSError: the file cannot be read.
            BPEError: it is no file of counts, or damaged; the message names the byte.
        """
        _must_open(path)
        try:
            return cls._of(_core.WordCounts.load(path))
        except BPEError as error:
            raise BPEError(f"{os.fspath(path)}: {error}") from None

    def __reduce__(self) -> tuple[object, ...]:
        return (_from_bytes, (self._core.to_bytes(),))

    @classmethod
    def _of(cls, core: _core.WordCounts) -> WordCounts:
        counts = cls()
        counts._core = core
        return counts


def _from_bytes(content: bytes) -> WordCounts:
    return WordCounts._of(_core.WordCounts.from_bytes(content))


def count_texts(name: str, texts: Iterable[str], threads: int) -> _core.WordCounts:
    """Count the words of ``texts``, an argument called ``name``."""
    counter = _core.TextCounter(threads)
    counter.add_texts(iterator(name, texts), name)
    return counter.take()


def count_files(
    paths: Iterable[PathLike],
    output: PathLike,
    *,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Count the words of UTF-8 files into a file of counts, as ``WordCounts.save`` would write it.

    Args:
        memory_limit: about how many bytes the tables may take. Past it, sorted runs go to a temporary
            folder beside ``output`` and are merged in the end; the result is the same.

    Raises:
        OSError: a file cannot be read or written.
        BPEError: a file is not valid UTF-8; the message names it and the byte.
    """
    limit = None if memory_limit is None else whole_number("memory_limit", memory_limit)
    files = list(iterator("paths", paths))
    threads = cores(threads)
    reporter = Reporter(progress, "count", sum(os.stat(file).st_size for file in files) or None)
    done = 0
    with replacing(output) as temporary, folder_beside(temporary) as folder:
        runs: list[Path] = []
        counter = _core.TextCounter(threads)
        for file in files:
            with open(file, "rb") as stream:
                for size in _count_blocks(counter, stream, os.fspath(file)):
                    done += size
                    reporter.report(done, counter.memory)
                    # Sorting, and a table that grows, take as much again.
                    if limit is not None and counter.memory > limit // 2:
                        runs.append(folder / str(len(runs)))
                        counter.take().save(runs[-1])
        reporter.report(done, counter.memory, last=True)
        if runs:
            runs.append(folder / str(len(runs)))
            counter.take().save(runs[-1])
            _merge(runs, temporary, folder)
        else:
            counter.take().save(temporary)


def merge_counts(paths: Iterable[PathLike], output: PathLike) -> None:
    """Add up files of counts into one, in memory that does not grow with them.

    Raises:
        OSError: a file cannot be read or written.
        BPEError: one is no file of counts, or damaged; the message names it and the byte.
        OverflowError: a sum passes 2**64 - 1.
    """
    inputs = list(iterator("paths", paths))
    for path in inputs:
        _must_open(path)
    with replacing(output) as temporary, folder_beside(temporary) as folder:
        _merge(inputs, temporary, folder)


def _merge(paths: Sequence[PathLike], output: Path, folder: Path) -> None:
    """Add up files of counts; in several rounds where there are more than should be open at once."""
    round_number = 0
    while len(paths) > OPEN_FILES:
        sums = []
        for start in range(0, len(paths), OPEN_FILES):
            sums.append(folder / f"round{round_number}.{start}")
            _core.merge_counts_files(paths[start : start + OPEN_FILES], sums[-1])
        paths = sums
        round_number += 1
    _core.merge_counts_files(paths, output)


def cores(threads: int | None = None) -> int:
    """``threads``, or as many as the cores that this process may use."""
    if threads is not None:
        threads = whole_number("threads", threads)
        if threads < 1:
            raise BPEError(f"threads must be 1 or more, not {threads}")
        return min(threads, 1024)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _must_open(path: PathLike) -> None:
    # The core's words for a file that cannot be read would be poorer than Python's own.
    with open(path, "rb"):
        pass


def _is_file(stream: BinaryIO) -> bool:
    """Whether the stream is a file of the system, and not one that unpacks another."""
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)


def _size(stream: BinaryIO) -> int | None:
    return (os.fstat(stream.fileno()).st_size or None) if _is_file(stream) else None


def _path_of(stream: BinaryIO) -> str | None:
    """The path of a regular file, if that file still stands there; then all threads can read it."""
    if not _is_file(stream) or not isinstance(stream.name, (str, os.PathLike)):
        return None
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and os.path.samestat(
            os.fstat(stream.fileno()), os.stat(stream.name)
        ):
            return os.fspath(stream.name)
    return None


def _count_blocks(counter: _core.TextCounter, stream: BinaryIO, name: object) -> Iterator[int]:
    """Count a stream block by block; gives the size of each when it is counted."""
    path = _path_of(stream)
    for size, offset in (
        _blocks(counter, stream) if path is None else _blocks_of(counter, path, stream.tell())
    ):
        _refuse(offset, name)
        yield size
    _refuse(counter.end_stream(), name)


def _blocks(counter: _core.TextCounter, stream: BinaryIO) -> Iterator[tuple[int, int | None]]:
    while block := stream.read(counter.block):
        yield len(block), counter.add_utf8(block)


def _blocks_of(counter: _core.TextCounter, path: str, start: int) -> Iterator[tuple[int, int | None]]:
    size, offset = counter.add_block_of(path, start)
    while size or offset is not None:
        yield size, offset
        start += size
        size, offset = counter.add_block_of(path, start)


def _refuse(offset: int | None, name: object) -> None:
    if offset is not None:
        raise not_utf8(name, offset)
