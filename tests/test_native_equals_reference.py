"""The native engine gives what the reference gives, on whatever hypothesis can think of."""

from __future__ import annotations

import json
import random

import exactbpe
import pytest
from exactbpe import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import Pair, alphabets, corpora, merges, min_frequencies, texts, vocab_sizes, words


@given(alphabets.flatmap(corpora), vocab_sizes(), min_frequencies())
def test_train(corpus: list[str], vocab_size: int, min_frequency: int) -> None:
    want = reference.train(corpus, vocab_size, min_frequency)
    assert exactbpe.train(corpus, vocab_size, min_frequency) == want


@given(alphabets.flatmap(corpora))
def test_train_to_the_end(corpus: list[str]) -> None:
    assert exactbpe.train(corpus, 10**30) == reference.train(corpus, 10**30)


@given(
    alphabets.flatmap(lambda alphabet: st.lists(words(alphabet + " \n") | st.just(""), max_size=6)),
    vocab_sizes(),
)
def test_bpe_merges_on_words_as_they_are(unsplit: list[str], num_merges: int) -> None:
    assert exactbpe.bpe_merges(unsplit, num_merges) == reference.bpe_merges(unsplit, num_merges)


@given(alphabets.flatmap(lambda alphabet: st.tuples(texts(alphabet), merges(alphabet))))
def test_encode(case: tuple[str, list[Pair]]) -> None:
    text, rules = case
    assert exactbpe.encode(text, rules) == reference.encode(text, rules)


@given(st.data())
def test_encode_one_long_word_with_many_rules(data: st.DataObject) -> None:
    """Dense rules over two letters: on nearly every round, something else becomes possible."""
    parts = st.text("ab", min_size=1, max_size=4)
    rules = data.draw(st.lists(st.tuples(parts, parts), min_size=10, max_size=80))
    length = data.draw(st.integers(90, 600))
    word = "".join(random.Random(data.draw(st.integers(0, 999))).choices("ab", k=length))
    assert exactbpe.encode(word, rules) == reference.encode(word, rules)


@given(alphabets.flatmap(lambda alphabet: st.lists(st.text(alphabet + " ", max_size=30), max_size=4)))
def test_solve_spells_the_same_line(corpus: list[str]) -> None:
    merges = reference.train(corpus, 30)
    for request in (
        {"task": "train", "corpus": corpus, "vocab_size": 30},
        {"task": "encode", "text": "\n".join(corpus), "merges": merges},
    ):
        line = json.dumps(request)
        assert exactbpe.solve(line) == reference.solve(line)


@pytest.mark.parametrize("alphabet", ["ab", "abcd", "abcdefghijklmnopqrstuvwxyz", "\0é你\ud83d\ude00😀"])
@pytest.mark.parametrize("longest", [2, 6, 40])
@pytest.mark.parametrize("distinct", [30, 400])
def test_train_larger_corpora(alphabet: str, longest: int, distinct: int) -> None:
    """Some words are frequent and most are rare, as in any language; trained until every word is whole."""
    rng = random.Random(f"{alphabet!a} {longest} {distinct}")
    corpus = []
    for rank in range(1, distinct + 1):
        word = "".join(rng.choices(alphabet, k=rng.randint(1, longest)))
        corpus += [word] * (2 * distinct // rank)
    assert exactbpe.train(corpus, 700) == reference.train(corpus, 700)


@pytest.mark.parametrize("length", [2, 3, 7, 64, 100, 127, 128, 129, 1000, 4097])
@pytest.mark.parametrize("unit", ["a", "ab", "aab", "abaab", "😀", "\ud800"])
def test_runs_of_one_unit(unit: str, length: int) -> None:
    word = (unit * length)[:length]
    trained = reference.train([word], 10**30)
    assert exactbpe.train([word], 10**30) == trained
    for rules in (trained, trained[::-1], trained[1::2] + trained[::2]):
        assert exactbpe.encode(word, rules) == reference.encode(word, rules)
