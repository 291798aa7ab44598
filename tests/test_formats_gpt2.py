"""``merges.txt`` and ``vocab.json``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import gpt2
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.rule_lines import read_rules, spell_rules
from exactbpe.tokenizer import BYTE_TOKENS
from hypothesis import given
from strategies_formats import chained, long_parts, tokenizers_and_texts

PATH = Path("merges.txt")
LOW = [["l", "o"], ["lo", "w"]]


def write(folder: Path, merges: str | bytes, vocab: str = "") -> Path:
    path = folder / "merges.txt"
    path.write_bytes(merges.encode() if isinstance(merges, str) else merges)
    (folder / "vocab.json").write_text(vocab or json.dumps({"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}))
    return path


@given(case=tokenizers_and_texts())
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Tokenizer, list[str]]
) -> None:
    tokenizer, _ = case
    path = tmp_path_factory.mktemp("gpt2") / "merges.txt"
    if tokenizer.word_prefix:
        with pytest.raises(BPEError, match="cannot hold word_prefix"):
            formats.save(tokenizer, path)
        with pytest.warns(formats.LossyWarning, match="cannot hold word_prefix"):
            formats.save(tokenizer, path, lossy=True)
    else:
        formats.save(tokenizer, path)
    given = {} if tokenizer.unknown == "bytes" else {"unknown": tokenizer.unknown}
    assert formats.load(path, word_prefix=tokenizer.word_prefix, **given) == tokenizer


VOCAB = ["l", "o", "w", "lo", "low"]


@pytest.mark.parametrize("unknown", [None, "error", "bytes", "<unk>", "?", "l", "low", "", 7])
@pytest.mark.parametrize(
    "tokens", [VOCAB, [*VOCAB, "<unk>"], [*VOCAB, "?"], [*VOCAB, *BYTE_TOKENS], ["o", "l"]]
)
@pytest.mark.parametrize(
    "merges",
    [
        "#version: 0.2\nl o\nlo w\n",
        "l o\nlo w",
        "#version: 0.1\nl o\nlo w\n",
        "#version: 0.2\r\nl o\r\nlo w\r\n",
        "l o\n#version: 0.2\nlo w\n",
        "l o\nlo  w\n",
        "l o\nlo \n",
        "l o\nlo w\n\n",
        "l o\nlo w x\n",
        "lo w\nl o\n",
        "l o\nl o\n",
        "",
    ],
)
def test_the_quick_reader_says_the_same_or_nothing(
    merges: str, tokens: list[str], unknown: str, tmp_path: Path
) -> None:
    vocab = json.dumps({token: id for id, token in enumerate(tokens)}).encode()
    for data in (vocab, vocab[:-1], vocab + b" ", vocab + b"x", vocab.replace(b"1", b"2"), b"[]", b"\xff"):
        given = Given(unknown=unknown)
        quick = gpt2._read_trained(merges.encode(), data, given)
        if quick is not None:
            files = (PATH, merges.encode(), PATH, data)
            general = gpt2._read_any(*files, Losses(PATH, lossy=False), given)
            assert (quick, quick.vocab) == (general, general.vocab)
        if data == vocab and tokens == VOCAB and unknown in (None, "error"):
            assert (quick is not None) == (merges in ("#version: 0.2\nl o\nlo w\n", "l o\nlo w"))


def test_the_two_files(tmp_path: Path) -> None:
    formats.save(Tokenizer(LOW), tmp_path / "en-merges.txt")
    assert (tmp_path / "en-merges.txt").read_bytes() == b"#version: 0.2\nl o\nlo w\n"
    assert (tmp_path / "en-vocab.json").read_text().startswith('{\n  "l": 0,\n  "o": 1,\n')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en-merges.txt", "en-vocab.json"]
    with pytest.raises(BPEError, match=r"needs the name merges\.txt"):
        formats.save(Tokenizer(LOW), tmp_path / "en.txt", "gpt2")


def test_neither_file_without_the_other(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").mkdir()
    with pytest.raises(IsADirectoryError):
        formats.save(Tokenizer(LOW), tmp_path / "merges.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.json"]


@pytest.mark.parametrize(
    "token", ["#version", "#version:", '"', "\\", "</w>", "@@", "▁", "\u200b", "\u2028", "\u0100", "\r", "\0"]
)
def test_any_token_survives(token: str, tmp_path: Path) -> None:
    rules = [[token[:i], token[i]] for i in range(1, len(token))]
    tokenizer = Tokenizer([*rules, [token, "x"], ["x", token], ["0", "."], ["0.", "2"], [token, "0.2"]])
    formats.save(tokenizer, tmp_path / "merges.txt")
    assert formats.load(tmp_path / "merges.txt") == tokenizer


def test_every_code_point_survives() -> None:
    tokenizer = chained(leaving_out=" \n\u0100")  # with it, all that stand for bytes would be there
    files = gpt2.spell(tokenizer, PATH, Losses(PATH, lossy=False))
    assert read_rules(PATH, files[PATH]).rules == tokenizer.merges
    assert json.loads(files[Path("vocab.json")]) == tokenizer.vocab
    # All of them, in the step that could change any.
    rules = long_parts(leaving_out=" \n")
    assert read_rules(PATH, spell_rules(rules).encode()).rules == rules


@pytest.mark.parametrize("rule", [["a", " "], ["\n", "a"]])
def test_what_would_end_a_token(rule: list[str], tmp_path: Path) -> None:
    with pytest.raises(BPEError, match=r"merges\[1\] = .*holds a space or a line break"):
        formats.save(Tokenizer([["a", "b"], rule]), tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())


def test_a_header_counts_on_line_1_only(tmp_path: Path) -> None:
    vocab = json.dumps({c: i for i, c in enumerate([*"l", *"o", *"w", "lo", "low"])})
    for header in ("#version: 0.2\n", "#version: 0.2 - Trained by `someone`\n", ""):
        assert formats.load(write(tmp_path, header + "l o\nlo w\n", vocab)) == Tokenizer(LOW)
        assert formats.load(write(tmp_path, header + "l o\nlo w", vocab)) == Tokenizer(LOW)
    with pytest.raises(BPEError, match=r"'#version:0\.2' has no id there"):
        formats.load(write(tmp_path, "l o\n#version: 0.2\nlo w\n", vocab))


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("#version: 0.2\nl o\nlo  w\n", r"merges.txt, line 3 \(byte 18\) must be a rule"),
        ("é o\n\n", r"line 2 \(byte 5\) must be a rule, .* not ''"),
        ("l o\nlow\n", r"line 2 \(byte 4\) must be a rule, .* with one space between, not 'low'"),
        ("l o w\n", r"line 1 \(byte 0\)"),
        (" o\n", r"line 1 \(byte 0\)"),
        ("l\to\n", r"line 1 \(byte 0\)"),
        (b"l o\n\xff", "merges.txt, line 2, is not valid UTF-8 at byte 4"),
        ("#version: 0.2\r\nl o\r\n", "lines end in CR LF"),
    ],
)
def test_errors_say_where(merges: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BPEError, match=message):
        formats.load(write(tmp_path, merges))


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        ('{"l": 0', r"vocab.json is not JSON: .* at line 1 \(byte 7\)"),
        ("[]", "must hold a JSON object, not a list"),
        ('{"l": 0, "o": 1, "w": 2, "lo": 3, "low": 5}', "'low' has the id 5 there, but 4 here"),
        ('{"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4, "<unk>": 5}', "unknown='error' does not name it"),
    ],
)
def test_the_vocabulary_must_agree(vocab: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, "l o\nlo w\n", vocab)
    with pytest.raises(BPEError, match=message):
        formats.load(path)


def test_the_vocabulary_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "merges.txt"
    path.write_text("l o\n")
    with pytest.raises(FileNotFoundError, match=r"vocab\.json"):
        formats.load(path)


def test_gpt2s_own_files_are_about_bytes(tmp_path: Path) -> None:
    vocab = {c: i for i, c in enumerate(sorted(gpt2.BYTE_CHARACTERS))}
    assert len(vocab) == 256
    with pytest.raises(BPEError, match="they would be taken for bytes"):
        formats.save(Tokenizer([["a", "b"]], [*gpt2.BYTE_CHARACTERS, "你"]), tmp_path / "merges.txt")
    for header in ("#version: 0.2\n", "#version: 0.1\n"):
        with pytest.raises(BPEError, match="symbols stand for bytes"):
            formats.load(write(tmp_path, header + "Ġ t\n", json.dumps({**vocab, "Ġt": 256})))
