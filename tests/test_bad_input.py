"""SPEC 8: every bad input is refused with the right exception, naming the argument and the place.

Both engines must refuse, and with the very same words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import exactbpe
import pytest
from exactbpe import BPEError, reference

NAN = float("nan")
GOOD_RULE = ["a", "b"]


class Refusal(NamedTuple):
    """A call that must fail; ``names`` are what its message must mention."""

    call: str
    args: tuple[Any, ...]
    error: type[Exception]
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.call}, which should raise {self.error.__name__} and name {self.names},"


class NoRepr:
    """A stranger whose ``__repr__`` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class NotAnIndex:
    """Has ``__index__``, but not of a whole number."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]


class WholeNumber:
    """As numpy's integers: not an ``int``, but has ``__index__``."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def collection_refusals() -> Iterator[Refusal]:
    """``corpus``, ``words`` or ``merges`` is not a list of anything."""
    for value in ("low low", "", b"low", bytearray(b"low"), None, 5, 1.5, NoRepr()):
        yield Refusal("train", (value, 9), TypeError, ("corpus", "list"))
        yield Refusal("bpe_merges", (value, 9), TypeError, ("words", "list"))
        yield Refusal("encode", ("low", value), TypeError, ("merges", "list"))


def element_refusals() -> Iterator[Refusal]:
    """One element of a collection is not a ``str``."""
    for value in (None, NAN, b"x", bytearray(b"x"), 5, 10**5000, ["x"], NoRepr()):
        for index in (0, 2, 300):
            texts = ["a b"] * index + [value, "c"]
            yield Refusal("train", (texts, 9), TypeError, (f"corpus[{index}]", "str"))
            yield Refusal("bpe_merges", (texts, 9), TypeError, (f"words[{index}]", "str"))


def number_refusals() -> Iterator[Refusal]:
    """A number that is not whole."""
    for value in (True, False, 1.0, NAN, "3", b"3", None, [3], 3 + 0j, NoRepr(), NotAnIndex()):
        yield Refusal("train", (["a"], value), TypeError, ("vocab_size", "whole number"))
        yield Refusal("train", (["a"], 9, value), TypeError, ("min_frequency", "whole number"))
        yield Refusal("bpe_merges", (["a"], value), TypeError, ("num_merges", "whole number"))


def rule_refusals() -> Iterator[Refusal]:
    """A rule that is not a list or tuple of two non-empty strings."""
    for rule, error, names in [
        ("ab", TypeError, ("list or tuple",)),
        (b"ab", TypeError, ("list or tuple",)),
        (None, TypeError, ("list or tuple",)),
        (7, TypeError, ("list or tuple",)),
        (NAN, TypeError, ("list or tuple",)),
        ({"a", "b"}, TypeError, ("list or tuple",)),
        ({"a": "b"}, TypeError, ("list or tuple",)),
        (iter(["a", "b"]), TypeError, ("list or tuple",)),
        ([], BPEError, ("two",)),
        (["a"], BPEError, ("two",)),
        (("a",), BPEError, ("two",)),
        (["a", "b", "c"], BPEError, ("two",)),
        (["a", ""], BPEError, ("right", "empty")),
        (["", "b"], BPEError, ("left", "empty")),
        (("", ""), BPEError, ("left", "empty")),
        ([1, "b"], TypeError, ("left", "str")),
        (["a", None], TypeError, ("right", "str")),
        (["a", b"b"], TypeError, ("right", "str")),
        ([["a"], "b"], TypeError, ("left", "str")),
    ]:
        for index in (0, 2, 300):
            merges = [GOOD_RULE] * index + [rule, GOOD_RULE]
            yield Refusal("encode", ("low", merges), error, (f"merges[{index}]", *names))
    yield Refusal("encode", ("", [["a"]]), BPEError, ("merges[0]",))  # though no word needs the rule


def text_refusals() -> Iterator[Refusal]:
    for value in (None, b"low", bytearray(b"low"), 5, NAN, ["low"], NoRepr()):
        yield Refusal("encode", (value, [GOOD_RULE]), TypeError, ("text", "str"))
        yield Refusal("solve", (value,), TypeError, ("input_str", "str"))


TRAIN = {"task": "train", "corpus": ["a b"], "vocab_size": 9, "min_frequency": 1}
ENCODE = {"task": "encode", "text": "a b", "merges": [GOOD_RULE]}


