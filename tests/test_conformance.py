"""Tables of known answers: ``conformance.jsonl``, and the examples of the specification."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LINES = Path(__file__).with_name("conformance.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [(number, json.loads(line)) for number, line in enumerate(LINES, start=1)]

EXAMPLES: list[tuple[str, list[Any], list[Any]]] = [
    # SPEC 2 to 4
    ("train", [["aaa"], 10], [["a", "a"], ["aa", "a"]]),
    ("encode", ["low lowest", [["l", "o"], ["lo", "w"], ["e", "s"], ["es", "t"]]], ["low", "low", "est"]),
    # the first of a repeated rule counts; "abc" is one symbol, however it came about
    ("encode", ["abc", [["b", "c"], ["a", "b"], ["b", "c"]]], ["a", "bc"]),
    ("encode", ["abcabc", [["a", "bc"], ["ab", "c"], ["a", "b"]]], ["abc", "abc"]),
    ("encode", ["abcd", [["abc", "d"], ["a", "bc"], ["b", "c"]]], ["abcd"]),
    # SPEC 5
    ("bpe_merges", [["low", "lower", "lowest"], 2], ["lo", "low"]),
    ("bpe_merges", [["aaa"], 3], ["aa", "aaa"]),
    ("bpe_merges", [["aaa"], -1], []),
    ("bpe_merges", [["", "a"], 3], []),
    ("bpe_merges", [["a b"], 3], [" b", "a b"]),
    ("bpe_merges", [[], 3], []),
    # SPEC 6
    ("train", [["yxy"], 4], [["x", "y"], ["y", "xy"]]),
    ("train", [["banana"], 3], []),
    ("train", [["abac"], 5], [["a", "b"], ["a", "c"]]),
    ("train", [["babb"], 4], [["a", "b"], ["ab", "b"]]),
    ("train", [["aaa bc bc"], 4], [["a", "a"]]),
    ("encode", ["lowest", [["e", "s"], ["es", "t"], ["l", "o"], ["lo", "w"]]], ["low", "est"]),
    ("encode", ["xab", [["x", "ab"], ["a", "b"]]], ["xab"]),
    ("encode", ["abab", [["ab", "a"], ["a", "b"]]], ["ab", "ab"]),
    ("encode", ["abc", [["a", "b"], ["b", "c"], ["a", "bc"]]], ["ab", "c"]),
    ("encode", ["a😀b 你好", [["a", "b"], ["你", "好"]]], ["a", "😀", "b", "你好"]),
    ("encode", ["aaaaa", [["a", "a"]]], ["aa", "aa", "a"]),
    ("encode", ["a\u200bb\x1cc\u3000d", []], ["a", "\u200b", "b", "c", "d"]),
]


def request_and_answer(call: str, args: list[Any], want: list[Any]) -> tuple[dict[str, Any], str]:
    """The same case as a request to ``solve``, and the line that must come back."""
    fields = ("corpus", "vocab_size", "min_frequency") if call == "train" else ("text", "merges")
    request = {"task": call, **dict(zip(fields, args, strict=False))}
    reply = {"merges" if call == "train" else "tokens": want}
    return request, json.dumps(reply, ensure_ascii=False)


@pytest.mark.parametrize("call", ["train", "encode", "bpe_merges"])
def test_every_line_of_the_table(engine: ModuleType, call: str) -> None:
    cases = [(number, case) for number, case in CASES if case["call"] == call]
    assert cases
    wrong = [number for number, case in cases if getattr(engine, call)(*case["args"]) != case["want"]]
    assert not wrong, f"wrong on these lines of conformance.jsonl: {wrong}"


@pytest.mark.parametrize("call", ["train", "encode"])
@pytest.mark.parametrize("escaped", [True, False], ids=["escaped request", "plain request"])
def test_every_line_of_the_table_through_solve(engine: ModuleType, call: str, escaped: bool) -> None:
    wrong = []
    for number, case in CASES:
        if case["call"] == call:
            request, want = request_and_answer(**case)
            answer = engine.solve(json.dumps(request, ensure_ascii=escaped))
            if answer != want or answer.splitlines() != [answer]:
                wrong.append(number)
    assert not wrong, f"wrong on these lines of conformance.jsonl: {wrong}"


@pytest.mark.parametrize(
    ("call", "args", "want"), EXAMPLES, ids=[f"{call}{args}" for call, args, _ in EXAMPLES]
)
def test_example_of_the_specification(
    engine: ModuleType, call: str, args: list[Any], want: list[Any]
) -> None:
    assert getattr(engine, call)(*args) == want
    if call != "bpe_merges":
        request, answer = request_and_answer(call, args, want)
        assert engine.solve(json.dumps(request)) == answer


def test_answers_are_plain_lists_of_strings(engine: ModuleType) -> None:
    merges = engine.train(["low low lower lowest"], 9)
    tokens = engine.encode("lower", merges)
    joined = engine.bpe_merges(["low"], 1)
    assert type(merges) is type(tokens) is type(joined) is list
    assert {type(rule) for rule in merges} == {list}
    assert {type(text) for text in [*merges[0], *tokens, *joined]} == {str}
