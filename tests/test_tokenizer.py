"""`Tokenizer`: tokens are the reference's, ids are what the documents say, decoding gives the text back."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import random
import subprocess
import sys
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exactbpe import BPEError, Span, Tokenizer, WordCounts, encode, learn, reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import Pair, alphabets, merges, texts

# Every example goes through several tokenizers.
fewer = settings(max_examples=settings().max_examples // 4)

CACHES = (0, 1, 64, 1 << 12, 1 << 22)
MANY = "".join(map(chr, range(0x20000, 0x20000 + 66_000)))  # more symbols than numbers of 16 bits
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]

Case = tuple[str, list[Pair]]
cases = alphabets.flatmap(lambda alphabet: st.tuples(texts(alphabet), merges(alphabet)))
batches = alphabets.flatmap(
    lambda alphabet: st.tuples(st.lists(texts(alphabet), max_size=6), merges(alphabet))
)


def chars(text: str) -> str:
    return "".join(sorted(set("".join(text.split()))))


def vocabulary(rules: list[Pair], alphabet: str) -> list[str]:
    """As documented: the alphabet in code point order, then what the rules make, each string once."""
    return list(dict.fromkeys([*sorted(set(alphabet)), *(left + right for left, right in rules)]))


def mentioned(rules: list[Pair]) -> str:
    return "".join(chain(*rules))


# ----------------------------------------------------------------------------------------- tokens


@fewer
@given(cases)
def test_tokens_are_those_of_the_reference(case: Case) -> None:
    text, rules = case
    want = reference.encode(text, rules)
    for cache_bytes in CACHES:
        tokenizer = Tokenizer(rules, cache_bytes=cache_bytes)
        assert tokenizer.tokenize(text) == want
        assert tokenizer.tokenize(text) == want  # now the words have been seen before
    assert Tokenizer(rules, chars(text)).tokenize(text) == want
    assert Tokenizer(rules, "", unknown="bytes").tokenize(text) == want
    assert Tokenizer(rules, MANY).tokenize(text) == want
    assert encode(text, rules) == want


@fewer
@given(batches, st.sampled_from(CACHES))
def test_one_text_after_another(batch: tuple[list[str], list[Pair]], cache_bytes: int) -> None:
    """What one text leaves behind does not change the next."""
    some, rules = batch
    tokenizer = Tokenizer(rules, cache_bytes=cache_bytes)
    for text in some * 2:
        assert tokenizer.tokenize(text) == reference.encode(text, rules)


@pytest.mark.parametrize(
    "length", [*range(1, 20), 31, 32, 33, 48, 60, 61, 62, 63, 64, 65, 66, 67, 127, 128, 129, 300]
)
def test_words_of_every_length(length: int) -> None:
    """On both sides of the 62 characters where another road begins, and of the cache's 16 bytes."""
    rng = random.Random(length)
    alphabet = "ab\0é你😀\ud800"
    parts = ["".join(rng.choices(alphabet[:4], k=rng.randint(1, 3))) for _ in range(30)]
    rules = [(rng.choice(parts), rng.choice(parts)) for _ in range(60)] + [
        ("a", "b"),
        ("b", "a"),
        ("ab", "ab"),
    ]
    rng.shuffle(rules)
    words = [
        "".join(rng.choices(alphabet[:n], k=length)) for n in (1, 2, 2, 3, 3, 4, 4, 5, 6, 7) for _ in range(3)
    ]
    words += [word[:-1] + "\0" for word in words]
    text = " ".join(words + words[::-1])
    want = reference.encode(text, rules)
    for cache_bytes in CACHES:
        assert Tokenizer(rules, cache_bytes=cache_bytes).tokenize(text) == want
    assert Tokenizer(rules, MANY).tokenize(text) == want


def test_words_that_a_cache_might_confuse() -> None:
    words = [
        "a",
        "a\0",
        "\0a",
        "a\0\0",
        "\0",
        "\0\0",
        "\0" * 8,
        "\0" * 8 + "a",
        "\0" * 9,
        "a" * 8,
        "a" * 15,
        "a" * 16,
    ]
    words += [
        "a" * 17,
        "a" * 7 + "\0",
        "a" * 16 + "\0",
        "\0" * 15 + "a",
        "\0" * 16 + "a",
        "é" * 8,
        "é" * 9,
        "b" * 16,
    ]
    rules = [("a", "a"), ("\0", "\0"), ("aa", "a"), ("é", "é"), ("a", "\0"), ("aa", "aa")]
    rng = random.Random(0)
    for cache_bytes in CACHES:
        tokenizer = Tokenizer(rules, cache_bytes=cache_bytes)
        for _ in range(20):
            text = " ".join(rng.choices(words, k=100))
            assert tokenizer.tokenize(text) == reference.encode(text, rules)