def solve_refusals() -> Iterator[Refusal]:
    def refused(request: Any, error: type[Exception], *names: str) -> Refusal:
        line = request if isinstance(request, str) else json.dumps(request)
        return Refusal("solve", (line,), error, names)

    # not JSON, or more than JSON
    for line in (
        "",
        " \n",
        "\ufeff",
        "low",
        "{",
        "{'task': 1}",
        '{"task": "train",}',
        '{"task": "\n"}',
        "nul",
        "]",
    ):
        yield refused(line, BPEError, "not JSON")
    for line in (json.dumps(ENCODE) + "x", json.dumps(ENCODE) * 2, json.dumps(ENCODE) + ",", "{} {}"):
        yield refused(line, BPEError, "not JSON")
    for constant in (NAN, float("inf"), -float("inf")):
        yield refused({**TRAIN, "vocab_size": constant}, BPEError, "not JSON", json.dumps(constant))
    for opening in ("[", '{"a":', '[{"a":', '{"task": "train", "corpus": ['):
        yield refused(opening * 100_000, BPEError, "the request")
    yield refused("[" * 100_000 + "]" * 100_000, BPEError, "the request")
    # not an object
    for value in ([], [TRAIN], "train", 5, 1.5, None, True):
        yield refused(json.dumps(value), BPEError, "object")
    # no known task
    for task in ("", "Train", "decode", "train ", "😀"):
        yield refused({**TRAIN, "task": task}, BPEError, "task")
    for task in (None, True, 1, ["train"], {}):
        yield refused({**TRAIN, "task": task}, TypeError, "task")
    # a field is missing
    yield refused({}, BPEError, "task")
    for request, fields in ((TRAIN, ("task", "corpus", "vocab_size")), (ENCODE, ("task", "text", "merges"))):
        for field in fields:
            yield refused({name: value for name, value in request.items() if name != field}, BPEError, field)
    # a field has the wrong type
    for value in (None, True, False, 9.0, 1e300, "9", [9], {}):
        yield refused({**TRAIN, "vocab_size": value}, TypeError, "vocab_size")
        yield refused({**TRAIN, "min_frequency": value}, TypeError, "min_frequency")
    for value in (None, True, 1, 1.5, "a b", {}, {"0": "a b"}):
        yield refused({**TRAIN, "corpus": value}, TypeError, "corpus")
        yield refused({**ENCODE, "merges": value}, TypeError, "merges")
    for value in (None, True, 1, 1.5, ["a b"], {}):
        yield refused({**ENCODE, "text": value}, TypeError, "text")
        index = 0 if value is None else 3
        yield refused({**TRAIN, "corpus": ["a"] * index + [value]}, TypeError, f"corpus[{index}]")
    # a rule is not a pair
    for rule, error in [
        ("ab", TypeError),
        (None, TypeError),
        ({"a": "b"}, TypeError),
        (["a"], BPEError),
        (["a", "b", "c"], BPEError),
        (["a", ""], BPEError),
        ([1, "b"], TypeError),
        (["a", None], TypeError),
    ]:
        yield refused({**ENCODE, "merges": [GOOD_RULE, rule]}, error, "merges[1]")


REFUSALS = [
    *collection_refusals(),
    *element_refusals(),
    *number_refusals(),
    *rule_refusals(),
    *text_refusals(),
    *solve_refusals(),
]


def raised(engine: ModuleType, refusal: Refusal) -> Exception | None:
    try:
        getattr(engine, refusal.call)(*refusal.args)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("call", ["train", "encode", "bpe_merges", "solve"])
