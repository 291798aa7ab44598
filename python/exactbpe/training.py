"""Texts to merges."""

from __future__ import annotations

from collections.abc import Iterable

from exactbpe import _core
from exactbpe.counting import cores
from exactbpe.reference import iterator, whole_number

# How long the core works between two looks at Ctrl-C.
STEP_SECONDS = 0.05

# Python's whole numbers know no end; beyond this none makes a difference.
LARGEST = 2**64 - 1


def train(corpus: Iterable[str], vocab_size: int, min_frequency: int = 1) -> list[list[str]]:
    """Learn merges from the words of ``corpus``.

    The most frequent pair of neighbouring symbols is joined everywhere, the smallest pair first among
    equals, until the vocabulary is full or no pair occurs ``min_frequency`` times (Gage 1994; inside
    words: Sennrich, Haddow and Birch 2016).

    Args:
        corpus: any iterable of texts; the words of a text are ``text.split()``.
        vocab_size: how many entries the vocabulary may have, characters included. Any whole number.
        min_frequency: stop when the most frequent pair occurs less often; below 1 means 1.

    Returns:
        ``[left, right]`` for each merge, in the order learned.

    Raises:
        TypeError: ``corpus`` is one ``str`` or ``bytes``, one of its elements is not a ``str``, or a
            number is not a whole number.
        OverflowError: a pair occurs more than 2**64 - 1 times.

    >>> train(["low low lower lowest"], 9)
    [['l', 'o'], ['lo', 'w']]
    """
    vocab_size = clamped("vocab_size", vocab_size)
    min_frequency = clamped("min_frequency", min_frequency)
    threads = cores()
    counter = _core.TextCounter(threads)
    counter.add_texts(iterator("corpus", corpus), "corpus")
    learner = _core.Learner(counter.finish(), vocab_size, LARGEST, min_frequency, threads)
    while learner.step(STEP_SECONDS) is None:
        pass
    return learner.merges()


def bpe_merges(words: Iterable[str], num_merges: int) -> list[str]:
    """Learn up to ``num_merges`` merges from ``words``, taken as they are, and give the joined symbols.

    Args:
        words: any iterable of words; they are not split, so a space is a character like any other.
        num_merges: the most merges to learn; a negative number means none.

    Returns:
        ``left + right`` for each merge, in the order learned.

    Raises:
        TypeError: ``words`` is one ``str`` or ``bytes``, one of its elements is not a ``str``, or
            ``num_merges`` is not a whole number.

    >>> bpe_merges(["low", "lower", "lowest"], 2)
    ['lo', 'low']
    """
    num_merges = clamped("num_merges", num_merges)
    counts = _core.WordCounts()
    counts.add_words(iterator("words", words), "words")
    learner = _core.Learner(counts, LARGEST, num_merges, 1, cores())
    while learner.step(STEP_SECONDS) is None:
        pass
    return [left + right for left, right in learner.merges()]


def clamped(name: str, value: int) -> int:
    """Any whole number, brought into the range in which it can make a difference."""
    return max(0, min(whole_number(name, value), LARGEST))
