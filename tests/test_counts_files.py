"""Counts in files: what is saved is loaded, equal counts are equal bytes, and damage is always noticed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exactbpe import BPEError, Progress, WordCounts, count_files, merge_counts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MOST = 2**64 - 1

# Fewer examples, because every file is brought to the disk.
with_files = settings(
    max_examples=settings().max_examples // 4, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

chars = st.sampled_from(["a", "b", "\0", "\x7f", "é", "你", "😀", "\ud800", "\ufeff", "\U0010ffff"])
words = st.lists(chars, min_size=1, max_size=12).map("".join)
counts_of_words = st.dictionaries(words, st.integers(1, 300) | st.integers(1, MOST), max_size=12)

SOME = {"a": 3, "ab": 300, "ab\0": MOST, "abc" * 50: 1, "é": 7, "\ud800": 2, "😀": 3 * 10**9}


def folder_content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


@with_files
@given(counts_of_words, st.randoms(use_true_random=False))
def test_round_trip(tmp_path: Path, some: dict[str, int], rng: random.Random) -> None:
    items = list(some.items())
    counts = WordCounts(some)
    counts.save(tmp_path / "counts")
    assert WordCounts.load(tmp_path / "counts") == counts
    assert WordCounts.load(str(tmp_path / "counts")).items() == counts.items()
    rng.shuffle(items)
    WordCounts(dict(items)).save(tmp_path / "again")
    WordCounts.load(tmp_path / "counts").save(tmp_path / "and again")
    assert len(set(folder_content(tmp_path).values())) == 1


@with_files
@given(counts_of_words, counts_of_words)
def test_other_counts_are_other_bytes(tmp_path: Path, one: dict[str, int], other: dict[str, int]) -> None:
    WordCounts(one).save(tmp_path / "one")
    WordCounts(other).save(tmp_path / "other")
    same = (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert same == (one == other)


@with_files
@given(st.lists(st.dictionaries(words, st.integers(1, 2**60), max_size=12), max_size=7))
def test_merging_is_adding(tmp_path: Path, parts: list[dict[str, int]]) -> None:
    paths = [tmp_path / f"part {i}" for i in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        WordCounts(part).save(path)
    merge_counts(paths, tmp_path / "sum")
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    assert WordCounts.load(tmp_path / "sum") == WordCounts(total)
    WordCounts(total).save(tmp_path / "at once")
    assert (tmp_path / "sum").read_bytes() == (tmp_path / "at once").read_bytes()


def test_large_files(tmp_path: Path) -> None:
    """Larger than the blocks in which files are read and written, with a word that is larger still."""
    rng = random.Random(0)
    some = {f"{rng.randrange(10**9)}{'x' * rng.randint(0, 30)}": rng.randint(1, 10**6) for _ in range(30_000)}
    some["word" * 200_000] = 5
    some["word" * 200_000 + "s"] = 6
    WordCounts(some).save(tmp_path / "all")
    assert WordCounts.load(tmp_path / "all") == WordCounts(some)
    items = list(some.items())
    for i in range(10):
        WordCounts(dict(items[i::10])).save(tmp_path / str(i))
    merge_counts([tmp_path / str(i) for i in range(10)], tmp_path / "sum")
    assert (tmp_path / "sum").read_bytes() == (tmp_path / "all").read_bytes()


def test_merging_into_one_of_the_files(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    WordCounts(SOME).save(path)
    merge_counts([path], path)
    assert WordCounts.load(path) == WordCounts(SOME)
    WordCounts({"a": 2}).save(path)
    merge_counts((path for _ in range(3)), path)
    assert WordCounts.load(path) == WordCounts({"a": 6})


def test_merging_nothing(tmp_path: Path) -> None:
    merge_counts([], tmp_path / "sum")
    assert WordCounts.load(tmp_path / "sum") == WordCounts()


# -------------------------------------------------------------------------------- texts to counts


@pytest.mark.parametrize("memory_limit", [None, 0, 3_000_000, 10**30, -1])
@pytest.mark.parametrize("threads", [1, 2])
def test_files_are_counted_into_a_file(tmp_path: Path, memory_limit: int | None, threads: int) -> None:
    """Larger than the blocks, with words across their edges, and a last word that the file's end ends."""
    rng = random.Random(9)
    vocabulary = ["".join(rng.choices("abcdé你\0", k=rng.randint(1, 14))) for _ in range(20_000)]
    counts = WordCounts()
    paths = []
    for i, words in enumerate((100_000, 0, 3, 150_000)):
        text = " ".join(rng.choices(vocabulary, k=words))
        paths.append(tmp_path / f"text {i}")
        paths[-1].write_bytes(text.encode())
        counts.update([text])
    counts.save(tmp_path / "want")
    before = sorted(tmp_path.iterdir())
    count_files(paths, tmp_path / "counts", threads=threads, memory_limit=memory_limit)
    assert (tmp_path / "counts").read_bytes() == (tmp_path / "want").read_bytes()
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "counts"])


