"""Counts to merges, and the one call from texts to merges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from exactbpe import _core
from exactbpe.counting import WordCounts, cores, count_texts
from exactbpe.progress import ProgressCallback, Reporter
from exactbpe.reference import BPEError, iterator, not_a_str, whole_number

if TYPE_CHECKING:
    from exactbpe.tokenizer import Tokenizer

# How long the core works between two looks at Ctrl-C.
STEP_SECONDS = 0.05

# Python's whole numbers know no end; beyond this none makes a difference.
LARGEST = 2**64 - 1


class Learned(NamedTuple):
    """Merges, with what a user wants to know of them."""

    merges: list[list[str]]
    """``[left, right]`` for each merge, in the order learned."""
    frequencies: list[int]
    """How often each pair occurred just before it was merged."""
    ties: list[int | None]
    """How many other pairs occurred as often; ``None`` for a merge that was given and not learned."""
    alphabet: list[str]
    """The distinct characters, in code point order."""
    stopped_because: Literal["vocab_size", "min_frequency", "no_pairs"]
    """The vocabulary was full; or no pair occurred often enough; or no word had two symbols left."""
    word_prefix: str = ""
    """What was put before every word."""

    @property
    def vocab_size(self) -> int:
        """Entries of the vocabulary: the alphabet, and a symbol for each merge."""
        return len(self.alphabet) + len(self.merges)

    def truncate(self, vocab_size: int) -> Learned:
        """What learning with a smaller ``vocab_size`` would have given.

        Raises:
            TypeError: ``vocab_size`` is not a whole number.
        """
        n = clamped("vocab_size", vocab_size) - len(self.alphabet)
        if n >= len(self.merges) and (n > len(self.merges) or self.stopped_because == "vocab_size"):
            return self
        n = max(0, n)
        return self._replace(
            merges=self.merges[:n],
            frequencies=self.frequencies[:n],
            ties=self.ties[:n],
            stopped_because="vocab_size",
        )

    def tokenizer(self, **options: Any) -> Tokenizer:
        """A tokenizer with these merges and this alphabet; ``options`` as for `exactbpe.Tokenizer`."""
        from exactbpe.tokenizer import Tokenizer

        return Tokenizer(self.merges, self.alphabet, word_prefix=self.word_prefix, **options)


def learn(
    counts: WordCounts,
    vocab_size: int,
    min_frequency: int = 1,
    *,
    initial_merges: Learned | Iterable[Sequence[str]] = (),
    word_prefix: str = "",
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: ProgressCallback | None = None,
) -> Learned:
    """Learn merges from counts of words.

    The most frequent pair of neighbouring symbols is joined everywhere, the smallest pair first among
    equals, until the vocabulary is full or no pair occurs ``min_frequency`` times (Gage 1994; inside
    words: Sennrich, Haddow and Birch 2016).

    Args:
        counts: how often each word occurs.
        vocab_size: how many entries the vocabulary may have, characters included. Any whole number.
        min_frequency: stop when the most frequent pair occurs less often; below 1 means 1.
        initial_merges: merges learned before, to continue from: learning to *k* and continuing to *n*
            equals learning *n* at once.
        word_prefix: put before every word, so that decoding can restore the spaces; no whitespace.
        threads: how many to use; all cores of the machine if not given. The result is the same.
        memory_limit: how many bytes learning may take beside the counts. A low one costs time, and changes no
            merge.
        progress: called with a `Progress` at most ten times a second.

    Raises:
        TypeError: an argument has the wrong type.
        BPEError: ``initial_merges`` is not a list that training can give.
        OverflowError: a pair occurs more than 2**64 - 1 times.
        MemoryError: ``memory_limit`` is too low even for the bare words; the message says what is needed.

    >>> learned = learn(WordCounts({"low": 5, "lower": 2}), 7)
    >>> learned.merges, learned.frequencies, learned.ties
    ([['l', 'o'], ['lo', 'w']], [7, 7], [1, 0])
    """
    if not isinstance(counts, WordCounts):
        raise TypeError(f"counts must be WordCounts, not {type(counts).__name__}: see WordCounts.update")
    before = initial_merges if isinstance(initial_merges, Learned) else None
    if before is not None and before.word_prefix != word_prefix:
        theirs = before.word_prefix
        raise BPEError(f"initial_merges were learned with word_prefix={theirs!r}, not {word_prefix!r}")
    learner = _core.Learner(
        counts._core,
        clamped("vocab_size", vocab_size),
        LARGEST,
        least_frequency(min_frequency),
        checked_prefix(word_prefix),
        list(iterator("initial_merges", before.merges if before else initial_merges)),
        cores(threads),
        LARGEST if memory_limit is None else clamped("memory_limit", memory_limit),
    )
    stopped_because = _run(learner, progress)
    merges, ties = learner.merges(), learner.ties()
    if initial_merges and len({left + right for left, right in merges}) < len(merges):
        raise BPEError(
            "initial_merges is not a list that training gives: one of its symbols would be made again"
        )
    if before is not None:
        ties[: len(before.ties)] = before.ties[: len(ties)]
    return Learned(merges, learner.frequencies(), ties, learner.alphabet(), stopped_because, word_prefix)


def train(corpus: Iterable[str], vocab_size: int, min_frequency: int = 1) -> list[list[str]]:
    """Learn merges from the words of ``corpus``: `learn` on the counts of its words.

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
    least = least_frequency(min_frequency)
    threads = cores()
    counts = count_texts("corpus", corpus, threads)
    learner = _core.Learner(counts, vocab_size, LARGEST, least, "", [], threads, LARGEST)
    _run(learner)
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
    learner = _core.Learner(counts, LARGEST, num_merges, 1, "", [], cores(), LARGEST)
    _run(learner)
    return [left + right for left, right in learner.merges()]


def _run(
    learner: _core.Learner, progress: ProgressCallback | None = None
) -> Literal["vocab_size", "min_frequency", "no_pairs"]:
    """Let the core work, step by step, so that Python can listen for Ctrl-C between two steps."""
    reporter = None
    if progress:
        known = learner.max_merges if learner.max_merges < 1 << 62 else None
        reporter = Reporter(progress, "learn", known)
    while (stopped_because := learner.step(STEP_SECONDS)) is None:
        if reporter:
            reporter.report(learner.learned, learner.memory)
    if reporter:
        reporter.report(learner.learned, learner.memory, last=True)
    return stopped_because


def clamped(name: str, value: int) -> int:
    """Any whole number, brought into the range in which it can make a difference."""
    value = whole_number(name, value)
    # `min` and `max` would take a twentieth of a small training.
    return 0 if value < 0 else value if value < LARGEST else LARGEST


def least_frequency(min_frequency: int) -> int | None:
    """``min_frequency`` as the core takes it: ``None`` is more than anything can be counted."""
    least = whole_number("min_frequency", min_frequency)
    return 1 if least < 1 else least if least <= LARGEST else None


def checked_prefix(word_prefix: str) -> str:
    """``word_prefix``, if no part of it would be whitespace in a token."""
    if not isinstance(word_prefix, str):
        raise not_a_str("word_prefix", word_prefix)
    if word_prefix and word_prefix.split() != [word_prefix]:
        raise BPEError(f"word_prefix must not hold whitespace, but is {word_prefix!r}")
    return word_prefix
