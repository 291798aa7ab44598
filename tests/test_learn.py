"""`learn`: the reference's merges, and all that is told about them equals a naive recount."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from exactbpe import BPEError, Learned, Progress, WordCounts, bpe_merges, encode, learn, reference, train
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import alphabets, min_frequencies, vocab_sizes, words

MOST = 2**64 - 1
ALL = 10**30

# Every example is learned from several times.
fewer = settings(max_examples=settings().max_examples // 2)

Counts = dict[str, int]


def weighted_words(alphabet: str) -> st.SearchStrategy[Counts]:
    weights = st.integers(1, 9) | st.sampled_from([1, 2, 1000, 3 * 10**9, 2**40])
    return st.dictionaries(words(alphabet), weights, max_size=8)


counts_of_words = alphabets.flatmap(weighted_words)
prefixes = st.sampled_from(["", "", "▁", "a", "ab", "\0", "<w>"])


def naive(
    counts: Mapping[str, int],
    vocab_size: int,
    min_frequency: int = 1,
    initial_merges: list[list[str]] | None = None,
    word_prefix: str = "",
) -> Learned:
    """SPEC 2 as it is written: before every merge all pairs of all words are counted."""
    given = initial_merges or []
    segmented = {word: [*word_prefix, *word] for word in counts}
    alphabet = sorted({*itertools.chain(*segmented.values(), *itertools.chain(*given))})
    merges: list[list[str]] = []
    frequencies: list[int] = []
    ties: list[int | None] = []
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, symbols in segmented.items():
            for pair in pairwise(symbols):
                pairs[pair] += counts[word]
        highest = max(pairs.values(), default=0)
        best = sorted(pair for pair in pairs if pairs[pair] == highest)
        if len(merges) + len(alphabet) >= vocab_size:
            return Learned(merges, frequencies, ties, alphabet, "vocab_size", word_prefix)
        if len(merges) < len(given):
            chosen = tuple(given[len(merges)])
            ties.append(None)
        elif not pairs:
            return Learned(merges, frequencies, ties, alphabet, "no_pairs", word_prefix)
        elif highest < min_frequency:
            return Learned(merges, frequencies, ties, alphabet, "min_frequency", word_prefix)
        else:
            chosen = best[0]
            ties.append(len(best) - 1)
        merges.append([*chosen])
        frequencies.append(pairs[chosen])
        for symbols in segmented.values():
            i = 0
            while i < len(symbols) - 1:
                if (symbols[i], symbols[i + 1]) == chosen:
                    symbols[i : i + 2] = ["".join(chosen)]
                i += 1


# ------------------------------------------------------------------------------- what is learned


@given(counts_of_words, st.integers(-2, 40), st.integers(-1, 12), prefixes)
def test_all_that_is_told_equals_a_naive_recount(
    counts: Counts, merges: int, min_frequency: int, word_prefix: str
) -> None:
    vocab_size = len(set(word_prefix).union(*counts)) + merges
    learned = learn(WordCounts(counts), vocab_size, min_frequency, word_prefix=word_prefix)
    assert learned == naive(counts, vocab_size, min_frequency, None, word_prefix)


@given(counts_of_words, vocab_sizes(), min_frequencies(), st.integers(1, 4))
def test_merges_are_those_of_the_reference(
    counts: Counts, vocab_size: int, min_frequency: int, threads: int
) -> None:
    alphabet = set().union(*counts)
    want = reference._learn(counts, vocab_size - len(alphabet), min_frequency)
    learned = learn(WordCounts(counts), vocab_size, min_frequency, threads=threads)
    assert learned.merges == [[*pair] for pair in want]
    assert learned.alphabet == sorted(alphabet)
    assert learned.vocab_size == len(alphabet) + len(want)
    assert len(learned.frequencies) == len(learned.ties) == len(want)


@fewer
@given(st.lists(alphabets.flatmap(words), max_size=8), st.integers(-1, 60))
def test_train_and_bpe_merges_and_learn_agree(some: list[str], merges: int) -> None:
    vocab_size = len(set().union(*some)) + merges
    learned = learn(WordCounts(Counter(some)), vocab_size)
    assert train(some, vocab_size) == learned.merges
    assert bpe_merges(some, merges) == [left + right for left, right in learned.merges]


@fewer
@given(counts_of_words, prefixes, st.integers(0, 40))
def test_a_prefix_is_only_another_word(counts: Counts, word_prefix: str, merges: int) -> None:
    prefixed = {word_prefix + word: count for word, count in counts.items()}
    vocab_size = len(set().union(*prefixed)) + merges
    learned = learn(WordCounts(counts), vocab_size, word_prefix=word_prefix)
    without = learn(WordCounts(prefixed), vocab_size)
    assert tuple(learned) == (*tuple(without)[:-1], word_prefix)
    assert learned.word_prefix == word_prefix
    assert [[*pair] for pair in reference._learn(prefixed, merges, 1)] == learned.merges


@pytest.mark.parametrize(
    ("counts", "vocab_size", "min_frequency", "want"),
    [
        ({}, 0, 1, "vocab_size"),
        ({}, 1, 1, "no_pairs"),
        ({"a": 5}, 1, 1, "vocab_size"),
        ({"a": 5}, 2, 1, "no_pairs"),
        ({"a": 5}, 2, 9, "no_pairs"),
        ({"ab": 5}, 2, 9, "vocab_size"),
        ({"ab": 5}, 3, 1, "vocab_size"),
        ({"ab": 5}, 4, 1, "no_pairs"),
        ({"ab": 5}, 4, 5, "no_pairs"),
        ({"ab": 5}, 4, 6, "min_frequency"),
        ({"ab": 5, "cd": 2}, 9, 3, "min_frequency"),
        ({"ab": 5, "cd": 2}, 5, 3, "vocab_size"),
        ({"ab": 5}, -ALL, ALL, "vocab_size"),
        ({"ab": 5}, ALL, ALL, "min_frequency"),
    ],
)
def test_why_it_stopped(counts: Counts, vocab_size: int, min_frequency: int, want: str) -> None:
    for threads in (1, 2):
        assert learn(WordCounts(counts), vocab_size, min_frequency, threads=threads).stopped_because == want


def test_learned_is_a_value() -> None:
    learned = learn(WordCounts({"low": 5, "lower": 2}), 7)
    assert learned == Learned(
        [["l", "o"], ["lo", "w"]], [7, 7], [1, 0], ["e", "l", "o", "r", "w"], "vocab_size"
    )
    assert pickle.loads(pickle.dumps(learned)) == learned
    with pytest.raises(AttributeError):
        learned.merges = []  # type: ignore[misc]


def test_counts_stay_as_they_are() -> None:
    counts = WordCounts({"low": 5, "lower": 2})
    learn(counts, 100, word_prefix="▁")
    assert counts == WordCounts({"low": 5, "lower": 2})


# -------------------------------------------------------------------------------------- continuing


@fewer
@given(
    counts_of_words, st.integers(0, 40), st.integers(0, 40), st.integers(1, 4), prefixes, st.integers(1, 3)
)
def test_continuing_equals_learning_at_once(
    counts: Counts, first: int, second: int, min_frequency: int, word_prefix: str, threads: int
) -> None:
    word_counts = WordCounts(counts)
    alphabet = len(set(word_prefix).union(*counts) if counts else ())
    small, large = alphabet + first, alphabet + second
    before = learn(word_counts, small, min_frequency, word_prefix=word_prefix)
    at_once = learn(word_counts, max(small, large), min_frequency, word_prefix=word_prefix)
    options: Any = {"word_prefix": word_prefix, "threads": threads}
    continued = learn(word_counts, max(small, large), min_frequency, initial_merges=before, **options)
    assert continued == at_once
    from_list = learn(word_counts, max(small, large), min_frequency, initial_merges=before.merges, **options)
    given_ties = [None] * len(before.merges)
    assert tuple(from_list) == (
        *tuple(at_once)[:2],
        [*given_ties, *at_once.ties[len(given_ties) :]],
        *tuple(at_once)[3:],
    )
    assert naive(counts, large, min_frequency, before.merges, word_prefix) == learn(
        word_counts, large, min_frequency, initial_merges=map(tuple, before.merges), **options
    )
    # More merges than fit: as many as fit are kept, and nothing is learned.
    if large < before.vocab_size:
        assert learn(word_counts, large, min_frequency, initial_merges=before, **options) == before.truncate(
            large
        )


@fewer
@given(counts_of_words, st.data())
def test_initial_merges_that_training_might_not_give(counts: Counts, data: st.DataObject) -> None:
    """A list from other words, or made by hand: its rules are merged first, in its order."""
    known = sorted({"x", *itertools.chain(*counts)})
    made: list[list[str]] = []
    for _ in range(data.draw(st.integers(0, 8))):
        rule = [data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))]
        if "".join(rule) not in known:
            made.append(rule)
            known.append("".join(rule))
    want = naive(counts, len(known) + 10, 2, made)
    if len({left + right for left, right in want.merges}) < len(want.merges):
        with pytest.raises(BPEError, match="one of its symbols would be made again"):
            learn(WordCounts(counts), len(known) + 10, 2, initial_merges=made)
    else:
        assert learn(WordCounts(counts), len(known) + 10, 2, initial_merges=made) == want


def test_a_symbol_that_would_be_made_again_is_refused() -> None:
    """Of a list from elsewhere: (a, aa) does not occur in aaa once (a, a) is merged, but (aa, a) does."""
    with pytest.raises(BPEError, match="initial_merges is not a list that training gives"):
        learn(WordCounts({"aaa": 2}), 14, 2, initial_merges=[["a", "a"], ["a", "aa"]])


def test_every_truncation_equals_learning_less() -> None:
    rng = random.Random(0)
    for counts, min_frequency in (
        ({}, 1),
        ({"a": 1}, 1),
        ({"abab": 3, "aaaa": 2}, 1),
        ({"abab": 3, "aaaa": 2}, 3),
        ({"".join(rng.choices("abcd", k=rng.randint(1, 9))): rng.randint(1, 99) for _ in range(40)}, 1),
        ({"".join(rng.choices("abcd", k=rng.randint(1, 9))): rng.randint(1, 99) for _ in range(40)}, 20),
    ):
        word_counts = WordCounts(counts)
        whole = learn(word_counts, ALL, min_frequency)
        for v in (-ALL, -1, *range(whole.vocab_size + 3), ALL):
            smaller = learn(word_counts, v, min_frequency)
            assert whole.truncate(v) == smaller
            for w in range(min(v, whole.vocab_size) + 1):
                assert smaller.truncate(w) == whole.truncate(w)
    assert whole.truncate(ALL) is whole
    for wrong in (True, 5.0, "5", None):
        with pytest.raises(TypeError, match="vocab_size must be a whole number"):
            whole.truncate(wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ sizes


def zipf(alphabet: str, distinct: int, longest: int, seed: int) -> Counts:
    rng = random.Random(seed)
    some = {"".join(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(distinct)}
    return {word: 1 + distinct * 3 // rank for rank, word in enumerate(sorted(some), 1)}


@pytest.mark.parametrize(
    ("alphabet", "distinct", "longest"),
    [("ab", 900, 60), ("abcdefghijklmnop", 6_000, 9), ("aé你😀\0\ud800", 2_000, 20)],
)
def test_larger_counts_on_any_number_of_threads(alphabet: str, distinct: int, longest: int) -> None:
    """Large enough for more than one thread, and for counts to fall so far that pairs are counted again."""
    counts = zipf(alphabet, distinct, longest, 1)
    vocab_size = len(alphabet) + 500
    want = reference._learn(counts, 500, 1)
    word_counts = WordCounts(counts)
    one = learn(word_counts, vocab_size, threads=1)
    assert one.merges == [[*pair] for pair in want]
    for threads in (2, 3, 4, 8):
        assert learn(word_counts, vocab_size, threads=threads) == one
    for k in (1, 20, 400):
        continued = learn(word_counts, vocab_size, initial_merges=one.merges[:k], threads=2)
        assert continued.merges == one.merges
        assert continued.frequencies == one.frequencies
        assert continued.ties[k:] == one.ties[k:]
    assert sorted(one.frequencies, reverse=True) == one.frequencies
    least = one.frequencies[-1] + 1
    frequent = learn(word_counts, ALL, least, threads=2)
    assert frequent.stopped_because == "min_frequency"
    assert frequent.frequencies == [frequency for frequency in one.frequencies if frequency >= least]
    assert frequent.merges == one.merges[: len(frequent.merges)]


@pytest.mark.parametrize("factor", [1, 3 * 10**9, 2**40, 2**45])
def test_huge_counts(factor: int) -> None:
    """Every count times the same factor: the same merges, frequencies times the factor."""
    counts = zipf("abcd", 3_000, 12, 2)
    one = learn(WordCounts(counts), 4 + 150)
    for threads in (1, 2):
        more = learn(WordCounts({w: n * factor for w, n in counts.items()}), 4 + 150, threads=threads)
        assert more.merges == one.merges
        assert more.ties == one.ties
        assert more.frequencies == [frequency * factor for frequency in one.frequencies]


def test_counts_near_the_largest() -> None:
    learned = learn(WordCounts({"ab": MOST, "cd": MOST - 1, "ef": 3 * 10**9, "gh": 1}), ALL)
    assert learned.merges == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    assert learned.frequencies == [MOST, MOST - 1, 3 * 10**9, 1]
    three = WordCounts({"ab": MOST, "cd": MOST - 1, "ef": 3 * 10**9})
    for least, n in ((MOST, 1), (MOST - 1, 2), (3 * 10**9 + 1, 2), (2, 3), (MOST + 1, 0), (ALL, 0)):
        assert len(learn(three, ALL, least).merges) == n, least
    assert learn(WordCounts({"aa": MOST}), ALL).frequencies == [MOST]
    assert learn(WordCounts({"abc": 2**63 - 1, "ab": 2**63}), ALL).frequencies == [MOST, 2**63 - 1]


@pytest.mark.parametrize(
    ("counts", "pair"),
    [
        ({"ab": 2**63, "xab": 2**63}, ("a", "b")),
        ({"ab": MOST, "abc": 1}, ("a", "b")),
        ({"aaa": 2**63}, ("a", "a")),
        ({"abab": 2**63}, ("a", "b")),
        ({"a\0": MOST, "a\0b": MOST}, ("a", "\0")),
    ],
)
def test_a_pair_that_occurs_too_often(counts: Counts, pair: tuple[str, str]) -> None:
    word_counts = WordCounts({**counts, **zipf("xyz", 30, 5, 3)})
    large = WordCounts({**counts, **zipf("xyz", 5_000, 20, 3)})  # on the road of several threads
    wide = large + WordCounts(
        {chr(0x4E00 + i): 1 for i in range(2_000)}
    )  # too many symbols for a cell a pair
    for threads in (1, 2):
        for too_many in (word_counts, large, wide):
            with pytest.raises(OverflowError, match=r"2\*\*64 - 1"):
                learn(too_many, ALL, threads=threads)
            with pytest.raises(OverflowError, match=r"2\*\*64 - 1"):
                learn(too_many, ALL, initial_merges=[[*pair]], threads=threads)
    assert learn(word_counts, 0).merges == []


def test_the_ends_of_words_may_occur_any_number_of_times() -> None:
    counts = WordCounts({"ba": MOST, "ca": MOST, "bad": MOST - 1, **zipf("xyz", 5_000, 20, 3)})
    for threads in (1, 2):
        with pytest.raises(OverflowError, match=r"\('b', 'a'\)|\(\"b\", \"a\"\)"):
            learn(counts, ALL, threads=threads)
    counts = WordCounts({"ba": MOST, "ca": MOST, "de": MOST, **zipf("xyz", 5_000, 20, 3)})
    for threads in (1, 2):
        merges = learn(counts, 11, threads=threads).merges
        assert merges[:3] == [["b", "a"], ["c", "a"], ["d", "e"]]


def test_an_alphabet_of_ten_thousand() -> None:
    alphabet = "".join(map(chr, range(0x4E00, 0x4E00 + 10_000)))
    counts = zipf(alphabet[:100], 2_000, 8, 4) | {alphabet[i : i + 20]: 1 for i in range(0, 10_000, 20)}
    want = reference._learn(counts, 200, 1)
    for threads in (1, 2):
        learned = learn(WordCounts(counts), 10_000 + 200, threads=threads)
        assert learned.alphabet == list(alphabet)
        assert learned.merges == [[*pair] for pair in want]


@pytest.mark.parametrize("alphabet", ["a", "ab", "abc", "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))])
def test_one_long_word(alphabet: str) -> None:
    rng = random.Random(5)
    shorter = "".join(rng.choices(alphabet, k=20_000))
    size = len(set(shorter)) + 60
    assert learn(WordCounts({shorter: 1}), size).merges == reference.train([shorter], size)
    long = "".join(rng.choices(alphabet, k=100_000))
    one, *others = (learn(WordCounts({long: 1}), 3_000 + 500, threads=threads) for threads in (1, 2, 3, 4))
    assert others == [one, one, one]
    assert "".join(encode(long, one.merges)) == long
    if one.merges:
        assert one.frequencies[0] == sum([*pair] == one.merges[0] for pair in pairwise(long))


# ----------------------------------------------------------------------------------- memory limit


def least_memory(counts: WordCounts) -> int:
    """What the refusal of a limit of nothing says is needed."""
    with pytest.raises(MemoryError, match="memory_limit") as refused:
        learn(counts, ALL, memory_limit=0)
    return max(int(digits) for digits in re.findall(r"[0-9]+", str(refused.value)))


@pytest.mark.parametrize(
    ("alphabet", "distinct", "longest"), [("ab", 300, 60), ("abcdefghijklmnop", 20_000, 9)]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_any_memory_limit_gives_the_same(alphabet: str, distinct: int, longest: int, threads: int) -> None:
    counts = WordCounts(zipf(alphabet, distinct, longest, 8))
    vocab_size = len(alphabet) + 300
    want = learn(counts, vocab_size, threads=threads)
    least = least_memory(counts)
    assert least > 0
    learned = 0
    for limit in (least, least + 1, least * 5 // 4, least * 2, least * 4, least * 10, 2**40, ALL):
        try:
            assert learn(counts, vocab_size, memory_limit=limit, threads=threads) == want
        except MemoryError as refused:
            assert learned == 0, f"{limit} bytes are refused, but fewer were enough: {refused}"  # noqa: PT017
        else:
            learned += 1
    assert learned >= 3
    before = want.truncate(len(alphabet) + 100)
    assert learn(counts, vocab_size, memory_limit=least * 4, initial_merges=before) == want


@fewer
@given(counts_of_words, st.integers(0, 40), st.integers(0, 3000), st.integers(1, 3))
def test_memory_limits_for_small_counts(counts: Counts, merges: int, limit: int, threads: int) -> None:
    word_counts = WordCounts(counts)
    vocab_size = len(set().union(*counts)) + merges
    want = learn(word_counts, vocab_size)
    with contextlib.suppress(MemoryError):
        assert learn(word_counts, vocab_size, memory_limit=limit, threads=threads) == want


def test_a_limit_too_low_is_refused_before_the_work() -> None:
    counts = WordCounts(zipf("ab", 300, 60, 8))
    least = least_memory(counts)
    bare = sum(4 * (len(word) + 1) for word in counts)
    assert least >= bare
    events: list[Progress] = []
    for limit in (0, 1, -5, bare - 1):
        with pytest.raises(MemoryError, match=f"{least}"):
            learn(counts, ALL, memory_limit=limit, progress=events.append)
    assert events == []
    assert counts == WordCounts(zipf("ab", 300, 60, 8))
    for wrong in (True, 1.0, "1"):
        with pytest.raises(TypeError, match="memory_limit must be a whole number"):
            learn(counts, 9, memory_limit=wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------- progress


def slow_counts() -> WordCounts:
    """Takes long enough to learn that something is told meanwhile."""
    rng = random.Random(6)
    return WordCounts({"".join(rng.choices("abcdefgh", k=25)): rng.randint(1, 1000) for _ in range(20_000)})


def test_progress() -> None:
    events: list[Progress] = []
    counts = slow_counts()
    for threads in (1, 2):
        events.clear()
        learned = learn(counts, 8 + 20_000, progress=events.append, threads=threads)
        assert learned == learn(counts, 8 + 20_000, threads=threads)
        assert all(isinstance(event, Progress) and event.stage == "learn" for event in events)
        assert all(event.total == 20_000 for event in events)
        assert all(event.rate >= 0 and event.memory > 0 for event in events)
        assert [event.done for event in events] == sorted(event.done for event in events)
        assert (events[-1].done, events[-1].total) == (20_000, len(learned.merges))


def test_progress_comes_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: at every look at it another 30 ms have passed."""
    looks = itertools.count(1)
    now = 0

    def monotonic() -> float:
        nonlocal now
        now = next(looks) * 30
        return now / 1000

    told: list[int] = []
    monkeypatch.setattr("exactbpe.progress.time.monotonic", monotonic)
    monkeypatch.setattr("exactbpe.training.STEP_SECONDS", 0.0)  # as many steps as can be
    learn(WordCounts(zipf("ab", 100, 9, 7)), 2 + 50, progress=lambda event: told.append(now))
    assert len(told) > 5
    assert all(later - earlier >= 100 for earlier, later in pairwise(told[:-1]))  # the last one always comes
    assert all(later - earlier <= 150 for earlier, later in pairwise(told))


