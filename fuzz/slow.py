"""Learning once more, slowly, sharing nothing with the package or its reference.

Symbols are strings, words are lists of them. What a merge changes is counted again word by word, as the
first programs for subword units did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

Pair = tuple[str, str]


class Slow(NamedTuple):
    """What `exactbpe.learn` gives, under the same names."""

    merges: list[list[str]]
    frequencies: list[int]
    ties: list[int | None]
    alphabet: list[str]
    stopped_because: str


class Words:
    """Words cut into symbols, with the counts of their pairs and the words that hold each."""

    def __init__(self, counts: Mapping[str, int], word_prefix: str = "") -> None:
        self.symbols = [list(word_prefix + word) for word in counts]
        self.weights = list(counts.values())
        self.totals: Counter[Pair] = Counter()
        self.holders: defaultdict[Pair, set[int]] = defaultdict(set)
        for index in range(len(self.symbols)):
            self._count(index, 1)

    def _count(self, index: int, sign: int) -> None:
        weight = self.weights[index] * sign
        for pair, times in Counter(pairwise(self.symbols[index])).items():
            self.totals[pair] += times * weight
            if sign > 0:
                self.holders[pair].add(index)
            elif not self.totals[pair]:
                del self.totals[pair]

    def merge(self, pair: Pair) -> None:
        for index in self.holders.pop(pair, ()):
            self._count(index, -1)
            self.symbols[index] = replaced(self.symbols[index], pair)
            self._count(index, 1)

    def best(self) -> tuple[Pair, int, int] | None:
        """The pair to merge, its count, and how many others have the same."""
        if not self.totals:
            return None
        highest = max(self.totals.values())
        best = [pair for pair, count in self.totals.items() if count == highest]
        return min(best), highest, len(best) - 1


def replaced(symbols: list[str], pair: Pair) -> list[str]:
    """From the left, occurrences never overlap."""
    left, right = pair
    result: list[str] = []
    last = None  # the symbol before, if it may be the left part of an occurrence
    for symbol in symbols:
        if symbol == right and last == left:
            result[-1] = left + right
            last = None
        else:
            result.append(symbol)
            last = symbol
    return result


def learn(
    counts: Mapping[str, int],
    vocab_size: int,
    min_frequency: int = 1,
    initial_merges: Iterable[Sequence[str]] = (),
    word_prefix: str = "",
) -> Slow:
    """The merges of `counts`, which must be above zero."""
    initial = [(left, right) for left, right in initial_merges]
    words = Words(counts, word_prefix)
    alphabet = sorted({char for word in words.symbols for char in word} | set("".join(map("".join, initial))))
    room = max(0, vocab_size - len(alphabet))
    merges: list[list[str]] = []
    frequencies: list[int] = []
    ties: list[int | None] = []
    for pair in initial[:room]:
        merges.append([*pair])
        frequencies.append(words.totals[pair])
        ties.append(None)
        words.merge(pair)
    while True:
        if len(merges) >= room:
            return Slow(merges, frequencies, ties, alphabet, "vocab_size")
        best = words.best()
        if best is None:
            return Slow(merges, frequencies, ties, alphabet, "no_pairs")
        pair, frequency, others = best
        if frequency < min_frequency:
            return Slow(merges, frequencies, ties, alphabet, "min_frequency")
        merges.append([*pair])
        frequencies.append(frequency)
        ties.append(others)
        words.merge(pair)