def test_a_long_word_that_is_in_no_run(tmp_path: Path) -> None:
    """The word at the end of a block waits for the rest of it, while the others go to a run."""
    word = "ab你" * (1 << 20)
    path = tmp_path / "text"
    path.write_text(f"x {word}\n{word} y x", encoding="utf-8")
    for memory_limit in (0, None):
        count_files(iter([path, str(path)]), tmp_path / "counts", threads=1, memory_limit=memory_limit)
        assert WordCounts.load(tmp_path / "counts") == WordCounts({word: 4, "x": 4, "y": 2})


def test_counting_nothing_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for paths in ([], [tmp_path / "empty"]):
        events: list[Progress] = []
        count_files(paths, tmp_path / "counts", memory_limit=0, progress=events.append)
        assert WordCounts.load(tmp_path / "counts") == WordCounts()
        assert [event.done for event in events] == [0]


def test_progress_of_counting_files(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"some words " * 300_000)
    events: list[Progress] = []
    count_files([tmp_path / "a", tmp_path / "b"], tmp_path / "counts", threads=1, progress=events.append)
    assert all(event.stage == "count" and event.total == 6_600_000 for event in events)
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert events[-1].done == 6_600_000


@pytest.mark.parametrize("existing", [None, b"kept as it is"])
@pytest.mark.parametrize("memory_limit", [None, 0])
def test_counting_that_fails_leaves_no_trace(
    tmp_path: Path, existing: bytes | None, memory_limit: int | None
) -> None:
    good, bad, out = tmp_path / "good", tmp_path / "bad", tmp_path / "out"
    good.write_bytes(b"some words " * 300_000)
    bad.write_bytes(b"some words " * 300_000 + b"\xff")
    if existing is not None:
        out.write_bytes(existing)
    before = folder_content(tmp_path)

    for arguments, options, error, message in (
        (([good, bad], out), {}, BPEError, "bad is not valid UTF-8 at byte 3300000"),
        (([good, tmp_path / "missing"], out), {}, FileNotFoundError, "missing"),
        (([good, tmp_path], out), {}, OSError, tmp_path.name),
        (([good], out), {"threads": 0}, BPEError, "threads"),
        (([good], out), {"threads": True}, TypeError, "threads"),
        (([good], tmp_path / "none" / "out"), {}, FileNotFoundError, "none"),
    ):
        with pytest.raises(error, match=message):
            count_files(*arguments, **{"memory_limit": memory_limit, **options})
        assert folder_content(tmp_path) == before
    for wrong in (True, 1.0, "1"):
        with pytest.raises(TypeError, match="memory_limit must be a whole number"):
            count_files([good], out, memory_limit=wrong)  # type: ignore[arg-type]
    assert folder_content(tmp_path) == before


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_callback_that_raises_while_files_are_counted(tmp_path: Path, size: int) -> None:
    """At the first event, which is the last one where there is little to count."""
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_bytes(b"a " * (size // 2))
    out.write_bytes(b"kept as it is")
    before = folder_content(tmp_path)

    def callback(event: Progress) -> None:
        raise LookupError("my own")

    with pytest.raises(LookupError, match="my own"):
        count_files([text], out, progress=callback)
    assert folder_content(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="no such limits there")
@pytest.mark.parametrize(
    "work", ["merge_counts([p] * 300, out)", "count_files([t] * 300, out, memory_limit=0)"]
)
def test_more_files_than_may_be_open_at_once(tmp_path: Path, work: str) -> None:
    """A merge of any number of files, and a count that leaves any number of runs."""
    WordCounts({"a": 2, "b": 1}).save(tmp_path / "part")
    (tmp_path / "text").write_bytes(b"a b a " * 200)
    program = f"""
import resource, sys
from pathlib import Path
from exactbpe import count_files, merge_counts
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
p, t, out = (Path({str(tmp_path)!r}, name) for name in ("part", "text", "out"))
{work}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    times = 1 if work.startswith("merge") else 200
    assert WordCounts.load(tmp_path / "out") == WordCounts({"a": 600 * times, "b": 300 * times})


# ------------------------------------------------------------------------------------------- damage


def is_refused(path: Path, content: bytes) -> str:
    """The message with which both readers refuse this content."""
    path.write_bytes(content)
    before = folder_content(path.parent)
    messages = []
    for read in (WordCounts.load, lambda path: merge_counts([path], path.with_name("sum"))):
        with pytest.raises(BPEError, match="byte") as refused:
            read(path)
        messages.append(str(refused.value))
        assert str(path) in messages[-1]
    assert messages[0] == messages[1]
    assert folder_content(path.parent) == before
    return messages[0]


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    WordCounts(SOME).save(tmp_path / "counts")
    content = (tmp_path / "counts").read_bytes()
    for length in range(len(content)):
        message = is_refused(tmp_path / "cut short", content[:length])
        assert ("not a file of word counts" if length < 16 else "ends too early") in message


def test_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    WordCounts({"a": 3, "ab": 300, "ab\0": MOST, "é": 7}).save(tmp_path / "counts")
    content = (tmp_path / "counts").read_bytes()
    path = tmp_path / "flipped"
    for at in range(len(content)):
        is_refused(path, content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        for bit in range(8):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :])
            with pytest.raises(BPEError, match=r"flipped.* byte"):
                WordCounts.load(path)


def test_every_byte_too_many_or_missing_is_refused(tmp_path: Path) -> None:
    WordCounts(SOME).save(tmp_path / "counts")
    content = (tmp_path / "counts").read_bytes()
    for at in range(len(content)):
        is_refused(tmp_path / "one missing", content[:at] + content[at + 1 :])
    for end in (b"\0", b"x", b"\n", content):
        assert "more bytes after the end" in is_refused(tmp_path / "longer", content + end)


def test_a_damaged_large_file_is_refused(tmp_path: Path) -> None:
    WordCounts({f"{i:07}": i + 1 for i in range(100_000)}).save(tmp_path / "counts")
    content = (tmp_path / "counts").read_bytes()
    rng = random.Random(0)
    for _ in range(10):
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        is_refused(tmp_path / "flipped", bytes(flipped))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"a 3\nab 300\n",
        b"exactbpe counts",
        b"exactbpe counts2" + bytes(99),
        b"PK\3\4" + bytes(999),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "not a file of word counts at byte 0" in is_refused(tmp_path / "foreign", content)


@pytest.mark.parametrize(
    "start",
    [
        b"\0" + b"\xff" * 8 + b"\x7f",  # a word of 2**63 bytes
        b"\0" + b"\xff" * 9 + b"\x01",  # of 2**64 - 1
        b"\0" + b"\xff" * 20,  # a number without an end
        b"\xff" * 9 + b"\x01",  # more bytes shared with the word before than it has
        b"\0\x80\x80\x80\x80\x10" + b"a" * 999,  # 4 gigabytes
        b"\0\x81\0a",  # a number that could be shorter
    ],
)
def test_a_huge_length_is_refused_and_not_allocated(tmp_path: Path, start: bytes) -> None:
    is_refused(tmp_path / "huge", b"exactbpe counts1" + start)


# The checksum, once more: it is no secret, so a file may have the right one and be wrong all the same.
K = 0x243F_6A88_85A3_08D3


def folded(a: int, b: int) -> int:
    return (a * b) % 2**64 ^ (a * b) >> 64


def hashed(seed: int, content: bytes) -> int:
    result = seed ^ len(content) * K % 2**64
    for at in range(0, len(content) // 8 * 8 + 8, 8):
        result = folded(int.from_bytes(content[at : at + 8], "little") ^ result, K)
    return result


def with_checksum(entries: bytes, words: int) -> bytes:
    content = b"exactbpe counts1" + entries + bytes(3) + words.to_bytes(8, "little")
    checksum = 0
    for at in range(0, len(content) // 64 * 64, 64):
        checksum = hashed(checksum, content[at : at + 64])
    return content + hashed(checksum, content[len(content) // 64 * 64 :]).to_bytes(8, "little")


def test_the_format_is_what_it_was(tmp_path: Path) -> None:
    """Files written by this version must be readable by every later one."""
    WordCounts({"ab": 300, "a": 3}).save(tmp_path / "counts")
    want = with_checksum(b"\0\1a\x03" + b"\1\1b\xac\x02", 2)
    assert (tmp_path / "counts").read_bytes() == want


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (b"\0\1b\1" + b"\0\1a\1", 2),  # not in order
        (b"\0\1a\1" + b"\0\1a\1", 2),  # twice
        (b"\0\1a\1" + b"\1\0\1", 2),  # twice, otherwise
        (b"\0\1a\1", 2),  # another number of words
        (b"\0\1a\0", 0),  # a count of zero
        (b"\0\1\xff\1", 1),  # not UTF-8, not even with surrogates
        (b"\0\4\xf7\xbf\xbf\xbf\1", 1),  # beyond the last code point
        (b"\0\2\xc0\x80\1", 1),  # NUL in two bytes
        (b"\0\1\xc3\1", 1),  # half a character
        (b"\0\3a b\1", 1),  # holds whitespace
        (b"\0\4a\xe3\x80\x80\1", 1),
        (b"\0\1a\1" + b"\1\1\x85\1", 2),
    ],
)
def test_a_file_that_nobody_wrote_is_refused(tmp_path: Path, entries: bytes, words: int) -> None:
    is_refused(tmp_path / "made up", with_checksum(entries, words))


# ---------------------------------------------------------------------------- whole or not at all


def failing_calls(folder: Path) -> list[tuple[Callable[[Path], Any], type[Exception], str]]:
    (folder / "foreign").write_bytes(b"foreign")
    WordCounts({"a": MOST}).save(folder / "most")
    WordCounts({"a": 1, "b": 1}).save(folder / "one more")
    WordCounts({f"{i:07}": 1 for i in range(1000)}).save(folder / "cut")
    (folder / "cut").write_bytes((folder / "cut").read_bytes()[:-1])
    most, more, foreign, cut = (folder / name for name in ("most", "one more", "foreign", "cut"))
    return [
        (lambda out: merge_counts([most, foreign], out), BPEError, "foreign"),
        (lambda out: merge_counts([cut, most], out), BPEError, "cut"),
        (lambda out: merge_counts([most, folder / "missing"], out), FileNotFoundError, "missing"),
        (lambda out: merge_counts([most, folder], out), OSError, folder.name),
        (lambda out: merge_counts([most, more], out), OverflowError, '"a"'),
        (lambda out: merge_counts([more, most, more], out), OverflowError, '"a"'),
        (lambda out: merge_counts([most, None], out), TypeError, "NoneType"),  # type: ignore[list-item]
    ]


@pytest.mark.parametrize("existing", [None, b"kept as it is"])
def test_a_failure_leaves_no_trace(tmp_path: Path, existing: bytes | None) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "counts"
    if existing is not None:
        out.write_bytes(existing)
    before = folder_content(tmp_path / "out")
    for call, error, message in failing_calls(tmp_path / "in"):
        with pytest.raises(error, match=message):
            call(out)
        assert folder_content(tmp_path / "out") == before


def test_one_path_is_not_a_list_of_paths(tmp_path: Path) -> None:
    for wrong in ("counts", b"counts", tmp_path, None):
        with pytest.raises(TypeError, match="paths must be a list"):
            merge_counts(wrong, tmp_path / "sum")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="paths must be a list"):
            count_files(wrong, tmp_path / "sum")  # type: ignore[arg-type]
    assert folder_content(tmp_path) == {}


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    counts = WordCounts(SOME)
    with pytest.raises(FileNotFoundError, match="no folder"):
        counts.save(tmp_path / "no folder" / "counts")
    with pytest.raises(IsADirectoryError):
        counts.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="missing"):
        WordCounts.load(tmp_path / "missing")
    with pytest.raises(OSError, match=tmp_path.name):
        WordCounts.load(tmp_path)
    assert folder_content(tmp_path) == {}


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_bytes(b"x" * 10_000)
    WordCounts(SOME).save(path)
    assert WordCounts.load(path) == WordCounts(SOME)
    assert [*folder_content(tmp_path)] == ["counts"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("existing", [True, False])
def test_through_a_symbolic_link(tmp_path: Path, existing: bool) -> None:
    """The file behind the link is written; the link stays one."""
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "counts", tmp_path / "link"
    if existing:
        real.write_bytes(b"old")
    link.symlink_to(real)
    WordCounts(SOME).save(link)
    assert link.is_symlink()
    assert WordCounts.load(real) == WordCounts.load(link) == WordCounts(SOME)
    assert [*folder_content(tmp_path / "elsewhere")] == ["counts"]


@pytest.mark.skipif(os.name == "nt", reason="no such permissions there")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        WordCounts(SOME).save(tmp_path / "counts")
        merge_counts([tmp_path / "counts"], tmp_path / "sum")
        (tmp_path / "any").touch()
    finally:
        os.umask(old)
    want = (tmp_path / "any").stat().st_mode
    assert (tmp_path / "counts").stat().st_mode == (tmp_path / "sum").stat().st_mode == want


@pytest.mark.skipif(os.name == "nt", reason="no such permissions there")
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.touch()
    path.chmod(0o640)
    WordCounts(SOME).save(path)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_reported() -> None:
    with pytest.raises(OSError, match="No space left"):
        WordCounts(SOME).save("/dev/full")
