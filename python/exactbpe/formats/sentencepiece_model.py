"""``.model`` files of sentencepiece, where their model is BPE: read only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from exactbpe.formats import protobuf
from exactbpe.formats.given import Given
from exactbpe.formats.joined import recovered_pairs
from exactbpe.formats.json_text import compare
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown
from exactbpe.formats.source import built, check_length
from exactbpe.reference import BPEError
from exactbpe.tokenizer import BYTE_TOKENS, Tokenizer

SPACE = "▁"  # U+2581 stands for U+0020 there

# Field numbers, values and defaults: github.com/google/sentencepiece, src/sentencepiece_model.proto.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_TEXT, _SCORE, _TYPE = 1, 2, 3
_MODEL_TYPE, _SUFFIX, _BYTE_FALLBACK = 3, 24, 35
_NAME, _CHARSMAP, _DUMMY_PREFIX, _REMOVE_EXTRA, _ESCAPE = 1, 2, 3, 4, 5
_UNIGRAM, _BPE = 1, 2
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6


class _Piece(NamedTuple):
    text: str
    score: float
    type: int


@dataclass
class _Model:
    """What a file says."""

    pieces: list[_Piece] = field(default_factory=list)
    trainer: dict[int, int] = field(default_factory=dict)
    normalizer: dict[int, int] = field(default_factory=dict)
    normalizer_name: str = ""
    normalizes: bool = False


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file."""
    try:
        model = _parsed(data)
    except protobuf.MessageError as error:
        raise BPEError(f"{path} is no sentencepiece model: {error}") from None
    check_length(path, (piece.text for piece in model.pieces))
    _refuse_other_models(path, model)
    _refuse_other_pieces(path, model.pieces)
    if model.normalizes:
        losses.add(f"texts are normalized by {model.normalizer_name or 'a table'!r} there, but not here")
    ids = {piece.text: id for id, piece in enumerate(model.pieces)}
    if len(ids) < len(model.pieces):
        raise BPEError(f"{path}: two pieces are the same string")
    unknown = "error"
    if model.trainer.get(_BYTE_FALLBACK) and ids.keys() >= set(BYTE_TOKENS):
        unknown = "bytes"
    elif given.unknown is None:
        losses.add(
            "unknown characters in a row are one token there, but refused here; "
            'unknown="error" or unknown="<unk>", for one token each, accepts this'
        )
    normal = [piece for piece in model.pieces if piece.type == _NORMAL]
    alphabet = [piece.text for piece in normal if len(piece.text) == 1]
    ranked = _ranked(path, (piece for piece in normal if len(piece.text) > 1))
    merges = [[*pair] for pair in recovered_pairs(path, ranked)]
    tokenizer = built(path, merges, alphabet, given, unknown, SPACE)
    compare(ids, tokenizer, losses)
    return tokenizer


def _ranked(path: Path, pieces: Iterable[_Piece]) -> list[str]:
    ranked = sorted(pieces, key=lambda piece: -piece.score)
    for one, other in pairwise(ranked):
        if one.score == other.score:
            pair = f"{shown(one.text)} and {shown(other.text)}"
            raise BPEError(f"{path}: {pair} have the same score, so neither goes first")
    return [piece.text for piece in ranked]


def _refuse_other_models(path: Path, model: _Model) -> None:
    kind = model.trainer.get(_MODEL_TYPE, _UNIGRAM)
    if kind != _BPE:
        name = {_UNIGRAM: "unigram", 3: "word", 4: "char"}.get(kind, str(kind))
        raise BPEError(f"{path}: the model is {name}, but only bpe can be read")
    if model.trainer.get(_SUFFIX, 0):
        raise BPEError(f"{path}: treat_whitespace_as_suffix is set, but {SPACE} can only start a word here")
    for number, name in (
        (_DUMMY_PREFIX, "add_dummy_prefix"),
        (_REMOVE_EXTRA, "remove_extra_whitespaces"),
        (_ESCAPE, "escape_whitespaces"),
    ):
        if not model.normalizer.get(number, 1):
            raise BPEError(f"{path}: {name} is false, so a space does more than end a word")


def _refuse_other_pieces(path: Path, pieces: list[_Piece]) -> None:
    names = {_USER_DEFINED: "user defined", _UNUSED: "unused"}
    for id, (text, score, kind) in enumerate(pieces):
        piece = f"{path}: piece {id}, {shown(text)},"
        if kind in names:
            raise BPEError(f"{piece} is {names[kind]}, which no merge can express")
        if kind not in (_NORMAL, _UNKNOWN, _CONTROL, _BYTE):
            raise BPEError(f"{piece} has the type {kind}, which is not known")
        if kind != _NORMAL:
            continue
        if not text or math.isnan(score):
            raise BPEError(f"{piece} must have a text and a score")
        if SPACE in text[1:]:
            raise BPEError(f"{piece} goes beyond the end of a word")
        if text.split() != [text]:
            raise BPEError(f"{piece} holds whitespace, which is in no token here")


# --------------------------------------------------------------------------------------------- fields


def _parsed(data: bytes) -> _Model:
    model = _Model()
    for number, value, offset in protobuf.fields(data):
        if not isinstance(value, bytes):
            raise protobuf.MessageError(f"byte {offset}: a number stands for a message")
        if number not in (_PIECES, _TRAINER, _NORMALIZER):
            continue
        parts = list(protobuf.fields(value, offset))
        numbers = {part.number: part.value for part in parts if isinstance(part.value, int)}
        texts = {part.number: part.value for part in parts if isinstance(part.value, bytes)}
        if number == _PIECES:
            scores = {part.number: part.value for part in parts if isinstance(part.value, float)}
            text = _decoded(texts.get(_TEXT, b""), offset)
            model.pieces.append(_Piece(text, scores.get(_SCORE, 0.0), numbers.get(_TYPE, _NORMAL)))
        elif number == _TRAINER:
            model.trainer = numbers
        else:
            model.normalizer = numbers
            model.normalizer_name = _decoded(texts.get(_NAME, b""), offset)
            model.normalizes = bool(texts.get(_CHARSMAP))
    if not model.pieces:
        raise protobuf.MessageError("it has no pieces")
    return model


def _decoded(text: bytes, offset: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise protobuf.MessageError(f"byte {offset}: {shown(text)} is not valid UTF-8") from None