def test_more_words_than_a_cache_holds() -> None:
    rng = random.Random(1)
    text = " ".join("".join(rng.choices("abcdef", k=rng.randint(1, 9))) for _ in range(20_000))
    rules = [(left, right) for left, right in reference.train([text[:2_000]], 6 + 100)]
    want = reference.encode(text, rules)
    for cache_bytes in CACHES:
        assert Tokenizer(rules, cache_bytes=cache_bytes).tokenize(text) == want


# -------------------------------------------------------------------------------------------- ids


@fewer
@given(cases, alphabets)
def test_ids_are_what_the_documents_say(case: Case, more: str) -> None:
    text, rules = case
    for alphabet in (
        None,
        mentioned(rules),
        "".join(sorted(mentioned(rules) + more, reverse=True)),
        chars(text),
    ):
        tokenizer = Tokenizer(rules, alphabet)
        want = vocabulary(rules, mentioned(rules) if alphabet is None else alphabet)
        assert list(tokenizer.vocab) == want
        assert list(tokenizer.vocab.values()) == list(range(len(want)))
        assert tokenizer.vocab_size == len(want)
        assert tokenizer.alphabet == sorted(set(mentioned(rules) if alphabet is None else alphabet))
        assert tokenizer.merges == [[*rule] for rule in rules]
        for id, token in enumerate(want):
            assert tokenizer.token_to_id(token) == id
            assert tokenizer.id_to_token(id) == token
        assert tokenizer.token_to_id("no such token") is None
        for id in (-1, len(want), 2**32, 2**64, -(2**64)):
            assert tokenizer.id_to_token(id) is None


@fewer
@given(cases)
def test_ids_are_the_numbers_of_the_tokens(case: Case) -> None:
    text, rules = case
    alphabet = chars(text) + mentioned(rules)
    tokenizer = Tokenizer(rules, alphabet)
    number = {token: id for id, token in enumerate(vocabulary(rules, alphabet))}
    want = [number[token] for token in reference.encode(text, rules)]
    assert tokenizer.encode(text) == want
    array = tokenizer.encode_array(text)
    assert (array.dtype, array.shape) == (np.dtype(np.uint32), (len(want),))
    assert array.tolist() == want
    assert tokenizer.count(text) == len(want)
    assert tokenizer.decode(want) == tokenizer.decode(array) == "".join(text.split())