def test_the_last_event_when_nothing_is_learned() -> None:
    for counts, vocab_size in (({}, 0), ({}, 9), ({"ab": 1}, 2)):
        events: list[Progress] = []
        learn(WordCounts(counts), vocab_size, progress=events.append)
        assert [event.done for event in events] == [0]


def test_a_callback_that_raises() -> None:
    class OurOwn(Exception):  # noqa: N818 - not an error
        pass

    def callback(event: Progress) -> None:
        raise OurOwn(event.done)

    counts = WordCounts({"abab": 3})
    with pytest.raises(OurOwn):
        learn(counts, 9, progress=callback)
    assert counts == WordCounts({"abab": 3})
    assert learn(counts, 9).merges == [["a", "b"], ["ab", "ab"]]


# ---------------------------------------------------------------------------------------- refusals

GOOD = WordCounts({"low": 2, "lower": 1})


@pytest.mark.parametrize("wrong", [{"a": 1}, ["a"], "a", None, 5])
def test_counts_of_another_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match="counts must be WordCounts"):
        learn(wrong, 9)


@pytest.mark.parametrize("wrong", [True, 1.0, "3", None, float("nan")])
def test_numbers_that_are_not_whole(wrong: Any) -> None:
    with pytest.raises(TypeError, match="vocab_size must be a whole number"):
        learn(GOOD, wrong)
    with pytest.raises(TypeError, match="min_frequency must be a whole number"):
        learn(GOOD, 9, wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="threads must be a whole number"):
            learn(GOOD, 9, threads=wrong)