def test_refused_with_type_and_place(engine: ModuleType, call: str) -> None:
    wrong = []
    for refusal in REFUSALS:
        if refusal.call == call:
            error = raised(engine, refusal)
            if type(error) is not refusal.error or not all(name in str(error) for name in refusal.names):
                wrong.append(f"{refusal} gave {error!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("call", ["train", "encode", "bpe_merges", "solve"])
def test_both_engines_use_the_same_words(call: str) -> None:
    wrong = []
    for refusal in REFUSALS:
        if refusal.call == call:
            native, plain = raised(exactbpe, refusal), raised(reference, refusal)
            if type(native) is not type(plain) or str(native) != str(plain):
                wrong.append(f"{refusal} gave {native!r}, not {plain!r}")
    assert not wrong, "\n".join(wrong)


def test_the_same_error_class() -> None:
    assert exactbpe.BPEError is reference.BPEError
    assert issubclass(exactbpe.BPEError, ValueError)


def test_messages_stay_short(engine: ModuleType) -> None:
    """A message shows the value, but not megabytes of it."""
    for refusal in (
        Refusal("train", ("a" * 10**6, 9), TypeError, ()),
        Refusal("train", ([b"a" * 10**6], 9), TypeError, ()),
        Refusal("encode", ("a", ["a" * 10**6]), TypeError, ()),
        Refusal("solve", (json.dumps({"task": "a" * 10**6}),), BPEError, ()),
    ):
        error = raised(engine, refusal)
        assert type(error) is refusal.error
        assert len(str(error)) < 300


@pytest.mark.parametrize(
    "error", [OSError("disk"), KeyError("k"), TypeError("t"), BPEError("b"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("call", ["train", "bpe_merges"])
def test_what_the_iterable_raises_comes_out(engine: ModuleType, call: str, error: BaseException) -> None:
    def texts() -> Iterator[str]:
        yield "low low"
        raise error

    with pytest.raises(type(error)) as caught:
        getattr(engine, call)(texts(), 9)
    assert caught.value is error


def test_a_wrong_number_leaves_the_iterable_as_it_was(engine: ModuleType) -> None:
    texts = iter(["low"])
    for call, args in (("train", (1.0,)), ("train", (9, None)), ("bpe_merges", (True,))):
        with pytest.raises(TypeError):
            getattr(engine, call)(texts, *args)
    assert list(texts) == ["low"]


def test_arguments_are_not_changed(engine: ModuleType) -> None:
    corpus, merges = ["low low", "lower"], [["l", "o"], ["lo", "w"], ["l", "o"]]
    engine.train(corpus, 9)
    engine.bpe_merges(corpus, 9)
    engine.encode("low", merges)
    assert corpus == ["low low", "lower"]
    assert merges == [["l", "o"], ["lo", "w"], ["l", "o"]]


@pytest.mark.parametrize("make", [int, WholeNumber], ids=["int", "with __index__"])
@pytest.mark.parametrize("size", [10**30, 10**5000], ids=["10**30", "10**5000"])
def test_any_whole_number_is_accepted(engine: ModuleType, make: type, size: int) -> None:
    merges = [["a", "a"], ["aa", "b"]]
    assert engine.train(["aab"], make(3)) == merges[:1]
    assert engine.train(["aab"], make(size)) == merges
    assert engine.train(["aab"], make(-size)) == []
    assert engine.train(["aab"], make(9), make(size)) == []
    assert engine.train(["aab"], make(9), make(-size)) == merges
    assert engine.train(["aab"], make(9), make(0)) == merges
    assert engine.bpe_merges(["aab"], make(size)) == ["aa", "aab"]
    assert engine.bpe_merges(["aab"], make(-size)) == []


def test_whatever_is_a_list_a_tuple_or_a_str_is_accepted(engine: ModuleType) -> None:
    class Text(str):
        __slots__ = ()

    class Rule(NamedTuple):
        left: str
        right: str

    assert engine.train([Text("ab")], 9) == [["a", "b"]]
    assert engine.train(("ab", "ab"), 9) == engine.train(iter(["ab"]), 9) == [["a", "b"]]
    assert engine.train(corpus=["ab"], vocab_size=9, min_frequency=1) == [["a", "b"]]
    assert engine.bpe_merges([Text("ab")], 9) == ["ab"]
    assert engine.encode(Text("abc"), [("a", "b"), [Text("ab"), "c"]]) == ["abc"]
    assert engine.encode(text="ab", merges=[Rule("a", "b")]) == ["ab"]


REQUEST = json.dumps(ENCODE)


@pytest.mark.parametrize(
    "line",
    [
        f" \t\r\n{REQUEST} \n\n",
        f"\ufeff{REQUEST}",
        f"\ufeff \n{REQUEST}\r\n",
        f" \ufeff{REQUEST}\n",
        json.dumps({**ENCODE, "vocab_size": None, "": [1.5, {"deep": True}]}),
        json.dumps({**TRAIN, **ENCODE, "corpus": 5}),
        json.dumps(ENCODE, indent=4),
    ],
)
def test_solve_takes_what_surrounds_and_accompanies_a_request(engine: ModuleType, line: str) -> None:
    assert engine.solve(line) == '{"tokens": ["a", "b"]}'


def test_solve_takes_huge_numbers(engine: ModuleType) -> None:
    line = '{"task": "train", "corpus": ["aab"], "vocab_size": %s, "min_frequency": %s}'
    huge = "9" * 5000
    both = '{"merges": [["a", "a"], ["aa", "b"]]}'
    assert engine.solve(line % (huge, "1")) == both
    assert engine.solve(line % (huge, f"-{huge}")) == both
    assert engine.solve(line % (huge, huge)) == '{"merges": []}'
    assert engine.solve(line % (f"-{huge}", "1")) == '{"merges": []}'
    assert engine.solve('{"task": "train", "corpus": ["aab"], "vocab_size": 9}') == both


@pytest.mark.parametrize(
    ("text", "merges", "answer"),
    [
        ("\ud83dx", [], r'{"tokens": ["\ud83d", "x"]}'),
        ("\udc00\ud800", [["\udc00", "\ud800"]], r'{"tokens": ["\udc00\ud800"]}'),
        ("😀é", [], '{"tokens": ["😀", "é"]}'),
        ("\\ud800", [], r'{"tokens": ["\\", "u", "d", "8", "0", "0"]}'),
        ('"\0\x7f', [], '{"tokens": ["\\"", "\\u0000", "\x7f"]}'),
        ("\u2028", [], '{"tokens": []}'),
    ],
)
def test_solve_spells_every_character(
    engine: ModuleType, text: str, merges: list[list[str]], answer: str
) -> None:
    for escaped in (True, False):
        request = json.dumps({"task": "encode", "text": text, "merges": merges}, ensure_ascii=escaped)
        assert engine.solve(request) == answer
    answer.encode("utf-8")  # any file can hold it
