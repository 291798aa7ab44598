"""The codes of subword-nmt, as a tokenizer and as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import SubwordNMT, end_of_word, fastbpe, subword_nmt
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.rule_lines import read_rules
from hypothesis import given
from strategies import WHITESPACE
from strategies_formats import chained, tokenizers_and_texts

PATH = Path("codes")
LOW = [["l", "o"], ["lo", "w"]]


def spelled(tokenizer: Tokenizer, lossy: bool = False) -> bytes:
    return subword_nmt.spell(tokenizer, PATH, Losses(PATH, lossy))[PATH]


def loaded(data: bytes, **given: str | None) -> Tokenizer:
    return subword_nmt.read(PATH, data, Losses(PATH, lossy=False), Given(**given))  # type: ignore[arg-type]


@given(case=tokenizers_and_texts())
def test_what_is_written_reads_back(case: tuple[Tokenizer, list[str]]) -> None:
    tokenizer, _ = case
    data = spelled(tokenizer, lossy=True)
    again = loaded(
        data,
        alphabet="".join(tokenizer.alphabet),
        unknown=tokenizer.unknown,
        word_prefix=tokenizer.word_prefix,
    )
    assert again == tokenizer


@pytest.mark.parametrize("count", ["", " 0"])
@pytest.mark.parametrize(
    ("codes", "is_quick"),
    [
        ("l o\nl o</w>\nlo w\nlo w</w>\n", True),
        ("l o\nl o</w>\nlo w\nlo w</w>", True),
        ("é \u2028\né \u2028</w>\n", True),
        ("l o\nl o</w>\nlo w\n", False),
        ("l o</w>\nl o\n", False),
        ("l o\nx o</w>\n", False),
        ("l o\nl o</w> \n", False),
        ("l o\n\nl o</w>\n", False),
        (" o\n o</w>\n", False),
        ("l \nl </w>\n", False),
        ("lo w\nlo w</w>\nl o\nl o</w>\n", False),
        ("l o\nl o</w>\nl o\nl o</w>\n", False),
        ("a x</w>\na x</w></w>\n", False),
        ("a</ w>\na</ w></w>\n", False),
        ("\n", False),
    ],
)
def test_the_quick_reader_says_the_same_or_nothing(codes: str, is_quick: bool, count: str) -> None:
    other_headers = ["#version: 0.2\n", "#version: 0.1\n", "#version: 0.2 - by me\n", "#versio x\n"]
    headers = ["", *([] if count else other_headers)]
    for header in headers:
        data = (header + codes.replace("\n", count + "\n")).encode()
        data += count.encode() * (not codes.endswith("\n"))
        quick = end_of_word.read_trained(data, Given(), counted=bool(count))
        assert (quick is not None) == (is_quick and header in ("", "#version: 0.2\n"))
        if quick is not None:
            rules = fastbpe.read_codes(PATH, data) if count else read_rules(PATH, data).rules
            general = end_of_word.halved(PATH, rules, Losses(PATH, lossy=False), Given())
            assert (quick, quick.vocab) == (general, general.vocab)
    for wrong in (" -1", " x", " 1 1", " ", " ٣"):
        data = codes.replace("\n", wrong + "\n").encode()
        assert end_of_word.read_trained(data, Given(), counted=True) is None


def test_a_rule_is_two_there(tmp_path: Path) -> None:
    formats.save(Tokenizer(LOW), tmp_path / "codes", "subword-nmt")
    assert (tmp_path / "codes").read_text() == "#version: 0.2\nl o\nl o</w>\nlo w\nlo w</w>\n"
    assert formats.load(tmp_path / "codes") == Tokenizer(LOW)


@pytest.mark.parametrize("version", ["0.3", "9.9", "1.0"])
def test_versions_that_are_not_known(version: str, tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(f"#version: {version}\nl o\nl o</w>\n")
    for load in (SubwordNMT.load, lambda path: formats.load(path, "subword-nmt")):
        with pytest.raises(BPEError, match=rf"codes: .*version.* {version}|codes: version must be"):
            load(tmp_path / "codes")
    (tmp_path / "codes").write_text("#version: 0.2.0\nl o\nl o</w>\n")
    assert formats.load(tmp_path / "codes", "subword-nmt").merges == [["l", "o"]]
    assert SubwordNMT.load(tmp_path / "codes").apply("lo") == "lo"


def test_what_looks_like_the_end_of_a_word_is_refused() -> None:
    spelled_out = "".join(
        f"x{mark[:i]} {mark[i]}\nx{mark[:i]} {mark[i]}</w>\n" for mark in ["</w>"] for i in range(4)
    )
    codes = f"#version: 0.2\n{spelled_out}a x</w>\na x</w></w>\n"
    with pytest.raises(
        BPEError, match=r"codes: merges\[3\]: 'x</w>' would be taken for 'x' at the end of a word"
    ):
        loaded(codes.encode())


def test_a_prefix_is_lost() -> None:
    with pytest.raises(BPEError, match="cannot hold word_prefix='_'"):
        spelled(Tokenizer(LOW, word_prefix="_"))


def test_real_codes_are_no_tokenizer() -> None:
    for text in ("#version: 0.2\nl o\nlo w</w>\n", "#version: 0.2\nl o\n", "l o\no w\n"):
        with pytest.raises(BPEError, match=r"use exactbpe.formats.SubwordNMT"):
            loaded(text.encode())


@pytest.mark.parametrize(
    "token", ["#version", '"', "\\", "@@", "▁", "\u200b", "\u2028", "\r", "\0", "</w>x", "x</w"]
)
def test_any_token_survives(token: str) -> None:
    rules = [[token[:i], token[i]] for i in range(1, len(token))]
    tokenizer = Tokenizer([*rules, [token, "y"], ["y", token]])
    assert loaded(spelled(tokenizer)) == tokenizer


def test_the_mark_itself() -> None:
    rules = [["<", "/"], ["</", "w"], ["</w", ">"]]
    for good in (rules, [*rules, ["</w>", "x"]]):
        assert loaded(spelled(Tokenizer(good))).merges == good
    for bad in ([*rules, ["x", "</w>"]], [["x", "<"], ["x<", "/"], ["x</", "w"], ["x</w", ">"]]):
        with pytest.raises(
            BPEError, match=r"merges\[3\]: 'x</w>' would be taken for 'x' at the end of a word"
        ):
            spelled(Tokenizer(bad))


def test_every_code_point_survives() -> None:
    tokenizer = chained(leaving_out=" \n")
    assert loaded(spelled(tokenizer), alphabet="".join(tokenizer.alphabet)) == tokenizer


# ------------------------------------------------------------------------------------ as what they are


def test_apply_keeps_what_is_around_the_line() -> None:
    codes = SubwordNMT([["l", "o"], ["lo", "w</w>"]])
    assert codes.apply("  low  lowx \r\n") == "  low lo@@ w@@ x \r\n"
    assert codes.apply("low low", separator="##") == "low low"
    assert codes.apply("lowx", separator="##") == "lo## w## x"
    for nothing in ("", " ", "\n", " \r\n"):
        assert codes.apply(nothing) == nothing


def test_only_a_space_ends_a_word() -> None:
    inside = WHITESPACE.replace(" ", "").replace("\r", "").replace("\n", "")
    codes = SubwordNMT([["a", "b</w>"], ["a", "\u3000"], ["a\u3000", "b</w>"]])
    for space in inside.replace("\u3000", ""):
        assert codes.apply(f"ab{space}ab") == f"a@@ b@@ {space}@@ ab"
    assert codes.apply("ab\u3000ab") == "a@@ b@@ \u3000@@ ab"
    assert codes.apply("a\u3000b") == "a\u3000b"


def test_the_two_versions(tmp_path: Path) -> None:
    path = tmp_path / "codes"
    path.write_text("w </w>\nl o\n")
    assert SubwordNMT.load(path).apply("low") == "lo@@ w"
    path.write_text("#version: 0.2\nl o\no w</w>\n")
    assert SubwordNMT.load(path).apply("low ow") == "lo@@ w ow"
    path.write_text("#version: 0.3\nl o\n")
    with pytest.raises(BPEError, match=r"codes: version must be \(0, 1\) or \(0, 2\), not \(0, 3\)"):
        SubwordNMT.load(path)
    with pytest.raises(BPEError, match='format must be "subword-nmt" or "fastbpe"'):
        SubwordNMT.load(path, format="gpt2")


@pytest.mark.parametrize(
    ("rules", "version"),
    [
        ([["x</w", ">"]], (0, 2)),
        ([["x", "</w>"]], (0, 2)),
        ([["</w", ">"]], (0, 1)),
        ([["x", "</w"], ["<", "/w>"]], (0, 1)),
    ],
)
def test_rules_that_spell_the_mark(rules: list[list[str]], version: tuple[int, int]) -> None:
    with pytest.raises(BPEError, match=r"rules\[\d\] = .* looks like the end of one"):
        SubwordNMT(rules, version)


def test_arguments() -> None:
    codes = SubwordNMT([["a", "b"]])
    with pytest.raises(TypeError, match="line must be a str"):
        codes.apply(b"ab")  # type: ignore[arg-type]
    with pytest.raises(BPEError, match=r"lone surrogate '\\ud800' at position 1"):
        codes.apply("a\ud800")
    with pytest.raises(TypeError, match=r"merges\[0\] must be a list or tuple"):
        SubwordNMT(["ab"])