@pytest.mark.parametrize("wrong", [0, -1, -ALL])
def test_threads_below_one(wrong: int) -> None:
    with pytest.raises(BPEError, match="threads must be 1 or more"):
        learn(GOOD, 9, threads=wrong)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("lo", TypeError),
        (b"lo", TypeError),
        (None, TypeError),
        (["l"], BPEError),
        (["l", "o", "w"], BPEError),
        (["l", ""], BPEError),
        (["", "o"], BPEError),
        ([1, "o"], TypeError),
        (["l", None], TypeError),
        (["l", "ow"], BPEError),  # nothing makes "ow"
        (["lo", "w"], BPEError),  # "lo" is made later
        (["x", "xx"], BPEError),
        (["e", "r"], BPEError),  # made a second time
    ],
)
def test_initial_merges_that_no_training_gives(rule: Any, error: type[Exception]) -> None:
    for index, merges in (
        (1, [["e", "r"], rule, ["l", "o"]]),
        (3, [["e", "r"], ["w", "er"], ["x", "e"], rule]),
    ):
        for way in (merges, tuple(merges), iter(merges)):
            with pytest.raises(error, match=rf"initial_merges\[{index}\]"):
                learn(GOOD, 99, initial_merges=way)
    with pytest.raises(error, match="initial_merges"):
        learn(GOOD, 0, initial_merges=[["e", "r"], rule])  # though none fits in


