"""Real text of several languages, or generated text where there is none: the trainer against a slow recount.

This is the short version, for every run of the tests; ``python -m fuzz real`` takes 1 MB of each language,
the first 500 merges, and then all of the text on several threads.
"""

from __future__ import annotations

from collections import Counter

import pytest
from exactbpe import Tokenizer, WordCounts, encode, learn, reference, train

from fuzz import real

SHORT = 20_000
LONG = 1_000_000
SHORT_TEXTS = dict(real.corpora(SHORT))
LONG_TEXTS = dict(real.corpora(LONG))


@pytest.mark.parametrize("name", SHORT_TEXTS)
def test_the_first_merges_equal_those_of_a_slow_recount(name: str) -> None:
    real.compare(SHORT_TEXTS[name], 100)


@pytest.mark.parametrize("name", SHORT_TEXTS)
def test_merges_and_tokens_equal_those_of_the_reference(name: str) -> None:
    text = SHORT_TEXTS[name]
    vocab_size = len(set(text)) + 300
    merges = train([text], vocab_size)
    assert merges == reference.train([text], vocab_size)
    assert encode(text, merges) == Tokenizer(merges).tokenize(text) == reference.encode(text, merges)


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_words_are_those_of_python_and_threads_agree(name: str) -> None:
    text = LONG_TEXTS[name]
    counts = WordCounts()
    counts.add(text, threads=2)
    assert counts == WordCounts(Counter(text.split()))
    vocab_size = len(set(text)) + 1_500
    one = learn(counts, vocab_size, threads=1)
    assert learn(counts, vocab_size, threads=2) == one
    tokenizer = one.tokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == "".join(text.split())


def test_generated_text_when_there_is_no_other() -> None:
    names = [name for name, text in real.made_up(2_000) if len(text.encode()) >= 2_000 and text.split()]
    assert len(names) >= 6
