"""The codes of subword-nmt: read as what they are, or written so that they do what a tokenizer does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from exactbpe.files import PathLike
from exactbpe.formats import end_of_word, fastbpe
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown, shown_rule
from exactbpe.formats.rule_lines import read_rules, spell_rules
from exactbpe.formats.source import read as read_bytes
from exactbpe.formats.spelling import utf8
from exactbpe.reference import BPEError, not_a_str
from exactbpe.reference import rules as checked_rules
from exactbpe.tokenizer import Tokenizer

VERSIONS = ((0, 1), (0, 2))


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The file of a tokenizer."""
    return {path: utf8(path, spell_rules(end_of_word.doubled(tokenizer, path, losses)), [])}


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file that `spell` wrote, or one like it."""
    trained = end_of_word.read_trained(data, given, counted=False)
    if trained:
        return trained
    rules, version = read_rules(path, data)
    if version not in (None, *VERSIONS):
        raise BPEError(f"{path}: the version of the codes must be 0.1 or 0.2, not {version[0]}.{version[1]}")
    return end_of_word.halved(path, rules, losses, given)


# Lone surrogates are in no file, so they can stand for what is not a character: the end of a word, and
# whitespace, of which only U+0020 ends a word there.
_END = "\udfff"
_INSIDE_WORDS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
_INSIDE_WORDS += "\u2028\u2029\u202f\u205f\u3000"
_HIDE = {ord(space): 0xDC00 + index for index, space in enumerate(_INSIDE_WORDS)}
_SHOW = {stand_in: space for space, stand_in in _HIDE.items()}
_HIDDEN = re.compile(f"[{re.escape(_INSIDE_WORDS)}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class SubwordNMT:
    """Segments lines as ``subword-nmt apply-bpe`` does with the same codes.

    Args:
        rules: pairs in which ``</w>`` marks the end of a word.
        version: of the codes. In 0.1 the mark is a symbol by itself, in 0.2 it belongs to the last character.

    Raises:
        TypeError: a rule is not a list or tuple of two strings.
        BPEError: a rule is not a pair, the version is unknown, or a rule makes ``</w>`` out of characters.

    >>> codes = SubwordNMT([["l", "o"], ["lo", "w</w>"]])
    >>> codes.apply("low lower")
    'low lo@@ w@@ e@@ r'
    """

    def __init__(self, rules: Iterable[Sequence[str]], version: tuple[int, int] = (0, 2)) -> None:
        if version not in VERSIONS:
            raise BPEError(f"version must be (0, 1) or (0, 2), not {version!r}")
        separate = version == (0, 1)
        pairs = list(checked_rules(rules))
        for index, (left, right) in enumerate(pairs):
            _refuse_ambiguous(index, left, right, separate)
        marked = [(_marked(left, separate), _marked(right, separate)) for left, right in pairs]
        characters = sorted(set().union(*(part for pair in marked for part in pair)) - {_END})
        # Every word gets a mark at its end. What version 0.2 starts from, the first rules make.
        first = [] if separate else [(character, _END) for character in characters]
        self._tokenizer = Tokenizer(first + marked)

    @classmethod
    def load(cls, path: PathLike, format: str | None = None) -> SubwordNMT:
        """Read codes of the format ``"subword-nmt"`` or ``"fastbpe"``; their first line tells which.

        Raises:
            OSError: the file cannot be read.
            BPEError: it is not of that format; the message names line and byte.
        """
        path = Path(path)
        data = read_bytes(path)
        if format is None:
            format = "fastbpe" if fastbpe.FIRST_LINE.match(data) else "subword-nmt"
        version: tuple[int, int] | None = (0, 2)
        if format == "subword-nmt":
            rules, version = read_rules(path, data)
        elif format == "fastbpe":
            rules = fastbpe.read_codes(path, data)
        else:
            raise BPEError(f'format must be "subword-nmt" or "fastbpe", not {format!r}')
        try:
            return cls(rules, version or (0, 1))  # the header came with 0.2
        except BPEError as error:
            raise BPEError(f"{path}: {error}") from None

    def apply(self, line: str, separator: str = "@@") -> str:
        """One line with its words segmented; spaces between words become one, those around the line stay.

        Raises:
            TypeError: ``line`` is not a ``str``.
            BPEError: it holds a lone surrogate.
        """
        if not isinstance(line, str):
            raise not_a_str("line", line)
        if found := _SURROGATE.search(line):
            raise BPEError(f"line holds the lone surrogate {found[0]!a} at position {found.start()}")
        words = line.strip("\r\n ")
        if not words:
            return line
        start = line.index(words[0])
        hidden = _HIDDEN.search(words) is not None
        if hidden:
            words = words.translate(_HIDE)
        tokens = self._tokenizer.tokenize("".join(f"{word}{_END} " for word in words.split()))
        gap = separator + " "
        # A mark that was not merged is a token, and one more gap before it.
        segmented = gap.join(tokens).replace(gap + _END, _END).replace(_END + gap, " ").removesuffix(_END)
        if hidden:
            segmented = segmented.translate(_SHOW)
        return line[:start] + segmented + line[start + len(line.strip("\r\n ")) :]

    def __repr__(self) -> str:
        return f"<SubwordNMT: {len(self._tokenizer.merges)} rules>"


def _marked(part: str, separate: bool) -> str:
    """A part of a rule with the mark in place of ``</w>``, where that is one, and nothing else hidden."""
    end = end_of_word.END
    if part.endswith(end) and (separate or part != end):
        part = part.removesuffix(end) + _END
    return part.translate(_HIDE)


def _refuse_ambiguous(index: int, left: str, right: str, separate: bool) -> None:
    """Refuse rules by which text that spells ``</w>`` would come to look like the end of a word."""
    end = end_of_word.END
    made = left + right
    marks = right.endswith(end) and (separate or right != end)
    if made.endswith(end) and not marks and (separate or made != end):
        rule = f"rules[{index}] = {shown_rule((left, right))}"
        raise BPEError(f"{rule} makes {shown(made)} inside words, which looks like the end of one")
