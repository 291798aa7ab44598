"""The specification as a program: byte-pair encoding in plain Python.

This file needs nothing but Python 3.8. Everything else in the package is tested against it: when a
faster road and this file disagree, the faster road is wrong.

The definitions come from

* P. Gage, "A New Algorithm for Data Compression", The C Users Journal, 1994: replace the most
  frequent pair of neighbours by a new symbol, and repeat;
* R. Sennrich, B. Haddow, A. Birch, "Neural Machine Translation of Rare Words with Subword Units",
  ACL 2016: do so inside words, and apply the merges learned there to new words.

Both leave ties, overlaps and whitespace open; here they are settled:

* words are what ``str.split()`` gives, and a word starts as its characters (code points);
* among the most frequent pairs the smallest is merged, compared as Python compares two strings;
* overlapping positions all count (``aaa`` holds ``(a, a)`` twice), and a replacement takes them
  from the left (``aaa`` becomes ``aa a``);
* encoding goes by rounds: the pair of lowest rank, everywhere in the word, then look again.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

__all__ = ["BPEError", "bpe_merges", "encode", "solve", "train"]

Pair = Tuple[str, str]


class BPEError(ValueError):
    """A value that cannot be used; the message says which, where, and what was expected."""


# ---------------------------------------------------------------------------------------- learning


def train(corpus: Iterable[str], vocab_size: int, min_frequency: int = 1) -> List[List[str]]:
    """Learn merges from the words of ``corpus``.

    Args:
        corpus: any iterable of texts; the words of a text are ``text.split()``.
        vocab_size: how many entries the vocabulary may have, characters included. Any whole number.
        min_frequency: stop when the most frequent pair occurs less often; below 1 means 1.

    Returns:
        ``[left, right]`` for each merge, in the order learned.

    Raises:
        TypeError: ``corpus`` is one ``str`` or ``bytes``, one of its elements is not a ``str``, or a
            number is not a whole number.

    >>> train(["low low lower lowest"], 9)
    [['l', 'o'], ['lo', 'w']]
    """
    vocab_size = whole_number("vocab_size", vocab_size)
    min_frequency = whole_number("min_frequency", min_frequency)
    counts: Dict[str, int] = Counter()
    for text in strings("corpus", corpus):
        for word in text.split():
            counts[word] += 1
    alphabet = set().union(*counts)
    return [[*pair] for pair in _learn(counts, vocab_size - len(alphabet), min_frequency)]


def bpe_merges(words: Iterable[str], num_merges: int) -> List[str]:
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
    num_merges = whole_number("num_merges", num_merges)
    counts = Counter(strings("words", words))
    return [left + right for left, right in _learn(counts, num_merges, 1)]


def _learn(counts: Mapping[str, int], max_merges: int, min_frequency: int) -> List[Pair]:
    """Merge the most frequent pair, the smallest first among equals, and repeat."""
    # All distinct words in one list, each closed by None. A pair is named by its left position.
    symbols: List[Optional[str]] = [None]
    weight = [0]  # how often the word around a position occurs
    for word, n in counts.items():
        symbols += [*word, None]
        weight += [n] * (len(word) + 1)
    before = list(range(-1, len(symbols) - 1))
    after = list(range(1, len(symbols) + 1))

    frequency: Dict[Pair, int] = defaultdict(int)
    positions: Dict[Pair, Set[int]] = defaultdict(set)

    def add(i: int) -> None:
        left, right = symbols[i], symbols[after[i]]
        if left is not None and right is not None:
            frequency[left, right] += weight[i]
            positions[left, right].add(i)

    def remove(i: int) -> None:
        left, right = symbols[i], symbols[after[i]]
        if left is not None and right is not None:
            positions[left, right].remove(i)
            frequency[left, right] -= weight[i]
            if not frequency[left, right]:
                del frequency[left, right], positions[left, right]

    for i in range(len(symbols) - 1):
        add(i)
    merges: List[Pair] = []
    while len(merges) < max_merges and frequency:
        highest = max(frequency.values())
        if highest < min_frequency:
            break
        pair = min(pair for pair, n in frequency.items() if n == highest)
        merges.append(pair)
        here = positions[pair]
        for i in sorted(here):
            if i not in here:  # it overlapped the occurrence just replaced
                continue
            j = after[i]
            for k in (before[i], i, j):
                remove(k)
            symbols[i], symbols[j] = pair[0] + pair[1], None
            after[i] = after[j]
            before[after[j]] = i
            for k in (before[i], i):
                add(k)
    return merges


# ---------------------------------------------------------------------------------------- encoding


def encode(text: str, merges: Iterable[Sequence[str]]) -> List[str]:
    """Split ``text`` into tokens by ``merges``, trained or hand-made.

    Args:
        text: any ``str``; its words are ``text.split()``.
        merges: pairs of non-empty strings; the rank of a pair is the index of its first occurrence.

    Returns:
        the tokens of all words; those of a word always join to the word.

    Raises:
        TypeError: ``text`` is not a ``str``, or ``merges`` does not hold pairs of strings.
        BPEError: a rule does not have two parts, or one of them is empty.

    >>> encode("lowest", [["e", "s"], ["es", "t"], ["l", "o"], ["lo", "w"]])
    ['low', 'est']
    """
    if not isinstance(text, str):
        raise not_a_str("text", text)
    rank: Dict[Pair, int] = {}
    for index, pair in enumerate(rules(merges)):
        rank.setdefault(pair, index)
    return [token for word in text.split() for token in _encode_word(word, rank)]


def _encode_word(word: str, rank: Mapping[Pair, int]) -> List[str]:
    """A round a pair: the lowest rank, everywhere in the word from the left, then look again."""
    symbols: List[Optional[str]] = [None, *word, None]
    before = list(range(-1, len(symbols) - 1))
    after = list(range(1, len(symbols) + 1))
    waiting: Dict[int, List[Tuple[int, Pair]]] = defaultdict(list)  # by rank: pairs and where they start

    def look(i: int) -> None:
        left, right = symbols[i], symbols[after[i]]
        if left is not None and right is not None and (left, right) in rank:
            waiting[rank[left, right]].append((i, (left, right)))

    for i in range(len(word) + 1):
        look(i)
    while waiting:
        for i, pair in sorted(waiting.pop(min(waiting))):
            j = after[i]
            if (symbols[i], symbols[j]) != pair:  # a neighbour was merged meanwhile
                continue
            symbols[i], symbols[j] = pair[0] + pair[1], None
            after[i] = after[j]
            before[after[j]] = i
            look(before[i])
            look(i)
    return [symbol for symbol in symbols if symbol is not None]


# ------------------------------------------------------------------------------------ JSON requests


def solve(input_str: str) -> str:
    """Answer one request, a JSON object, with one line of JSON.

    ``{"task": "train", "corpus": [...], "vocab_size": n, "min_frequency": m}`` gives
    ``{"merges": [...]}`` (``min_frequency`` may be absent), and
    ``{"task": "encode", "text": "...", "merges": [...]}`` gives ``{"tokens": [...]}``.

    Raises:
        TypeError: ``input_str`` is not a ``str``, or a field has the wrong type.
        BPEError: the request is not JSON, not an object, has no known task, or misses a field.

    >>> solve('{"task": "encode", "text": "aaa", "merges": [["a", "a"]]}')
    '{"tokens": ["aa", "a"]}'
    """
    return answer(input_str, train, encode)


def answer(input_str: str, train: Any, encode: Any) -> str:
    """Answer a request with the given ``train`` and ``encode``; see `solve`."""
    request = _read_request(input_str)
    task = _field(request, "task", str)
    reply: Dict[str, Any]
    if task == "train":
        corpus = _field(request, "corpus", list)
        vocab_size = _field(request, "vocab_size", int)
        min_frequency = _field(request, "min_frequency", int) if "min_frequency" in request else 1
        reply = {"merges": train(corpus, vocab_size, min_frequency)}
    elif task == "encode":
        reply = {"tokens": encode(_field(request, "text", str), _field(request, "merges", list))}
    else:
        raise BPEError(f'task must be "train" or "encode", not {_short(task)}')
    return one_line(reply)


def one_line(value: Any) -> str:
    """Spell ``value`` as JSON in one line; a lone surrogate, which no file can hold, is escaped."""
    import json  # only requests need it, and it takes as long to import as all the rest
    import re

    spelled = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", spelled)


def _read_request(input_str: str) -> Dict[str, Any]:
    if not isinstance(input_str, str):
        raise not_a_str("input_str", input_str)
    import json

    stripped = input_str.strip().strip("\ufeff").strip()
    try:
        request = json.loads(stripped, parse_int=_parse_int, parse_constant=_refuse_constant)
    except RecursionError:
        raise BPEError("the request is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BPEError(f"the request is not JSON: {error.msg} at {where}") from None
    if not isinstance(request, dict):
        raise BPEError(f"the request must be a JSON object, not {_kind(request)}")
    return request


def _parse_int(digits: str) -> int:
    # Python refuses to read thousands of digits; no count gets near 10**4000, so all beyond are alike.
    return int(digits) if len(digits) <= 4000 else int(digits[:4000])


def _refuse_constant(name: str) -> None:
    raise BPEError(f"the request is not JSON: {name} is not a JSON number")


def _field(request: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in request:
        raise BPEError(f"the request has no field {name!r}")
    value = request[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = {str: "a string", list: "a list", int: "a whole number"}[kind]
        raise TypeError(f"{name} must be {expected}, not {_kind(value)}")
    return value


# ---------------------------------------------------------------------------------------- arguments


def whole_number(name: str, value: Any) -> int:
    """``value`` as an ``int``, or a ``TypeError``: whatever has ``__index__`` counts, a ``bool`` does not."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be a whole number, not {_kind(value)}")


