"""`WordCounts`: equal words give equal counts, however they come in, and a failed call changes nothing."""

from __future__ import annotations

import copy
import gzip
import io
import os
import pickle
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from exactbpe import BPEError, Progress, WordCounts
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WHITESPACE, alphabets, texts

MOST = 2**64 - 1
MEGABYTE = 1 << 20

# Every example goes in and out in several ways.
fewer = settings(max_examples=settings().max_examples // 2)

# Around the lengths at which the core stores words differently: 8 bytes, and beyond.
lengths = st.integers(1, 40)
parts_of_words = st.sampled_from(["a", "b", "\0", "é", "你", "😀", "\ud800", "\ufeff", "\u200b"])
long_and_short = st.builds(lambda n, part, end: part * n + end, lengths, parts_of_words, parts_of_words)
any_text = alphabets.flatmap(texts) | st.lists(long_and_short, max_size=8).map(" ".join)


def counter(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


def in_order(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def of_texts(*texts: str) -> WordCounts:
    counts = WordCounts()
    counts.update(texts)
    return counts


class Dribble(io.RawIOBase):
    """A stream that gives what it likes: at most so many bytes at a time."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.rest = content
        self.sizes = sizes

    def read(self, size: int = -1) -> bytes:
        self.sizes.append(self.sizes.pop(0))
        here, self.rest = self.rest[: self.sizes[-1]], self.rest[self.sizes[-1] :]
        return here


# ------------------------------------------------------------------------------------------ counting


@fewer
@given(st.lists(any_text, max_size=4))
def test_words_are_counted_as_python_would(some: list[str]) -> None:
    want = counter(some)
    counts = of_texts(*some)
    assert counts.items() == list(counts.most_common()) == in_order(want)
    assert list(counts) == [word for word, _ in in_order(want)]
    assert len(counts) == len(want)
    assert counts.total == want.total()
    for word in want:
        assert counts[word] == want[word]
        assert word in counts
    for word in (*want, "", " ", "a b", "no such word", "\0"):
        for other in (word + "\0", word + "\0" * 9, word[:-1], word * 2):
            assert counts[other] == want[other]
            assert (other in counts) == (other in want)


@fewer
@given(
    st.lists(any_text, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from([1, 2, 3, 8]),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_the_way_in_does_not_matter(
    some: list[str], rng: random.Random, threads: int, sizes: list[int]
) -> None:
    want = of_texts(*some)
    words = [word for text in some for word in text.split()]
    rng.shuffle(words)
    one_text = "".join(word + rng.choice(WHITESPACE) for word in words)
    cut = rng.randint(0, len(words))

    singly = WordCounts()
    for word in words:
        singly.add(word, threads=threads)
    generated = WordCounts()
    generated.update((word for word in words), threads=threads)
    merged = of_texts(*words[:cut])
    merged.merge(of_texts(*words[cut:]))
    mapped = WordCounts(Counter(words[:cut]))
    mapped.add_counts(Counter(words[cut:]))
    ways = [
        of_texts(one_text),
        singly,
        generated,
        merged,
        mapped,
        of_texts(*words[cut:]) + WordCounts(Counter(words[:cut])),
        WordCounts(dict(in_order(Counter(words)))),
    ]
    if not any("\ud800" <= char <= "\udfff" for char in one_text):
        streamed = WordCounts()
        streamed.add_stream(Dribble(one_text.encode(), sizes), "a stream", threads=threads)
        ways.append(streamed)
    for way in ways:
        assert way == want
        assert not (way != want)  # noqa: SIM202 - `!=` may be wrong alone
        assert way.items() == want.items()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_large_texts_and_files_on_several_threads(tmp_path: Path, threads: int) -> None:
    """Larger than the blocks that the core works on, so that words lie across their edges."""
    rng = random.Random(threads)
    alphabet = "ab\0é你😀"
    vocabulary = ["".join(rng.choices(alphabet, k=rng.randint(1, 12))) for _ in range(3_000)]
    pieces = [word + rng.choice(WHITESPACE) for word in rng.choices(vocabulary, k=300_000)]
    text = "".join(pieces)
    want = Counter(text.split())
    counts = WordCounts()
    counts.add(text, threads=threads)
    assert counts.items() == in_order(want)
    counts = WordCounts()
    counts.update(pieces, threads=threads)
    assert counts.items() == in_order(want)
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    assert path.stat().st_size > 2 * MEGABYTE
    counts = WordCounts()
    counts.add_file(path, threads=threads)
    assert counts.items() == in_order(want)
    counts.add_file(str(path), threads=threads)
    assert counts.total == 2 * want.total()


def test_a_word_of_several_megabytes_in_a_file(tmp_path: Path) -> None:
    word = "ab你" * MEGABYTE
    path = tmp_path / "text"
    path.write_text(f"x {word}\n{word} y x", encoding="utf-8")
    for threads in (1, 2):
        counts = WordCounts()
        counts.add_file(path, threads=threads)
        assert counts.items() == [(word, 2), ("x", 2), ("y", 1)]


def test_two_files_are_not_one_text(tmp_path: Path) -> None:
    """The last word of a file ends with the file."""
    for name in ("one", "two"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    counts = WordCounts()
    for name in ("one", "two", "one"):
        counts.add_file(tmp_path / name)
    assert counts == WordCounts({"one": 2, "two": 1})


def test_a_byte_order_mark_is_an_ordinary_character(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa a \xef\xbb\xbf\r\n\x1ca")
    counts = WordCounts()
    counts.add_file(path)
    assert counts == WordCounts({"a": 2, "\ufeffa": 1, "\ufeff": 1})


def test_nothing_to_count(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    counts = WordCounts()
    counts.add("")
    counts.add(WHITESPACE * 1000)
    counts.update([])
    counts.update(["", " "])
    counts.add_file(tmp_path / "empty")
    counts.add_stream(io.BytesIO(b" \n"), "a stream")
    counts.add_counts({})
    counts.add_counts({"a": 0})
    counts.merge(WordCounts())
    assert counts == WordCounts() == counts + counts
    assert (len(counts), counts.total, list(counts), counts.most_common(3)) == (0, 0, [], [])
    assert "a" not in counts


# ------------------------------------------------------------------------------------------- looking


def test_most_common() -> None:
    counts = WordCounts({"b": 2, "a": 2, "c": 5, "\uff5e": 2, "😀": 2, "a\0": 2})
    order = [("c", 5), ("a", 2), ("a\0", 2), ("b", 2), ("\uff5e", 2), ("😀", 2)]
    for n in range(8):
        assert counts.most_common(n) == order[:n]
    assert counts.most_common(10**30) == counts.most_common() == counts.most_common(None) == order
    assert counts.most_common(-1) == counts.most_common(-(10**30)) == []
    for wrong in (1.0, True, "1"):
        with pytest.raises(TypeError, match="n must be a whole number"):
            counts.most_common(wrong)  # type: ignore[arg-type]


def test_comparing() -> None:
    counts = WordCounts({"a": 1, "a-long-enough-word": 2})
    assert counts == WordCounts({"a-long-enough-word": 2, "a": 1})
    for other in (
        {"a": 1},
        {"a": 2, "a-long-enough-word": 2},
        {"a": 1, "a-long-enough-word": 3},
        {"b": 1, "a-long-enough-word": 2},
        {"a": 1, "a-long-enough-w0rd": 2},
        {"a": 1, "a-long-enough-word": 2, "c": 1},
    ):
        assert counts != WordCounts(other)
        assert WordCounts(other) != counts
    assert counts != {"a": 1, "a-long-enough-word": 2}
    with pytest.raises(TypeError):
        hash(counts)


def test_adding_makes_a_new_object() -> None:
    one, other = WordCounts({"a": 1, "b": 2}), WordCounts({"b": 3, "c": 4})
    assert one + other == other + one == WordCounts({"a": 1, "b": 5, "c": 4})
    assert (one, other) == (WordCounts({"a": 1, "b": 2}), WordCounts({"b": 3, "c": 4}))
    doubled = WordCounts({"a": 1, "long-word-long-word": 7})
    doubled.merge(doubled)
    assert doubled == WordCounts({"a": 2, "long-word-long-word": 14})
    with pytest.raises(TypeError):
        one + {"a": 1}  # type: ignore[operator]
    with pytest.raises(TypeError, match="other"):
        one.merge({"a": 1})  # type: ignore[arg-type]


def test_copies_go_their_own_way() -> None:
    counts = WordCounts({"a": 1, "b\0": 2**63, "\ud800": 3, "word" * 9999: 1})
    for same in (
        pickle.loads(pickle.dumps(counts)),
        copy.copy(counts),
        copy.deepcopy(counts),
        counts + WordCounts(),
        WordCounts(dict(counts.items())),
    ):
        assert same == counts
        assert same.items() == counts.items()
        same.add("a")
        assert same["a"] == 2
        assert counts["a"] == 1


def test_iterating_while_adding() -> None:
    counts = WordCounts({"a": 3, "b": 2})
    for word in counts:
        counts.add(f"{word}{word}")
    assert counts == WordCounts({"a": 3, "b": 2, "aa": 1, "bb": 1})


def test_repr() -> None:
    assert repr(WordCounts()) == "<WordCounts: 0 distinct of 0 words>"
    assert repr(WordCounts({"a": 1_000_000, "b": 234})) == "<WordCounts: 2 distinct of 1,000,234 words>"


def test_counts_up_to_the_largest() -> None:
    counts = WordCounts({"a": MOST, "a-long-enough-word": MOST - 1, "b": 3 * 10**9})
    counts.add("b a-long-enough-word")
    assert counts["a"] == counts["a-long-enough-word"] == MOST
    assert counts["b"] == 3 * 10**9 + 1
    assert counts.total == 2 * MOST + 3 * 10**9 + 1
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert counts.items() == [("a", MOST), ("a-long-enough-word", MOST), ("b", 3 * 10**9 + 1)]


# ----------------------------------------------------------------------------------------- refusals


def raising() -> Iterator[str]:
    yield "new words " * 10_000
    raise LookupError("my own")


class Refusal(NamedTuple):
    """A call that must fail, and what its message must hold."""

    method: str
    args: tuple[Any, ...]
    error: type[Exception]
    message: str
    threads: Any = None


def refusals(folder: Path) -> Iterator[Refusal]:
    (folder / "bad").write_bytes(b"new words\n and \xff")
    for index in (0, 1, 5_000):
        for wrong in (None, b"x", 5, float("nan"), ["x"]):
            some = ["new"] * index + [wrong, "more"]
            for way in (some, tuple(some), (element for element in some)):
                yield Refusal("update", (way,), TypeError, rf"texts\[{index}\] must be a str")
    for wrong in ("one text", b"one text", None, 5):
        yield Refusal("update", (wrong,), TypeError, "texts must be a list")
    for wrong in (None, b"x", 5, ["x"]):
        yield Refusal("add", (wrong,), TypeError, "text must be a str")
        yield Refusal("__getitem__", (wrong,), TypeError, "word must be a str")
    yield Refusal("update", (raising(),), LookupError, "my own")
    for word in ("", " ", "a b", "a\n", "\u3000a", "\x1c", "a\x85b"):
        yield Refusal("add_counts", ({"new": 1, word: 2},), BPEError, "is not a word")
    for wrong in (1.0, True, "1", None):
        yield Refusal("add_counts", ({"new": 1, "bad": wrong},), TypeError, "count of 'bad' must be a whole")
    yield Refusal("add_counts", ({"new": 1, "bad": -1},), BPEError, "'bad' must not be negative")
    yield Refusal("add_counts", ({"new": 1, "bad": 2**64},), OverflowError, "'bad'")
    yield Refusal("add_counts", ({"new": 1, 5: 1},), TypeError, "word must be a str")
    for wrong in ({"a": 1}, None):
        yield Refusal("merge", (wrong,), TypeError, "other must be WordCounts")
    for word in ("short", "a-long-enough-word"):
        one_more = {"new": 1, word: 1}
        yield Refusal("add", (f"new {word}",), OverflowError, word)
        yield Refusal("update", (["new", word],), OverflowError, word)
        yield Refusal("add_counts", (one_more,), OverflowError, word)
        yield Refusal("merge", (WordCounts(one_more),), OverflowError, word)
        yield Refusal("__add__", (WordCounts(one_more),), OverflowError, word)
        yield Refusal("add_stream", (io.BytesIO(word.encode()), "s"), OverflowError, word)
    yield Refusal("add_file", (folder / "missing",), FileNotFoundError, "missing")
    yield Refusal("add_file", (folder,), OSError, folder.name)
    yield Refusal("add_file", (folder / "bad",), BPEError, "bad is not valid UTF-8 at byte 15")
    yield Refusal("add_stream", (io.BytesIO(b"new \xc3"), "a name"), BPEError, "a name .* byte 4")
    bad_threads = [(wrong, BPEError) for wrong in (0, -1, -(10**30))]
    bad_threads += [(wrong, TypeError) for wrong in (True, 1.0, "2")]
    for wrong, error in bad_threads:
        for method, args in {
            "add": ("new",),
            "update": (["new"],),
            "add_file": (folder / "bad",),
            "add_stream": (io.BytesIO(b"new"), "s"),
        }.items():
            yield Refusal(method, args, error, "threads must be", wrong)


def test_a_failed_call_changes_nothing(tmp_path: Path) -> None:
    counts = WordCounts({"short": MOST, "a-long-enough-word": MOST, "b": 2, "another-long-word\0": 3})
    before = copy.deepcopy(counts)
    for refusal in refusals(tmp_path):
        options = {} if refusal.threads is None else {"threads": refusal.threads}
        with pytest.raises(refusal.error, match=refusal.message):
            getattr(counts, refusal.method)(*refusal.args, **options)
        assert counts == before
    with pytest.raises(OverflowError):
        counts.merge(counts)
    assert counts == before
    counts.add("b", threads=10**30)
    assert counts["b"] == 3


@pytest.mark.parametrize("wrong", [["a"], 5, "word"])
def test_what_is_not_a_mapping_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="counts must be"):
        WordCounts(wrong)
    with pytest.raises(TypeError, match="counts must be"):
        WordCounts().add_counts(wrong)


def test_an_overflow_inside_one_call_changes_nothing() -> None:
    """The words of one call may pass the limit together, on one thread or on several."""
    counts = WordCounts({"b": 1})
    more = WordCounts({"a": MOST})
    with pytest.raises(OverflowError, match="a"):
        counts += more + more
    assert counts == WordCounts({"b": 1})
    assert more == WordCounts({"a": MOST})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("wrong", [b"\xff", b"\xc0\xaf", b"\xe4\xbd", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"])
def test_the_first_wrong_byte_is_named(tmp_path: Path, wrong: bytes, threads: int) -> None:
    """Wherever it is, also at the edges of blocks; the words before it are not counted either."""
    text = ("ab你 " * (MEGABYTE * 5 // 2 // 6)).encode()
    for offset in (0, MEGABYTE - 6, MEGABYTE, 2 * MEGABYTE - 6, 2 * MEGABYTE, len(text) - 6):
        start = offset // 6 * 6 + 2  # before a whole character
        content = text[:start] + wrong + text[start:]
        with pytest.raises(UnicodeDecodeError) as python:
            content.decode()
        path = tmp_path / "wrong"
        path.write_bytes(content)
        counts = WordCounts({"ab你": 7})
        with pytest.raises(BPEError, match=rf"wrong is not valid UTF-8 at byte {python.value.start}\b"):
            counts.add_file(path, threads=threads)
        assert counts == WordCounts({"ab你": 7})


@given(
    st.lists(st.sampled_from([b"a", b" ", *map(str.encode, "é\u2028😀"), b"\xe2", b"\x80", b"\xa0"])),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_streams_that_may_not_be_utf8(parts: list[bytes], sizes: list[int]) -> None:
    content = b"".join(parts)
    counts = WordCounts()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(BPEError, match=rf"at byte {error.start}\b"):
            counts.add_stream(Dribble(content, sizes), "a stream")
        assert counts == WordCounts()
    else:
        counts.add_stream(Dribble(content, sizes), "a stream")
        assert counts == of_texts(text)


# ----------------------------------------------------------------------------------------- progress


def test_progress_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"some words \n" * (MEGABYTE // 2))
    events: list[Progress] = []
    counts = WordCounts()
    counts.add_file(path, threads=1, progress=events.append)
    size = path.stat().st_size
    assert events[-1].done == size
    assert all(event.stage == "count" and event.total == size for event in events)
    assert all(event.rate > 0 and event.memory > 0 for event in events)
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert counts.total == MEGABYTE


def test_progress_of_a_stream_of_unknown_length() -> None:
    events: list[Progress] = []
    counts = WordCounts()
    counts.add_stream(io.BytesIO(b"some words"), "a stream", progress=events.append)
    assert [(event.done, event.total) for event in events] == [(10, None)]


def test_the_total_of_a_compressed_stream_is_not_known(tmp_path: Path) -> None:
    """Its file is smaller than what comes out of it."""
    with gzip.open(tmp_path / "text.gz", "wb") as file:
        file.write(b"some words " * 1000)
    events: list[Progress] = []
    with gzip.open(tmp_path / "text.gz", "rb") as file:
        WordCounts().add_stream(file, "text.gz", progress=events.append)
    assert all(event.total is None or event.done <= event.total for event in events)


def test_a_callback_that_raises(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("new words", encoding="utf-8")
    counts = WordCounts({"b": 1})

    def callback(event: Progress) -> None:
        raise LookupError("my own")

    with pytest.raises(LookupError, match="my own"):
        counts.add_file(path, progress=callback)
    assert counts == WordCounts({"b": 1})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"some words " * 50_000))
    writer.start()
    counts = WordCounts()
    counts.add_file(path)
    writer.join()
    assert counts == WordCounts({"some": 50_000, "words": 50_000})
