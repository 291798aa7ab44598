"""The codes of fastBPE."""

from __future__ import annotations

from pathlib import Path

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import SubwordNMT, fastbpe
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from hypothesis import given
from strategies_formats import chained, long_parts, tokenizers_and_texts

PATH = Path("codes")
LOW = [["l", "o"], ["lo", "w"]]


def spelled(tokenizer: Tokenizer, lossy: bool = False) -> bytes:
    return fastbpe.spell(tokenizer, PATH, Losses(PATH, lossy))[PATH]


def loaded(data: bytes, alphabet: str | None = None) -> Tokenizer:
    return fastbpe.read(PATH, data, Losses(PATH, lossy=False), Given(alphabet))


@given(case=tokenizers_and_texts())
def test_the_rules_read_back(case: tuple[Tokenizer, list[str]]) -> None:
    tokenizer, _ = case
    assert loaded(spelled(tokenizer, lossy=True)).merges == tokenizer.merges


def test_a_rule_is_two_there(tmp_path: Path) -> None:
    formats.save(Tokenizer(LOW), tmp_path / "codes", "fastbpe")
    assert (tmp_path / "codes").read_text() == "l o 0\nl o</w> 0\nlo w 0\nlo w</w> 0\n"
    assert formats.load(tmp_path / "codes") == Tokenizer(LOW)


@pytest.mark.parametrize(
    "token", ["#version", "#version:", '"', "\\", "@@", "▁", "\u200b", "\u2028", "\r", "\0"]
)
def test_any_token_survives(token: str) -> None:
    rules = [[token[:i], token[i]] for i in range(1, len(token))]
    tokenizer = Tokenizer([*rules, [token, "x"], ["x", token]])
    assert loaded(spelled(tokenizer)) == tokenizer


def test_every_code_point_survives() -> None:
    tokenizer = chained(leaving_out=" \n")
    assert loaded(spelled(tokenizer), "".join(tokenizer.alphabet)) == tokenizer
    # All of them, in the step that could change any.
    rules = long_parts(leaving_out=" \n")
    text = "".join(f"{left} {right} 0\n" for left, right in rules)
    assert fastbpe.read_codes(PATH, text.encode()) == rules


def test_real_codes(tmp_path: Path) -> None:
    path = tmp_path / "codes"
    path.write_text("l o 7\nlo w</w> 5\n")
    with pytest.raises(BPEError, match=r"use exactbpe.formats.SubwordNMT"):
        formats.load(path)
    assert SubwordNMT.load(path, "fastbpe").apply("low lower") == "low lo@@ w@@ e@@ r"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("l o 7\nlo w\n", r"line 2 \(byte 6\) must be a rule: left part, right part and count"),
        ("#version: 0.2\nl o 7\n", r"line 1 \(byte 0\)"),
        ("l o x\n", r"line 1 \(byte 0\): the count must be digits, not 'x'"),
        ("l o 7\r\nl o</w> 7\r\n", r"line 1 \(byte 0\): the count must be digits, not '7\\r'"),
        ("l o ٣\n", "the count must be digits"),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(BPEError, match=f"^codes, {message}|^codes, .*{message}"):
        loaded(text.encode())