def iterator(name: str, values: Any) -> Iterator[Any]:
    """Iterate over ``values``; one ``str`` or ``bytes`` is a mistake, not a collection."""
    if isinstance(values, (str, bytes, bytearray)):
        raise TypeError(f"{name} must be a list, not one {_kind(values)}: put it into a list")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a list, not {_kind(values)}")
    return iter(values)


def strings(name: str, values: Any) -> Iterator[str]:
    """Iterate over ``values``, all of which must be strings."""
    for index, value in enumerate(iterator(name, values)):
        if not isinstance(value, str):
            raise not_a_str(f"{name}[{index}]", value)
        yield value


def not_a_str(name: str, value: Any) -> TypeError:
    """The refusal of a value that should be a ``str``."""
    return TypeError(f"{name} must be a str, not {_kind(value)}")


def rules(merges: Any, name: str = "merges") -> Iterator[Pair]:
    """Iterate over the pairs of ``merges``, all of which must be two non-empty strings."""
    for index, rule in enumerate(iterator(name, merges)):
        if not isinstance(rule, (list, tuple)):
            raise TypeError(f"{name}[{index}] must be a list or tuple of two strings, not {_kind(rule)}")
        if len(rule) != 2:
            raise BPEError(f"{name}[{index}] must have two parts, not {len(rule)}")
        for side, part in (("left", rule[0]), ("right", rule[1])):
            if not isinstance(part, str):
                raise TypeError(f"{name}[{index}]: the {side} part must be a str, not {_kind(part)}")
            if not part:
                raise BPEError(f"{name}[{index}]: the {side} part is empty")
        yield rule[0], rule[1]


def _kind(value: Any) -> str:
    """The value's type, with the value itself where it is short."""
    if value is None:
        return "None"
    return f"{type(value).__name__} {_short(value)}"


def _short(value: Any) -> str:
    try:
        spelled = ascii(value)
    except Exception:  # a stranger's __repr__ must not hide the refusal
        return "(no repr)"
    return spelled if len(spelled) <= 40 else spelled[:37] + "..."
