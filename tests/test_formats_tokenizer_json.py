"""``tokenizer.json``: what is written reads back, and what cannot be said is refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import tokenizer_json
from exactbpe.formats.given import Given
from exactbpe.formats.json_text import quoted
from exactbpe.formats.losses import Losses
from hypothesis import given
from strategies import WHITESPACE
from strategies_formats import CODE_POINTS, chained, tokenizers_and_texts

# The reader and the writer are pure: most of this needs no file.
PATH = Path("tokenizer.json")
LOW = [["l", "o"], ["lo", "w"]]


def spelled(tokenizer: Tokenizer, lossy: bool = False) -> bytes:
    return tokenizer_json.spell(tokenizer, PATH, Losses(PATH, lossy))[PATH]


def loaded(data: bytes | dict[str, Any], lossy: bool = False, **given: Any) -> Tokenizer:
    if isinstance(data, dict):
        data = json.dumps(data).encode()
    return tokenizer_json.read(PATH, data, Losses(PATH, lossy), Given(**given))


def document(**changes: Any) -> dict[str, Any]:
    """A file of ours, with some of its fields changed; those of the model are found by name."""
    document = json.loads(spelled(Tokenizer(LOW, unknown="<unk>")))
    for name, value in changes.items():
        (document["model"] if name in document["model"] else document)[name] = value
    return document


@given(case=tokenizers_and_texts())
def test_what_is_written_reads_back(case: tuple[Tokenizer, list[str]]) -> None:
    tokenizer, _ = case
    data = spelled(tokenizer)
    again = loaded(data)
    assert again == tokenizer
    assert again.vocab == tokenizer.vocab
    assert spelled(again) == data


def outcome(read: Any, data: bytes) -> object:
    """What a reader says, errors and warnings included; None if it leaves the file to another one."""
    losses = Losses(PATH, lossy=True)
    try:
        tokenizer = read(PATH, data, losses, Given())
    except BPEError as error:
        return str(error)
    return None if tokenizer is None else (tokenizer, tokenizer.vocab, losses.differences)


@given(case=tokenizers_and_texts())
def test_the_quick_reader_reads_the_same(case: tuple[Tokenizer, list[str]]) -> None:
    tokenizer, _ = case
    data = spelled(tokenizer)
    quick = outcome(tokenizer_json._read_trained, data)
    assert (quick is None) == (not tokenizer.merges)
    assert quick is None or quick == outcome(tokenizer_json._read_any, data)


@pytest.mark.parametrize("unknown", ["error", "bytes", "<unk>", "?", "é", "\\"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"unk_token": "l"},
        {"unk_token": "low"},
        {"unk_token": "other"},
        {"unk_token": ""},
        {"unk_token": None},
        {"unk_token": 7},
        {"unk_token": "bytes"},
        {"byte_fallback": True},
        {"byte_fallback": False},
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": " "}]}},
        {"pre_tokenizer": {"type": "ByteLevel"}},
        {"dropout": 0.1},
        {"type": "Unigram"},
        {"merges": [["l", "o"], ["l", "ow"]]},
        {"merges": [["lo", "w"], ["l", "o"]]},
        {"merges": [["l", "o"], ["l", "o"]]},
        {"merges": ["l o", "lo w"]},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3}},
        {"vocab": {"o": 0, "l": 1, "w": 2, "lo": 3, "low": 4}},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4, "": 5}},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4, "x": 5}},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": True}},
        {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 5}},
    ],
)
def test_the_quick_reader_says_the_same_or_nothing(unknown: str, changes: dict[str, Any]) -> None:
    document = json.loads(spelled(Tokenizer(LOW, unknown=unknown)))
    for name, value in changes.items():
        (document["model"] if name in document["model"] else document)[name] = value
    data = json.dumps(document).encode()
    quick = outcome(tokenizer_json._read_trained, data)
    assert quick is None or quick == outcome(tokenizer_json._read_any, data)
    if not changes:
        assert quick is not None
    # JSON keeps the last of two members of one name; so must the quick reader, or leave it.
    twice = json.dumps(document)[:-1].encode() + b', "model": {"type": "BPE", "vocab": {}, "merges": []}}'
    quick = outcome(tokenizer_json._read_trained, twice)
    assert quick is None or quick == outcome(tokenizer_json._read_any, twice)


def test_the_file_is_one_entry_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    formats.save(Tokenizer([["a", '"']], unknown="\\"), path)
    lines = path.read_text().splitlines()
    assert '      ["a", "\\""]' in lines
    assert '      "a\\"": 2,' in lines
    assert '      "\\\\": 3' in lines
    assert json.loads(path.read_text())["model"]["vocab"] == {'"': 0, "a": 1, 'a"': 2, "\\": 3}


def test_without_rules_and_without_anything() -> None:
    for tokenizer in (Tokenizer([], "ab"), Tokenizer([]), Tokenizer([], unknown="bytes", word_prefix="▁")):
        assert loaded(spelled(tokenizer)) == tokenizer


@pytest.mark.parametrize(
    "token",
    ["#version", '"', "\\", "</w>", "@@", "▁", "\u200b", "\u2028", "\x85", "\0", " ", "\n", "\r", "a b"],
)
def test_any_token_survives(token: str) -> None:
    alphabet = sorted({*token, "x"})
    rules = [[token[:i], token[i]] for i in range(1, len(token))]
    tokenizer = Tokenizer([*rules, [token, "x"], ["x", token]], alphabet)
    assert loaded(spelled(tokenizer)) == tokenizer


def test_every_code_point_survives() -> None:
    tokenizer = chained()
    assert loaded(spelled(tokenizer)) == tokenizer
    # All of them, in the one step that could change any.
    text = json.dumps(CODE_POINTS, ensure_ascii=False)
    assert "[" + ", ".join(map(quoted, CODE_POINTS)) + "]" == text
    assert json.loads(text) == CODE_POINTS


def test_the_name_for_no_token_is_free() -> None:
    taken = tokenizer_json.NO_ID
    rules = [[taken[:i], taken[i]] for i in range(1, len(taken))]
    tokenizer = Tokenizer(rules)
    assert json.loads(spelled(tokenizer))["model"]["unk_token"] not in tokenizer.vocab
    assert loaded(spelled(tokenizer)) == tokenizer


# ------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("rules", "alphabet", "fault"),
    [
        ([["ab", "a"], ["a", "b"]], None, r"merges\[0\] = \['ab', 'a'\]: 'ab' is made by no rule before it"),
        ([["a", "b"], ["a", "c"], ["a", "b"]], None, r"merges\[2\] .* makes 'ab', as merges\[0\] does"),
        (
            [["a", "b"], ["b", "c"], ["a", "bc"], ["ab", "c"]],
            None,
            r"merges\[3\] .* makes 'abc', as merges\[2\] does",
        ),
        ([["a", "b"]], "a", r"merges\[0\] .*: 'b' is not in the alphabet"),
        ([["a", "b"], ["x", "yz"]], None, r"merges\[1\] .*: 'yz' is made by no rule before it"),
    ],
)
def test_rules_out_of_order(rules: list[list[str]], alphabet: str | None, fault: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer(rules, alphabet)
    path = tmp_path / "tokenizer.json"
    path.write_text("before")
    with pytest.raises(BPEError, match=fault):
        formats.save(tokenizer, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.warns(formats.LossyWarning, match=fault):
        formats.save(tokenizer, path, lossy=True)
    assert json.loads(path.read_text())["model"]["vocab"] == tokenizer.vocab


def test_what_is_out_of_order_is_not_read_silently() -> None:
    data = document(
        vocab={"a": 0, "b": 1, "aba": 2, "ab": 3}, merges=[["ab", "a"], ["a", "b"]], unk_token="no"
    )
    with pytest.raises(BPEError, match=r"merges\[0\].*made by no rule before it"):
        loaded(data)
    assert loaded(data, lossy=True).tokenize("abab") == ["ab", "ab"]


@pytest.mark.parametrize("part", ["alphabet", "rule", "word_prefix"])
def test_a_lone_surrogate(part: str) -> None:
    tokenizer = {
        "alphabet": Tokenizer([], "a\ud800"),
        "rule": Tokenizer([["a", "\udfff"]]),
        "word_prefix": Tokenizer([], "a", word_prefix="\udc80"),
    }[part]
    with pytest.raises(BPEError, match=r"'(a?\\ud[0-9a-f]{3})' holds a lone surrogate"):
        spelled(tokenizer)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "Unigram"}, "the model is 'Unigram', but only BPE"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "pre_tokenizer is ByteLevel: its symbols stand for bytes"),
        (
            {
                "pre_tokenizer": {
                    "type": "Sequence",
                    "pretokenizers": [{"type": "Split"}, {"type": "ByteLevel"}],
                }
            },
            "pre_tokenizer is ByteLevel",
        ),
        ({"continuing_subword_prefix": "##"}, "continuing_subword_prefix is '##'"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix is '</w>'"),
        ({"vocab": None}, "the vocabulary must be an object"),
        ({"vocab": {"l": True}}, "the id of 'l' must be a whole number, not True"),
        ({"vocab": {"l": -1}}, r"the id of 'l' must be from 0 to 2\*\*32 - 1"),
        ({"vocab": {"l": 0.0}}, "the id of 'l' must be a whole number"),
        ({"vocab": {"\ud800": 0}}, "half of a character"),
        ({"merges": {}}, "the merges must be a list"),
        ({"merges": [["l"]]}, r"merges\[0\] must have two parts, not 1"),
        ({"merges": ["l  o"]}, r"merges\[0\] must have two parts, not 3"),
        ({"merges": [["l", ""]]}, r"merges\[0\]: the right part is empty"),
        ({"merges": [["l", 1]]}, r"merges\[0\]: the right part must be a str"),
        ({"merges": [7]}, r"merges\[0\] must be a list or tuple"),
        ({"model": None}, 'there is no "model"'),
    ],
)
def test_what_cannot_be_read(changes: dict[str, Any], message: str) -> None:
    for lossy in (False, True):
        with pytest.raises(BPEError, match=f"^tokenizer.json: .*{message}"):
            loaded(document(**changes), lossy=lossy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": {"type": "NFKC"}}, "normalizer changes texts first"),
        (
            {"pre_tokenizer": {"type": "WhitespaceSplit"}},
            r"WhitespaceSplit does not split at U\+001C to U\+001F",
        ),
        ({"pre_tokenizer": None}, "pre_tokenizer splits texts otherwise"),
        ({"decoder": None}, "decoder joins tokens otherwise"),
        ({"post_processor": {"type": "TemplateProcessing"}}, "post_processor adds tokens"),
        ({"added_tokens": [{"id": 5, "content": "[PAD]"}]}, "added_tokens are found inside texts"),
        ({"truncation": {"max_length": 5}}, "truncation cuts texts off"),
        ({"padding": {"pad_id": 0}}, "padding adds tokens"),
        ({"dropout": 0.1}, "dropout leaves out merges"),
        ({"ignore_merges": True}, "ignore_merges gives a word of the vocabulary whole"),
        ({"fuse_unk": True}, "fuse_unk gives one token"),
        (
            {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}, "unk_token": None},
            "unknown characters are dropped",
        ),
        (
            {"vocab": {"<unk>": 0, "l": 1, "o": 2, "w": 3, "lo": 4, "low": 5}},
            "'<unk>' has the id 0 there, but 5",
        ),
        (
            {"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4, "<unk>": 5, "[PAD]": 6}},
            r"'\[PAD\]' has the id 6",
        ),
        ({"vocab": {"l": 0, "o": 1, "w": 2, "lo": 3}, "unk_token": "?"}, "'low' has no id there, but 4 here"),
    ],
)
def test_what_can_be_read_with_losses(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document(**changes)))
    with pytest.raises(BPEError, match=message):
        formats.load(path)
    with pytest.warns(formats.LossyWarning, match=message) as caught:
        tokenizer = formats.load(path, lossy=True)
    assert caught[0].filename == __file__
    assert tokenizer.tokenize("slow") == ["s", "low"]


@pytest.mark.parametrize("word", ["error", "bytes"])
def test_a_token_for_unknown_characters_with_the_name_of_another_choice(word: str) -> None:
    rules = [[word[:i], word[i]] for i in range(1, len(word))]
    made = json.loads(spelled(Tokenizer(rules, unknown="<unk>")))
    made["model"]["unk_token"] = word
    del made["model"]["vocab"]["<unk>"]
    with pytest.raises(BPEError, match=f"unk_token is '{word}', which as unknown= means something else here"):
        loaded(made)


def test_an_alphabet_in_an_array(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "merges.txt"):
        formats.save(Tokenizer(LOW), tmp_path / name)
        assert formats.load(tmp_path / name, alphabet=np.array(["l", "o", "w"])) == Tokenizer(LOW)


def test_older_files_say_less() -> None:
    data = document(merges=["l o", "lo w"])
    for name in ("fuse_unk", "byte_fallback", "ignore_merges", "dropout"):
        del data["model"][name]
    del data["truncation"], data["padding"], data["post_processor"], data["version"]
    data["model"]["end_of_word_suffix"] = ""
    assert loaded(data) == Tokenizer(LOW, unknown="<unk>")


def test_what_the_caller_gives_goes_first() -> None:
    vocab = {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}
    dropping = document(vocab=vocab, unk_token=None)
    assert loaded(dropping, unknown="error") == Tokenizer(LOW)
    with pytest.raises(BPEError, match="'<unk>' has no id there, but 5 here"):
        loaded(dropping, unknown="<unk>")
    with pytest.raises(BPEError, match="normalizer changes texts first: null"):
        loaded(document(), word_prefix="▁")
    with pytest.raises(BPEError, match=r"^tokenizer\.json: word_prefix must not hold whitespace"):
        loaded(document(), word_prefix=" ")


def test_whitespace_is_spelled_as_specified() -> None:
    everything = "".join(CODE_POINTS)
    assert set(re.findall(formats.WHITESPACE, everything)) == set(WHITESPACE)
    assert "".join(re.findall(formats.WORD, everything)) == "".join(everything.split())