@fewer
@given(batches, st.sampled_from([1, 2, 3, 8, 50]), st.sampled_from(["error", "bytes", "<unk>"]))
def test_a_batch_is_its_texts(batch: tuple[list[str], list[Pair]], threads: int, unknown: str) -> None:
    some, rules = batch
    alphabet = chars(" ".join(some)) + mentioned(rules) if unknown == "error" else mentioned(rules)[::2]
    tokenizer = Tokenizer(rules, alphabet, unknown=unknown)
    singly = [tokenizer.encode(text) for text in some]
    for way in (some, tuple(some), iter(some)):
        ids, offsets = tokenizer.encode_batch(way, threads=threads)
        assert (ids.dtype, offsets.dtype) == (np.dtype(np.uint32), np.dtype(np.int64))
        assert offsets.shape == (len(some) + 1,)
        assert offsets[0] == 0
        assert [ids[start:end].tolist() for start, end in pairwise(offsets)] == singly
        assert len(ids) == offsets[-1]
    assert (
        tokenizer.count_batch(some, threads=threads) == [*map(len, singly)] == [*map(tokenizer.count, some)]
    )
    assert ids.tolist() == tokenizer.encode(" ".join(some))
    for way in (some, iter(some)):
        assert tokenizer.tokenize_batch(way, threads=threads) == [*map(tokenizer.tokenize, some)]


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_is_left_as_it_was(collecting: bool) -> None:
    """While tokens are put into lists it rests, in batches of some megabytes too."""
    before = gc.isenabled()
    collections: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        collections.append(phase)

    tokenizer, some = Tokenizer([("a", "b")]), ["ab a " * 10] * 100_000
    try:
        gc.enable() if collecting else gc.disable()
        gc.collect()
        gc.callbacks.append(note)
        tokens = tokenizer.tokenize_batch(some, threads=1)
        during = len(collections)
        assert gc.isenabled() is collecting
        assert during == 0
    finally:
        gc.callbacks.remove(note)
        gc.enable() if before else gc.disable()
    assert tokens == [["ab", "a"] * 10] * 100_000


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_a_large_batch(threads: int) -> None:
    """Larger than what one thread gets at a time, with texts of very different lengths."""
    rng = random.Random(2)
    words = ["".join(rng.choices("abcdé你", k=rng.randint(1, 20))) for _ in range(3_000)]
    texts = [
        " ".join(rng.choices(words, k=k)) for k in (0, 1, 10, 0, 100_000, 3, 0, 50_000, *[20] * 3_000, 0)
    ]
    tokenizer = Tokenizer(reference.train([" ".join(words[:200])], 6 + 200), "abcdé你")
    ids, offsets = tokenizer.encode_batch(texts, threads=threads)
    lengths = [len(tokenizer.encode(text)) for text in texts]
    assert np.diff(offsets).tolist() == lengths == tokenizer.count_batch(texts, threads=threads)
    assert ids.tolist() == list(chain(*map(tokenizer.encode, texts)))
    assert tokenizer.tokenize_batch(texts, threads=threads) == [*map(tokenizer.tokenize, texts)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("first", [0, 3, 30_000])
def test_the_first_unfit_text_is_refused(threads: int, first: int) -> None:
    """Whatever is wrong with it, and whatever comes behind: texts are looked at while others are encoded."""
    tokenizer = Tokenizer([("a", "b")])
    fit: list[Any] = ["ab ba " * 20] * first
    tail: list[Any] = ["ab"] * 40_000
    wrong: list[Any]
    for wrong in (["é", 3], ["é", "ab", None]):
        with pytest.raises(BPEError, match=rf"texts\[{first}\]: the character 'é'"):
            tokenizer.encode_batch([*fit, *wrong, *tail], threads=threads)
    for batch in (tokenizer.encode_batch, tokenizer.tokenize_batch, tokenizer.count_batch):
        with pytest.raises(TypeError, match=rf"texts\[{first}\] must be a str, not int"):
            batch([*fit, 3, *tail, "é"], threads=threads)


def test_arrays_of_ids_are_ordinary_ones() -> None:
    """They hold on to their memory themselves, and can be written to."""
    tokenizer = Tokenizer([("a", "b")])
    ids, offsets = tokenizer.encode_batch(["ab a", "", "b"])
    again, _ = tokenizer.encode_batch(["ab a", "", "b"])
    del tokenizer
    gc.collect()
    assert (ids.tolist(), offsets.tolist()) == ([2, 0, 1], [0, 2, 2, 3])
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    ids += 1
    assert (ids.tolist(), again.tolist()) == ([3, 1, 2], [2, 0, 1])
    assert pickle.loads(pickle.dumps(offsets)).tolist() == [0, 2, 2, 3]


def test_empty_batches_and_texts() -> None:
    tokenizer = Tokenizer([("a", "b")])
    for some in ([], [""], ["", " \x1c"], [" "] * 3):
        ids, offsets = tokenizer.encode_batch(some)
        assert (ids.tolist(), offsets.tolist()) == ([], [0] * (len(some) + 1))
        assert (ids.dtype, offsets.dtype) == (np.dtype(np.uint32), np.dtype(np.int64))
        assert tokenizer.count_batch(some) == [0] * len(some)
        assert tokenizer.tokenize_batch(some) == [[] for _ in some]
    assert tokenizer.encode_array("").shape == (0,)
    assert tokenizer.tokenize("") == tokenizer.encode(" ") == tokenizer.spans("\u3000") == []
    assert (tokenizer.decode([]), tokenizer.count("")) == ("", 0)


# ------------------------------------------------------------------------------------------ spans


@fewer
@given(cases)
def test_spans_cover_the_words(case: Case) -> None:
    text, rules = case
    spans = Tokenizer(rules).spans(text)
    assert [span.token for span in spans] == reference.encode(text, rules)
    assert all(text[span.start : span.end] == span.token for span in spans)
    covered = [place for span in spans for place in range(span.start, span.end)]
    assert covered == [place for place, char in enumerate(text) if not char.isspace()]


@fewer
@given(cases, st.sampled_from(["▁", "a", "ab", "<w>"]))
def test_spans_with_a_prefix(case: Case, word_prefix: str) -> None:
    text, rules = case
    tokenizer = Tokenizer(rules, word_prefix=word_prefix)
    spans = tokenizer.spans(text)
    assert [span.token for span in spans] == tokenizer.tokenize(text)
    assert all(span.token.endswith(text[span.start : span.end]) for span in spans)
    covered = [place for span in spans for place in range(span.start, span.end)]
    assert covered == [place for place, char in enumerate(text) if not char.isspace()]


def test_spans_by_example() -> None:
    tokenizer = Tokenizer([("l", "o"), ("lo", "w"), ("▁", "s")], word_prefix="▁")
    assert tokenizer.spans(" low\u3000slow") == [
        Span("▁", 1, 1),
        Span("low", 1, 4),
        Span("▁s", 5, 6),
        Span("low", 6, 9),
    ]


# ----------------------------------------------------------------------------------------- prefix


@fewer
@given(cases, st.sampled_from(["▁", "a", "ab", "<w>", "\0", "\ud800"]))
def test_a_prefix_is_only_another_word(case: Case, word_prefix: str) -> None:
    text, rules = case
    prefixed = " ".join(word_prefix + word for word in text.split())
    want = reference.encode(prefixed, rules)
    alphabet = chars(prefixed) + mentioned(rules)
    for cache_bytes in CACHES:
        tokenizer = Tokenizer(rules, alphabet, word_prefix=word_prefix, cache_bytes=cache_bytes)
        without = Tokenizer(rules, alphabet, cache_bytes=cache_bytes)
        assert tokenizer.tokenize(text) == tokenizer.tokenize(text) == want
        assert tokenizer.encode(text) == without.encode(prefixed)
        assert tokenizer.count(text) == len(want)
    assert tokenizer.word_prefix == word_prefix
    if word_prefix not in text:
        assert tokenizer.decode(tokenizer.encode(text)) == " ".join(text.split())


# ---------------------------------------------------------------------------------------- unknown


def test_an_unknown_character_is_refused_with_its_place() -> None:
    tokenizer = Tokenizer([("a", "b")])
    for text, name, place in [
        ("ab x", "'x' (U+0078)", "position 3"),
        ("ab ab\u3000ab😀a", "'😀' (U+1F600)", "position 8"),
        ("\ud800", r"'\ud800' (U+D800)", "position 0"),
        ("xy yx", "'x' (U+0078)", "position 0"),
        ("a" * 100 + "é" + "a", "'é' (U+00E9)", "position 100"),
        ("ab " * 100_000 + "a\0", r"'\x00' (U+0000)", "position 300001"),
    ]:
        for call in (tokenizer.encode, tokenizer.encode_array):
            with pytest.raises(BPEError) as refused:
                call(text)
            assert name in str(refused.value)
            assert f"{place} " in str(refused.value)
        for threads in (1, 2):
            with pytest.raises(BPEError, match=rf"texts\[2\].*{place}\b"):
                tokenizer.encode_batch(["ab", "", text, "ab", text], threads=threads)
        assert tokenizer.tokenize(text) == reference.encode(text, [("a", "b")])
    assert tokenizer.encode("ab a b") == [2, 0, 1]


def test_the_place_of_an_unknown_character_that_also_stands_in_symbols() -> None:
    """Here "a" alone has no id, but "ab" has one."""
    tokenizer = Tokenizer([("a", "b")], "b")
    assert tokenizer.encode("ab b") == [1, 0]
    with pytest.raises(BPEError, match="position 3 "):
        tokenizer.encode("ab a")
    with pytest.raises(BPEError, match="word_prefix"):
        Tokenizer([], "a", word_prefix="x").encode("a x")


def test_counting_unknown_characters_singly_and_in_a_batch() -> None:
    """Documented: a character to be refused counts as one."""
    tokenizer = Tokenizer([("a", "b")])
    some = ["ab x", "é", "ab"]
    assert [tokenizer.count(text) for text in some] == [2, 1, 1]
    assert tokenizer.count_batch(some) == [2, 1, 1]


@fewer
@given(cases, st.sampled_from(["<unk>", "x y", "unknown", "error ", "😀😀"]))
def test_unknown_characters_as_one_token(case: Case, unknown: str) -> None:
    text, rules = case
    alphabet = mentioned(rules)[::2]
    known = vocabulary(rules, alphabet)
    if unknown in known:
        return
    tokenizer = Tokenizer(rules, alphabet, unknown=unknown)
    assert tokenizer.unknown == unknown
    assert list(tokenizer.vocab) == [*known, unknown]
    want = [token if token in known else unknown for token in reference.encode(text, rules)]
    # A string that rules mention but none makes is no symbol of the vocabulary; only characters stay alone.
    ids = tokenizer.encode(text)
    assert [tokenizer.id_to_token(id) for id in ids] == want
    assert tokenizer.count(text) == len(want)
    assert tokenizer.decode(ids) == "".join(want)


@fewer
@given(cases, st.sampled_from(["", "▁", "a", "\ud800"]))
def test_unknown_characters_as_bytes(case: Case, word_prefix: str) -> None:
    text, rules = case
    alphabet = mentioned(rules)[::2]
    known = vocabulary(rules, alphabet)
    tokenizer = Tokenizer(rules, alphabet, unknown="bytes", word_prefix=word_prefix)
    assert list(tokenizer.vocab) == [*known, *BYTES]
    prefixed = " ".join(word_prefix + word for word in text.split())
    want: list[str] = []
    for token in reference.encode(prefixed, rules):
        spelled = token.encode("utf-8", "surrogatepass")
        want += [token] if token in known else [f"<0x{byte:02X}>" for byte in spelled]
    ids = tokenizer.encode(text)
    assert [tokenizer.id_to_token(id) for id in ids] == want
    assert tokenizer.count(text) == len(ids)
    if not word_prefix:
        assert tokenizer.decode(ids) == "".join(text.split())
    elif word_prefix not in text:
        assert tokenizer.decode(ids) == " ".join(text.split())


@given(st.text("aé你😀\ud83d\ude00 ", max_size=20), st.integers(0, 60), st.integers(0, 60))
def test_ids_cut_inside_a_character(text: str, start: int, end: int) -> None:
    """Decoding never fails; what is whole comes out whole."""
    tokenizer = Tokenizer([("a", "é")], "aé\ud83d", unknown="bytes")
    ids = tokenizer.encode(text)
    decoded = tokenizer.decode(ids[start:end])
    # Only at the cuts may something be lost, at most three bytes of a character at each.
    kept = decoded.strip("\ufffd")
    assert kept in "".join(text.split())
    assert len(decoded) - len(kept) <= 6


def test_a_cut_character_beside_a_surrogate() -> None:
    """The half character is lost, not what stands beside it."""
    tokenizer = Tokenizer([], "\ud800", unknown="bytes")
    cut = tokenizer.encode("é")[:1]
    surrogate = tokenizer.encode("\ud800")
    assert tokenizer.decode(surrogate + cut) == "\ud800\ufffd"
    assert tokenizer.decode(cut + surrogate) == "\ufffd\ud800"


def test_a_million_bytes_that_make_no_character() -> None:
    tokenizer = Tokenizer([], "a", unknown="bytes")
    first_byte = tokenizer.vocab_size - 256
    assert tokenizer.decode([0, *[first_byte + 0xFF] * 1_000_000, 0]) == "a" + "\ufffd" * 1_000_000 + "a"


def test_a_clash_is_refused() -> None:
    for unknown, rules, alphabet in [
        ("a", [], "a"),
        ("ab", [("a", "b")], None),
        ("ab", [("x", "y"), ("a", "b")], "q"),
        ("bytes", [("<0x0", "0>")], None),
        ("bytes", [("<", "0xFF>")], None),
    ]:
        with pytest.raises(BPEError, match="unknown"):
            Tokenizer(rules, alphabet, unknown=unknown)
    # These are mentioned only, so no symbol of the vocabulary has the name.
    assert Tokenizer([("ab", "c")], unknown="ab").encode("abcx ") == [0, 1, 2, 4]
    assert Tokenizer([("<0x00>", "c")], unknown="bytes").count("<0x00>é") == 8
    # What spells a byte token in the text is not one.
    tokenizer = Tokenizer([], "<0x41>", unknown="bytes")
    assert tokenizer.decode(tokenizer.encode("<0x41>é")) == "<0x41>é"


# ------------------------------------------------------------------------------------------ files


def encoded_file(tokenizer: Tokenizer, content: bytes, folder: Path, **options: Any) -> list[list[int]]:
    """The ids of every line, by way of three files."""
    (folder / "text").write_bytes(content)
    out, offsets = folder / "ids.npy", folder / "offsets.npy"
    tokenizer.encode_file(folder / "text", out, offsets, **options)
    ids, ends = np.load(out), np.load(offsets)
    assert (ids.dtype, ends.dtype) == (np.dtype(np.uint32), np.dtype(np.int64))
    assert (ids.ndim, ends.ndim, ends[0], ends[-1]) == (1, 1, 0, len(ids))
    assert np.array_equal(np.load(out, mmap_mode="r"), ids)
    tokenizer.encode_file(str(folder / "text"), str(folder / "ids alone.npy"), **options)
    assert (folder / "ids alone.npy").read_bytes() == out.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == [
        "ids alone.npy",
        "ids.npy",
        "offsets.npy",
        "text",
    ]
    return [ids[start:end].tolist() for start, end in pairwise(ends)]


@settings(fewer, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(batches, st.sampled_from([1, 2, 3]), st.sampled_from(["", "\n", "\n\n"]))
def test_a_file_is_its_lines(
    tmp_path: Path, batch: tuple[list[str], list[Pair]], threads: int, end: str
) -> None:
    some, rules = batch
    lines = [text.replace("\n", " ").encode("utf-8", "replace").decode() for text in some]
    tokenizer = Tokenizer(rules, mentioned(rules)[::2], unknown="bytes")
    content = "\n".join(lines) + end
    want = content.split("\n")
    if not want[-1]:
        want.pop()  # a line feed at the end ends the last line and begins none
    got = encoded_file(tokenizer, content.encode(), tmp_path, threads=threads)
    assert got == [tokenizer.encode(line) for line in want]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_large_file(tmp_path: Path, threads: int) -> None:
    """Larger than the blocks, with lines and words that are larger still, and empty ones."""
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdé你😀\r\x85", k=rng.randint(1, 20))) for _ in range(2_000)]
    lines = [" ".join(rng.choices(words, k=k)) for k in (*[20] * 3_000, 0, 0, 90_000, 1, *[0] * 5_000, 9_000)]
    lines += ["ab" * 1_500_000, "", "the end"]
    tokenizer = Tokenizer(reference.train([" ".join(words[:200])], 6 + 100), unknown="bytes")
    ids, offsets = tokenizer.encode_batch(lines)
    got = encoded_file(tokenizer, "\n".join(lines).encode(), tmp_path, threads=threads)
    assert got == [ids[start:end].tolist() for start, end in pairwise(offsets)]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"\na", ["", "a"]),
        (b"a\r\nb\n", ["a", "b"]),
        (b"a\rb\x0bb\x0ca\x1ca\n", ["abbaa"]),
        ("a\u2028b\x85a\n\nb".encode(), ["aba", "", "b"]),
        (b"\xef\xbb\xbfa", ["\ufeffa"]),
    ],
)
def test_what_a_line_is(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    tokenizer = Tokenizer([], "ab\ufeff")
    got = encoded_file(tokenizer, content, tmp_path)
    assert [tokenizer.decode(line) for line in got] == lines


def test_a_file_that_cannot_be_encoded_leaves_no_trace(tmp_path: Path) -> None:
    tokenizer = Tokenizer([("a", "b")])
    bad, unknown, good = tmp_path / "bad", tmp_path / "unknown", tmp_path / "good"
    good.write_bytes(b"ab a\n")
    bad.write_bytes(b"ab a\n" * 1_000_000 + b"a\xff")
    unknown.write_bytes(b"ab a\n" * 1_000_000 + b"ab  x")
    out, offsets = tmp_path / "ids.npy", tmp_path / "offsets.npy"
    out.write_bytes(b"kept as it is")
    before = sorted((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.iterdir())
    for path, to, and_to, threads, error, message in (
        (bad, out, offsets, 1, BPEError, "bad is not valid UTF-8 at byte 5000001"),
        (bad, out, None, 2, BPEError, "bad is not valid UTF-8 at byte 5000001"),
        (unknown, out, offsets, 1, BPEError, r"unknown.*line 1000001.*'x' \(U\+0078\) at position 4 "),
        (unknown, out, offsets, 3, BPEError, r"unknown.*line 1000001.*'x' \(U\+0078\) at position 4 "),
        (tmp_path / "missing", out, offsets, 1, FileNotFoundError, "missing"),
        (tmp_path, out, offsets, 1, OSError, tmp_path.name),
        (good, tmp_path / "none" / "out", offsets, 1, FileNotFoundError, "none"),
        (good, out, tmp_path / "none" / "out", 1, FileNotFoundError, "none"),
        (good, out, tmp_path, 1, IsADirectoryError, tmp_path.name),
        (good, out, offsets, 0, BPEError, "threads"),
        (good, out, offsets, True, TypeError, "threads"),
    ):
        with pytest.raises(error, match=message):
            tokenizer.encode_file(path, to, and_to, threads=threads)
        after = sorted(
            (path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.iterdir()
        )
        assert after == before


def test_one_file_cannot_hold_ids_and_offsets(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"ab a\n")
    with pytest.raises(BPEError, match="offsets"):
        Tokenizer([("a", "b")]).encode_file(tmp_path / "text", tmp_path / "out.npy", tmp_path / "out.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("ab",), {}, TypeError, "merges must be a list"),
        ((None,), {}, TypeError, "merges must be a list"),
        (([("a", "b"), "cd"],), {}, TypeError, r"merges\[1\] must be a list or tuple"),
        (([("a", "b"), ("c",)],), {}, BPEError, r"merges\[1\] must have two parts"),
        (([("a", "b"), ("c", "")],), {}, BPEError, r"merges\[1\].*right part is empty"),
        (([("a", 1)],), {}, TypeError, r"merges\[0\].*right part must be a str"),
        (([], 5), {}, TypeError, "alphabet must be"),
        (([], ["a", "bc"]), {}, BPEError, r"alphabet\[1\] must be one character"),
        (([], ["a", ""]), {}, BPEError, r"alphabet\[1\] must be one character"),
        (([], ["a", 5]), {}, TypeError, r"alphabet\[1\] must be a str"),
        (([], b"ab"), {}, TypeError, "alphabet"),
        (([],), {"unknown": ""}, BPEError, "unknown must be"),
        (([],), {"unknown": None}, TypeError, "unknown must be a str"),
        (([],), {"unknown": 5}, TypeError, "unknown must be a str"),
        (([],), {"word_prefix": " "}, BPEError, "word_prefix must not hold whitespace"),
        (([],), {"word_prefix": "a b"}, BPEError, "word_prefix must not hold whitespace"),
        (([],), {"word_prefix": None}, TypeError, "word_prefix must be a str"),
        (([],), {"cache_bytes": 1.0}, TypeError, "cache_bytes must be a whole number"),
        (([],), {"cache_bytes": True}, TypeError, "cache_bytes must be a whole number"),
    ],
)
def test_what_no_tokenizer_can_be_made_of(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Tokenizer(*arguments, **options)


def test_a_surrogate_as_the_unknown_token() -> None:
    tokenizer = Tokenizer([], "a", unknown="\ud800")
    assert tokenizer.encode("ab") == [0, 1]
    assert list(tokenizer.vocab) == ["a", "\ud800"]


def test_what_cannot_be_encoded_or_decoded() -> None:
    tokenizer = Tokenizer([("a", "b")])
    methods = ("tokenize", "encode", "encode_array", "spans", "count")
    for name in methods:
        for wrong in (None, b"ab", 5, ["ab"]):
            with pytest.raises(TypeError, match="text must be a str"):
                getattr(tokenizer, name)(wrong)
    for name in ("encode_batch", "count_batch", "tokenize_batch"):
        call = getattr(tokenizer, name)
        for wrong in ("ab", b"ab", None, 5):
            with pytest.raises(TypeError, match="texts must be a list"):
                call(wrong)
        for wrong in (None, b"ab", 5):
            with pytest.raises(TypeError, match=r"texts\[2\] must be a str"):
                call(["ab", "", wrong, wrong])
        with pytest.raises(BPEError, match="threads must be 1 or more"):
            call(["ab"], threads=0)
        with pytest.raises(TypeError, match="threads must be a whole number"):
            call(["ab"], threads=True)
        with pytest.raises(ZeroDivisionError):
            call(1 // 0 for _ in range(3))
    for wrong, error in (
        (3, BPEError),
        (-1, BPEError),
        (2**70, BPEError),
        (1.0, TypeError),
        ("a", TypeError),
    ):
        with pytest.raises(error, match=r"ids\[1\]"):
            tokenizer.decode([0, wrong])
    for wrong in (5, None):
        with pytest.raises(TypeError):
            tokenizer.decode(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="id must be a whole number"):
        tokenizer.id_to_token("a")  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------- identity

KNOWN = Tokenizer(
    [["l", "o"], ["lo", "w"], ["é", "😀"], ["l", "o"]], "lowest\ud800", unknown="<unk>", word_prefix="▁"
)
KNOWN_FINGERPRINT = "97f4c6f1cd5dbcaf8b64af6d0ac380ff2d9c163f12e82fdac83e72686083afe3"


def test_the_fingerprint_is_what_it_was() -> None:
    """Whoever stored one must find it again, in every later version and on every machine."""
    assert KNOWN.fingerprint == KNOWN_FINGERPRINT
    assert repr(KNOWN) == f"<Tokenizer: vocab_size=11, unknown='<unk>', {KNOWN_FINGERPRINT[:12]}>"


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_fingerprint_in_another_process(seed: str) -> None:
    program = (
        "from exactbpe import Tokenizer; print(Tokenizer([['l', 'o'], ['lo', 'w'], ['\\xe9', '\\U0001f600'], "
        "['l', 'o']], set('lowest\\ud800'), unknown='<unk>', word_prefix='\\u2581').fingerprint)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", program]
    assert (
        subprocess.check_output(command, env=environment, text=True, timeout=60).strip() == KNOWN.fingerprint
    )


def test_equal_tokenizers_are_equal() -> None:
    rules = [["a", "b"], ["ab", "c"], ["a", "b"]]
    one = Tokenizer(rules, "cba")
    for same in (
        Tokenizer([tuple(rule) for rule in rules], ["a", "b", "c", "a"]),
        Tokenizer(iter(rules)),
        Tokenizer(rules, cache_bytes=0),
        copy.copy(one),
        copy.deepcopy(one),
    ):
        assert same == one
        assert hash(same) == hash(one)
        assert same.fingerprint == one.fingerprint
    others = [
        Tokenizer(rules[:2]),
        Tokenizer(rules[1:]),
        Tokenizer([["a", "bc"], ["a", "b"]], "abc"),
        Tokenizer(rules, "abcd"),
        Tokenizer(rules, "ab"),
        Tokenizer(rules, unknown="bytes"),
        Tokenizer(rules, unknown="<unk>"),
        Tokenizer(rules, unknown="<unk>", word_prefix="a"),
        Tokenizer(rules, word_prefix="a"),
        Tokenizer([], "abc"),
    ]
    assert len({one, *others}) == len(others) + 1
    assert one not in others
    assert one != "a tokenizer"


def test_a_tokenizer_never_changes() -> None:
    rules = [["a", "b"], ["ab", "c"]]
    alphabet = ["a", "b", "c"]
    tokenizer = Tokenizer(rules, alphabet)
    before = tokenizer.fingerprint
    rules[0][0] = "x"
    rules.append(["b", "c"])
    alphabet.append("d")
    tokenizer.merges.append(["c", "a"])
    tokenizer.merges[0][0] = "x"
    tokenizer.alphabet.clear()
    tokens = tokenizer.tokenize("abc")
    tokens[0] = "x"
    ids = tokenizer.encode_array("abc")
    if ids.flags.writeable:
        ids[0] = 0
    with pytest.raises(TypeError):
        tokenizer.vocab["x"] = 5  # type: ignore[index]
    for name in ("vocab_size", "unknown", "word_prefix", "merges", "alphabet"):
        with pytest.raises(AttributeError):
            setattr(tokenizer, name, None)
    same = Tokenizer([["a", "b"], ["ab", "c"]], "abc")
    assert tokenizer == same
    assert tokenizer.fingerprint == before == same.fingerprint
    assert tokenizer.merges == [["a", "b"], ["ab", "c"]]
    assert tokenizer.tokenize("abc") == ["abc"]
    assert tokenizer.encode("abc") == [4]
    assert list(tokenizer.vocab) == ["a", "b", "c", "ab", "abc"]


def test_from_learned() -> None:
    learned = learn(WordCounts({"low": 5, "lower": 2, "x": 1}), 9, word_prefix="▁")
    tokenizer = learned.tokenizer()
    assert tokenizer == Tokenizer(learned.merges, learned.alphabet, word_prefix="▁")
    assert tokenizer.vocab_size == learned.vocab_size == 9
    assert tokenizer.decode(tokenizer.encode("x lower\nlow ")) == "x lower low"
    assert learned.tokenizer(unknown="bytes", cache_bytes=0).decode(tokenizer.encode("low")) == "low"
    with pytest.raises(TypeError):
        learned.tokenizer(no_such_option=1)