@pytest.mark.parametrize("wrong", ["lo", b"lo", None, 5])
def test_initial_merges_that_are_no_list(wrong: Any) -> None:
    with pytest.raises(TypeError, match="initial_merges must be a list"):
        learn(GOOD, 9, initial_merges=wrong)


@pytest.mark.parametrize(
    ("wrong", "error"), [(" ", BPEError), ("a b", BPEError), ("\x1c", BPEError), (5, TypeError)]
)
def test_prefixes_that_are_none(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="word_prefix must"):
        learn(GOOD, 9, word_prefix=wrong)


def test_continuing_with_another_prefix() -> None:
    before = learn(GOOD, 9, word_prefix="▁")
    for other in ("", "x"):
        with pytest.raises(BPEError, match="word_prefix"):
            learn(GOOD, 9, initial_merges=before, word_prefix=other)


def test_a_failed_call_leaves_the_counts_and_the_list() -> None:
    merges = [["l", "o"], ["x", "yz"]]
    with pytest.raises(BPEError):
        learn(GOOD, 99, initial_merges=merges)
    assert merges == [["l", "o"], ["x", "yz"]]
    assert WordCounts({"low": 2, "lower": 1}) == GOOD
    references = sys.getrefcount(GOOD)
    learn(GOOD, 99, initial_merges=merges[:1])
    assert sys.getrefcount(GOOD) == references
