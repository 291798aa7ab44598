"""Rank files of tiktoken."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import tiktoken_ranks
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses

PATH = Path("t.tiktoken")


def ranks(*tokens: bytes) -> bytes:
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))


def loaded(data: bytes, lossy: bool = False, **given: Any) -> Tokenizer:
    return tiktoken_ranks.read(PATH, data, Losses(PATH, lossy), Given(**given))


def spelled(tokenizer: Tokenizer, lossy: bool = False) -> bytes:
    return tiktoken_ranks.spell(tokenizer, PATH, Losses(PATH, lossy))[PATH]


@pytest.mark.parametrize(
    "tokenizer",
    [
        Tokenizer([["l", "o"], ["lo", "w"]]),
        Tokenizer([["é", "t"], ["ét", "é"]], "aét\u07ff"),
        Tokenizer([]),
        Tokenizer([["#", "v"], ["\0", "\x7f"], ["\\", '"']], "".join(map(chr, range(128)))),
        Tokenizer([[chr(code), "a"] for code in range(0x800) if code != ord("a")]),
        Tokenizer([["a", chr(code)] for code in range(0x800) if not chr(code).isspace()]),
    ],
)
def test_what_is_written_reads_back(tokenizer: Tokenizer, tmp_path: Path) -> None:
    symbols = [left + right for left, right in tokenizer.merges]
    if any(symbol.split() != [symbol] for symbol in symbols):
        with pytest.raises(BPEError, match=r"merges\[\d+\] = .* does not make"):
            formats.save(tokenizer, tmp_path / "t.tiktoken")
        return
    formats.save(tokenizer, tmp_path / "t.tiktoken")
    assert formats.load(tmp_path / "t.tiktoken") == tokenizer


def test_the_file() -> None:
    assert spelled(Tokenizer([["a", "é"]])) == b"YQ== 0\nw6k= 1\nYcOp 2\nqQ== 172\nww== 198\n"


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (Tokenizer([["a", "你"]]), r"'\\u4f60' \(U\+4F60\) has over two bytes"),
        (Tokenizer([], "a", unknown="bytes"), "cannot hold unknown='bytes'"),
        (Tokenizer([], "a", word_prefix="_"), "cannot hold word_prefix='_'"),
        (Tokenizer([["ab", "a"], ["a", "b"]]), r"merges\[0\] .* is made by no rule before it"),
        (
            Tokenizer([["a", "b"], ["b", "c"], ["a", "bc"]]),
            r"merges\[2\] = \['a', 'bc'\] does not make 'abc' of a word that is just this",
        ),
    ],
)
def test_what_cannot_be_written(tokenizer: Tokenizer, message: str) -> None:
    with pytest.raises(BPEError, match=message):
        spelled(tokenizer)


def test_losses_leave_the_ids_as_they_are() -> None:
    tokenizer = Tokenizer([["a", "b"], ["a", "b"], ["b", "é"]], unknown="<unk>", word_prefix="a")
    data = spelled(tokenizer, lossy=True)
    assert loaded(data).vocab == {"a": 0, "b": 1, "é": 2, "ab": 3, "bé": 4}


def test_all_bytes_and_ascii_rules() -> None:
    """What a trainer on bytes gives for ASCII text: characters beyond are bytes to it."""
    data = ranks(*(bytes([byte]) for byte in range(256)), b"th", b"the")
    with pytest.raises(BPEError, match=r"'<0x00>' has no id there|'<0x80>' has the id 128 there"):
        loaded(data)
    tokenizer = loaded(data, lossy=True)
    assert tokenizer.unknown == "bytes"
    assert tokenizer.tokenize("the") == ["the"]
    assert [tokenizer.id_to_token(id) for id in tokenizer.encode("é")] == ["<0xC3>", "<0xA9>"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            ranks(b"a", b"b", b"c", b"ab", b"bc", b"abcb"),
            r"b'abcb' has no pair: .* leave b'ab' b'c' b'b' of it",
        ),
        (ranks(b"a", b"\xc3", b"a\xc3"), r"the token b'a\\xc3' is no whole number of characters"),
        (ranks(b"\xe4", b"\xbd", b"\xa0", b"\xe4\xbd", b"\xe4\xbd\xa0"), r"b'\\xe4\\xbd' is no whole number"),
        (ranks(b"\xe4", b"\xbd", b"\xa0", b"\xe4\xbd\xa0"), r"b'\\xe4\\xbd\\xa0' has no pair"),
        (ranks(b"a", b"ab"), r"the byte 0x62 of the token b'ab' has no rank"),
        (b"YQ== 0\nYg==  1\n", r"t.tiktoken, line 2 \(byte 7\) must be a token in base64 and its rank"),
        (b"YQ= 0\n", r"line 1 \(byte 0\): 'YQ=' is not base64"),
        (b"Y!Q== 0\n", "is not base64"),
        ("é 0\n".encode(), "is not base64"),
        (b"YQ== x\n", r"line 1 \(byte 0\): the rank must be digits, not 'x'"),
        (b"YQ== 1152921504606846976\n", "the rank must be digits"),
        (b"YQ== 0\nYQ== 1\n", r"line 2 \(byte 7\): the token or its rank came before"),
        (b"YQ== 0\nYg== 0\n", "the token or its rank came before"),
        (b"YQ== 7\n", "'a' has the id 7 there, but 0 here"),
        (b"\xff", "not valid UTF-8 at byte 0"),
    ],
)
def test_refusals(data: bytes, message: str) -> None:
    with pytest.raises(BPEError, match=message):
        loaded(data)
