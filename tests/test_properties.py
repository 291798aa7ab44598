"""What follows from the rules: the seven statements of SPEC 7, one by one.

The two tests named ``…_is_what_it_says`` repeat SPEC 2 and 3 literally, for both engines. The others follow
from these, so the native engine is enough.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from types import ModuleType

import exactbpe
from hypothesis import given
from hypothesis import strategies as st
from strategies import WHITESPACE, Pair, alphabets, corpora, merges, min_frequencies, texts, vocab_sizes

Merges = list[list[str]]


def alphabet_of(corpus: list[str]) -> set[str]:
    return {character for text in corpus for word in text.split() for character in word}


def replaced(symbols: list[str], pair: list[str]) -> list[str]:
    """One merge as SPEC 2 describes it: from the left, occurrences never overlap."""
    result, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == pair:
            result.append(pair[0] + pair[1])
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def rounds(corpus: list[str], learned: Merges) -> list[Counter[Pair]]:
    """The counts of all pairs before the first merge, and after each."""
    segmented = [list(word) for text in corpus for word in text.split()]
    counts = [Counter(pair for word in segmented for pair in pairwise(word))]
    for merge in learned:
        segmented = [replaced(word, merge) for word in segmented]
        counts.append(Counter(pair for word in segmented for pair in pairwise(word)))
    return counts


@given(corpus=alphabets.flatmap(corpora), min_frequency=st.integers(-1, 6))
def test_training_is_what_it_says(engine: ModuleType, corpus: list[str], min_frequency: int) -> None:
    """SPEC 2, step by step: the highest count, the smallest among equals, and the two reasons to stop."""
    vocab_size = len(alphabet_of(corpus)) + 20
    learned = engine.train(corpus, vocab_size, min_frequency)
    *before, last = rounds(corpus, learned)
    for counts, merge in zip(before, learned, strict=True):
        highest = max(counts.values())
        assert highest >= min_frequency
        assert tuple(merge) == min(pair for pair, n in counts.items() if n == highest)
    if len(learned) < 20:
        assert max(last.values(), default=0) < max(1, min_frequency)


@given(
    corpus=alphabets.flatmap(corpora),
    sizes=st.lists(vocab_sizes(), min_size=2, max_size=2),
    frequencies=st.lists(min_frequencies(), min_size=2, max_size=2),
)
def test_1_less_asked_is_a_prefix(corpus: list[str], sizes: list[int], frequencies: list[int]) -> None:
    small, large = sorted(sizes)
    low, high = sorted(frequencies)
    most = exactbpe.train(corpus, large, low)
    for less in (exactbpe.train(corpus, small, low), exactbpe.train(corpus, large, high)):
        assert less == most[: len(less)]
    budget = max(0, small - len(alphabet_of(corpus)))
    assert len(exactbpe.train(corpus, small, low)) == min(budget, len(most))


@given(corpus=alphabets.flatmap(corpora))
def test_2_no_pair_and_no_string_comes_twice(corpus: list[str]) -> None:
    learned = exactbpe.train(corpus, 10**30)
    alphabet = alphabet_of(corpus)
    vocabulary = alphabet | {left + right for left, right in learned}
    assert len(vocabulary) == len(alphabet) + len(learned)
    assert len({tuple(merge) for merge in learned}) == len(learned)


@given(corpus=alphabets.flatmap(corpora))
def test_2_and_3_counts_only_fall(corpus: list[str]) -> None:
    """Just after its merge a pair is gone; other pairs grow only in the round that makes a part of them."""
    learned = exactbpe.train(corpus, len(alphabet_of(corpus)) + 20)
    counts = rounds(corpus, learned)
    for merge, (before, after) in zip(learned, pairwise(counts), strict=True):
        assert tuple(merge) not in after
        joined = merge[0] + merge[1]
        assert all(joined in pair for pair, n in after.items() if n > before[pair])


@given(corpus=alphabets.flatmap(corpora))
def test_4_parts_are_characters_or_older_results(corpus: list[str]) -> None:
    known = alphabet_of(corpus)
    for left, right in exactbpe.train(corpus, 10**30):
        assert left in known
        assert right in known
        known.add(left + right)


@given(corpus=alphabets.flatmap(corpora), vocab_size=vocab_sizes())
def test_5_encoding_repeats_the_training(corpus: list[str], vocab_size: int) -> None:
    learned = exactbpe.train(corpus, vocab_size)
    for word in {word for text in corpus for word in text.split()}:
        segmented = list(word)
        for merge in learned:
            segmented = replaced(segmented, merge)
        assert exactbpe.encode(word, learned) == segmented


@given(case=alphabets.flatmap(lambda alphabet: st.tuples(texts(alphabet), texts(alphabet), merges(alphabet))))
def test_6_tokens_join_to_the_words(case: tuple[str, str, list[Pair]]) -> None:
    one, other, rules = case
    tokens = exactbpe.encode(one, rules)
    assert "".join(tokens) == "".join(one.split())
    assert exactbpe.encode(one + " " + other, rules) == tokens + exactbpe.encode(other, rules)


@given(case=alphabets.flatmap(lambda alphabet: st.tuples(st.text(alphabet, max_size=40), merges(alphabet))))
def test_6_encoding_is_what_it_says(engine: ModuleType, case: tuple[str, list[Pair]]) -> None:
    """SPEC 3, round by round: the lowest rank, everywhere in the word, then look again."""
    word, rules = case
    rank = {pair: index for index, pair in reversed(list(enumerate(rules)))}
    symbols = list(word)
    while present := [rank[pair] for pair in pairwise(symbols) if pair in rank]:
        symbols = replaced(symbols, list(rules[min(present)]))
    assert engine.encode(word, rules) == symbols


@given(corpus=alphabets.flatmap(corpora), vocab_size=vocab_sizes(), rng=st.randoms(use_true_random=False))
def test_7_only_the_multiset_of_words_counts(corpus: list[str], vocab_size: int, rng: random.Random) -> None:
    words = [word for text in corpus for word in text.split()]
    rng.shuffle(words)
    one_text = "".join(word + rng.choice(WHITESPACE) for word in words)
    want = exactbpe.train(corpus, vocab_size, 2)
    assert exactbpe.train(words, vocab_size, 2) == want
    assert exactbpe.train([one_text], vocab_size, 2) == want
    assert exactbpe.train(iter([*words, "", " "]), vocab_size, 2) == want


def test_7_the_hash_seed_does_not_matter(engine: ModuleType) -> None:
    rng = random.Random(7)
    corpus = ["".join(rng.choices("abcd  ", k=60)) for _ in range(20)]
    program = f"import {engine.__name__} as engine; print(engine.train({corpus!r}, 60))"
    want = f"{engine.train(corpus, 60)}\n"
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program]
        assert subprocess.check_output(command, env=environment, text=True, timeout=60) == want
