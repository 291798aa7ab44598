"""Text to tokens, in one call. To encode more than one text, keep an `exactbpe.Tokenizer`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exactbpe import _core
from exactbpe.reference import iterator, not_a_str


def encode(text: str, merges: Iterable[Sequence[str]]) -> list[str]:
    """Split ``text`` into tokens by ``merges``, trained or hand-made.

    Each word starts as its characters. A round takes the pair of lowest rank, joins all its occurrences in
    the word from the left, and looks again, until no pair has a rank (Sennrich, Haddow and Birch 2016).

    Args:
        text: any ``str``; its words are ``text.split()``.
        merges: pairs of non-empty strings; the rank of a pair is the index of its first occurrence.

    Returns:
        the tokens of all words; those of a word always join to the word. A character that no rule
        mentions is a token of its own.

    Raises:
        TypeError: ``text`` is not a ``str``, or ``merges`` does not hold lists or tuples of two strings.
        BPEError: a rule does not have two parts, or one of them is empty.

    >>> encode("lowest", [["e", "s"], ["es", "t"], ["l", "o"], ["lo", "w"]])
    ['low', 'est']
    >>> encode("abab", [["ab", "a"], ["a", "b"]])
    ['ab', 'ab']
    """
    if not isinstance(text, str):
        raise not_a_str("text", text)
    rules = list(iterator("merges", merges))
    return _core.Tokenizer(rules, None, "error", "", 0).tokenize(text)
