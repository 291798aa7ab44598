"""BPE models of sentencepiece: read where a tokenizer can do the same, refused by name otherwise."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import sentencepiece_model
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses

PATH = Path("m.model")
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPECIAL = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
LOW = [
    *SPECIAL,
    *[(text, -float(i), NORMAL) for i, text in enumerate(["lo", "▁lo", "▁low", "l", "o", "w", "▁"])],
]


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def model(
    pieces: Sequence[tuple[str, float, int]] = LOW,
    trainer: dict[int, int] | None = None,
    normalizer: dict[int, int] | None = None,
    table: bytes = b"",
) -> bytes:
    """A model file; by default of the type BPE and without normalization."""
    spelled = b"".join(
        message(
            1, message(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind)
        )
        for text, score, kind in pieces
    )
    numbers = b"".join(number(*item) for item in ({3: 2} if trainer is None else trainer).items())
    flags = b"".join(number(*item) for item in (normalizer or {}).items())
    name = message(1, b"nmt_nfkc" if table else b"identity")
    return spelled + message(2, numbers) + message(3, name + message(2, table) + flags)


def loaded(data: bytes, lossy: bool = True, **given: Any) -> tuple[Tokenizer, list[str]]:
    losses = Losses(PATH, lossy)
    return sentencepiece_model.read(PATH, data, losses, Given(**given)), losses.differences


def test_the_pairs_are_recovered() -> None:
    tokenizer, differences = loaded(model(), unknown="<unk>")
    assert tokenizer == Tokenizer(
        [["l", "o"], ["▁", "lo"], ["▁lo", "w"]], "low▁", unknown="<unk>", word_prefix="▁"
    )
    assert len(differences) == 2
    assert "'<s>' has the id 1 there, but none here" in differences[0]
    assert "'<unk>' has the id 0 there, but 7 here" in differences[1]
    with pytest.raises(BPEError, match="'<s>' has the id 1 there"):
        loaded(model(), lossy=False, unknown="<unk>")


def test_the_order_is_that_of_the_scores() -> None:
    pieces = [("abc", -1.0, NORMAL), ("bc", 0.0, NORMAL), *[(c, -9.0, NORMAL) for c in "abc"]]
    assert loaded(model(pieces))[0].merges == [["b", "c"], ["a", "bc"]]


def test_unknown_characters() -> None:
    tokenizer, differences = loaded(model())
    assert tokenizer.unknown == "error"
    assert any("unknown characters in a row are one token there" in difference for difference in differences)
    pieces = [*LOW, *[(f"<0x{byte:02X}>", -50.0, BYTE) for byte in range(256)]]
    tokenizer, differences = loaded(model(pieces, {3: 2, 35: 1}))
    assert tokenizer.unknown == "bytes"
    assert not any("in a row" in difference for difference in differences)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (model(trainer={3: 1}), "the model is unigram, but only bpe can be read"),
        (model(trainer={}), "the model is unigram"),
        (model(trainer={3: 4}), "the model is char"),
        (model(trainer={3: 2, 24: 1}), "treat_whitespace_as_suffix is set"),
        (model(normalizer={3: 0}), "add_dummy_prefix is false"),
        (model(normalizer={4: 0}), "remove_extra_whitespaces is false"),
        (model(normalizer={5: 0}), "escape_whitespaces is false"),
        (model([*LOW, ("<sep>", 0.0, USER_DEFINED)]), "piece 10, '<sep>', is user defined"),
        (model([*LOW, ("ow", 0.0, UNUSED)]), "piece 10, 'ow', is unused"),
        (model([*LOW, ("ow", 0.0, 9)]), "piece 10, 'ow', has the type 9"),
        (model([*LOW, ("w▁", -20.0, NORMAL)]), r"'w\\u2581', goes beyond the end of a word"),
        (model([*LOW, ("\t", -20.0, NORMAL)]), r"'\\t', holds whitespace"),
        (model([*LOW, ("", -20.0, NORMAL)]), "'', must have a text and a score"),
        (model([*LOW, ("ow", float("nan"), NORMAL)]), "'ow', must have a text and a score"),
        (model([*LOW, ("lo", -20.0, NORMAL)]), "two pieces are the same string"),
        (model([*LOW, ("ow", -1.0, NORMAL)]), r"'\\u2581lo' and 'ow' have the same score"),
        (
            model([*LOW, ("lolow", -20.0, NORMAL)]),
            "'lolow' has no pair: better tokens leave 'lo' 'lo' 'w' of it",
        ),
        (b"", "it has no pieces"),
        (number(1, 5), "byte 1: a number stands for a message"),
        (message(1, message(1, b"\xff")), r"byte 2: b'\\xff' is not valid UTF-8"),
        (b"\x0b", "byte 1: there is no wire type 3"),
        (b"\x0a\x7f\x0a", "byte 2: 127 bytes should follow, but 1 do"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "byte 11: 18446744073709551615 bytes should follow, but 0 do"),
        (b"\x0a" + b"\xff" * 20, "byte 1: a number does not end"),
    ],
)
def test_refusals(data: bytes, reason: str) -> None:
    with pytest.raises(BPEError, match=r"^m\.model.*" + reason):
        loaded(data, unknown="<unk>")


def test_normalization_is_a_loss() -> None:
    with pytest.raises(BPEError, match="texts are normalized by 'nmt_nfkc' there, but not here"):
        loaded(model(table=b"table"), lossy=False)


def test_it_is_found_by_content_and_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(model())
    with pytest.warns(formats.LossyWarning):
        tokenizer = formats.load(path, lossy=True, unknown="<unk>")
    with pytest.raises(BPEError, match="the format sentencepiece can only be read"):
        formats.save(tokenizer, path, "sentencepiece")
    formats.save(tokenizer, tmp_path / "tokenizer.json")
    assert formats.load(tmp_path / "tokenizer.json") == tokenizer
