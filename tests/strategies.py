"""What hypothesis draws from: texts in which pairs repeat, and merges of every kind.

Everything is drawn for one small alphabet, so that texts and merges meet.
"""

from __future__ import annotations

import random

from exactbpe import reference
from hypothesis import strategies as st

# The 29 code points of SPEC 1, written out rather than asked of Python.
WHITESPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

ALPHABETS = [
    "a",
    "ab",
    "abc",
    "abcdefgh",
    "a\0\x7f",
    "aé\u07ff\u0800",  # around the lengths of UTF-8
    "\uff5e😀你好",  # UTF-16 sorts these otherwise
    "👩\u200d👧",  # one emoji to a reader, several characters here
    "a\u200b\u2060\ufeff\u180e",  # looks like whitespace, is not
    "\ud83d\ude00😀",  # two lone surrogates, and the character they would spell in UTF-16
    "\ud800\udfff\ue000\uffff\U00010000\U0010ffff",
]

Pair = tuple[str, str]

alphabets = st.sampled_from(ALPHABETS)


def _noise(alphabet: str, seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def words(alphabet: str) -> st.SearchStrategy[str]:
    """Short words, long runs such as ``aaaa…`` and ``abab…``, and long noise."""
    units = st.text(alphabet, min_size=1, max_size=3)
    runs = st.builds(lambda unit, times, end: unit * times + end, units, st.integers(2, 150), units)
    noise = st.builds(_noise, st.just(alphabet), st.integers(0, 999), st.integers(20, 400))
    short = st.text(alphabet, min_size=1, max_size=8)
    return st.one_of(short, short, runs, noise)


def texts(alphabet: str, max_words: int = 6) -> st.SearchStrategy[str]:
    """Words between whitespace of any kind; whitespace may lead, trail, or be all there is."""
    gaps = st.text(WHITESPACE, min_size=1, max_size=2)
    edges = st.text(WHITESPACE, max_size=2)
    parts = st.lists(st.builds(str.__add__, words(alphabet), gaps), max_size=max_words)
    return st.builds(
        lambda lead, parts, tail: lead + "".join(parts) + tail, edges, parts, edges | words(alphabet)
    )


def corpora(alphabet: str) -> st.SearchStrategy[list[str]]:
    """Some texts, some of them more than once."""
    some = st.lists(texts(alphabet, max_words=3), max_size=5)
    return st.builds(lambda corpus, again: corpus + corpus[:1] * again, some, st.integers(0, 5))


def _trained(corpus: list[str], most: int) -> list[Pair]:
    return [(left, right) for left, right in reference.train(corpus, 10**6)[:most]]


def _cuts(whole: str) -> list[Pair]:
    return [(whole[:i], whole[i:]) for i in range(1, len(whole))]


def merges(alphabet: str) -> st.SearchStrategy[list[Pair]]:
    """Trained lists and hand-made ones.

    The hand-made ones hold parts that no rule makes, parts with whitespace inside, repeats, and
    several ways to the same string, such as ``("a", "bc")`` and ``("ab", "c")``.
    """
    trained = st.builds(_trained, st.lists(words(alphabet), min_size=1, max_size=4), st.integers(0, 60))
    parts = st.text(alphabet, min_size=1, max_size=3) | st.text(alphabet + " ", min_size=1, max_size=4)
    random_pairs = st.lists(st.tuples(parts, parts), max_size=25)
    wholes = st.lists(st.text(alphabet, min_size=2, max_size=6), max_size=5)
    same_strings = wholes.map(lambda wholes: [pair for whole in wholes for pair in _cuts(whole)])
    plain = st.one_of(trained, random_pairs, same_strings)
    return st.one_of(
        plain,
        plain.map(lambda rules: rules[::-1]),
        plain.flatmap(st.permutations),
        plain.flatmap(lambda rules: st.permutations(rules + rules)),
        st.builds(list.__add__, plain, plain),
    )


def vocab_sizes() -> st.SearchStrategy[int]:
    """Mostly sizes that matter for a small corpus, and sizes beyond any machine integer."""
    extreme = st.sampled_from([0, -1, -(10**30), 10**30, 2**31, 2**32, 2**63, 2**64])
    return st.one_of(st.integers(-2, 40), st.integers(0, 300), extreme)


def min_frequencies() -> st.SearchStrategy[int]:
    """As for `vocab_sizes`."""
    extreme = st.sampled_from([-(10**30), 10**30, 2**32, 2**63, 2**64])
    return st.one_of(st.integers(-1, 3), st.integers(-1, 8), st.integers(1, 40), extreme)
