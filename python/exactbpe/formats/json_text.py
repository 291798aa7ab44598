"""JSON in, with bounds; a vocabulary in and out, one entry a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown
from exactbpe.formats.source import check_length, decoded
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

quoted = json.JSONEncoder(ensure_ascii=False).encode


def parsed(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object in a file."""
    text = decoded(path, data)
    try:
        document = json.loads(text, parse_constant=_refused_constant)
    except RecursionError:
        raise BPEError(f"{path} is nested too deeply") from None
    except JSONDecodeError as error:
        place = f"line {error.lineno} (byte {len(text[: error.pos].encode())})"
        raise BPEError(f"{path} is not JSON: {error.msg} at {place}") from None
    except ValueError as error:  # thousands of digits; NaN
        raise BPEError(f"{path}: {error}") from None
    if not isinstance(document, dict):
        raise BPEError(f"{path} must hold a JSON object, not a {type(document).__name__}")
    return document


def vocabulary(path: Path, value: object) -> dict[str, int]:
    """``value`` as a vocabulary: the id of every token."""
    if not isinstance(value, dict):
        raise BPEError(f"{path}: the vocabulary must be an object of tokens and ids")
    if not set(map(type, value.values())) <= {int}:
        token, id = next(item for item in value.items() if type(item[1]) is not int)
        raise BPEError(f"{path}: the id of {shown(token)} must be a whole number, not {shown(id)}")
    if value and not 0 <= min(value.values()) <= max(value.values()) < 1 << 32:
        token = next(token for token, id in value.items() if not 0 <= id < 1 << 32)
        raise BPEError(f"{path}: the id of {shown(token)} must be from 0 to 2**32 - 1")
    check_length(path, value)
    try:
        "".join(value).encode()
    except UnicodeEncodeError as error:
        raise BPEError(f"{path}: a token holds {error.object[error.start]!a}, half of a character") from None
    return value


def vocabulary_lines(tokens: Mapping[str, int], indent: str = "") -> str:
    """A JSON object of tokens and ids."""
    entries = ",\n".join(f"{indent}  {quoted(token)}: {id}" for token, id in tokens.items())
    return f"{{\n{entries}\n{indent}}}" if entries else "{}"


def compare(theirs: Mapping[str, int], tokenizer: Tokenizer, losses: Losses) -> None:
    """Note where the ids of a file are not ours."""
    tokens = tokenizer._tokens
    if list(theirs) == tokens and list(theirs.values()) == list(range(len(tokens))):
        return  # as our own files are; the rest takes a table of ours
    ours = tokenizer.vocab
    extra = next((token for token in theirs if token not in ours), None)
    if extra is not None:
        losses.add(
            f"{shown(extra)} has the id {theirs[extra]} there, but none here: it is no character, no rule "
            f"makes it, and unknown={shown(tokenizer.unknown)} does not name it"
        )
    missing = next((token for token in ours if token not in theirs), None)
    if missing is not None:
        losses.add(f"{shown(missing)} has no id there, but {ours[missing]} here")
    moved = next((token for token in theirs if ours.get(token, theirs[token]) != theirs[token]), None)
    if moved is not None:
        losses.add(
            f"{shown(moved)} has the id {theirs[moved]} there, but {ours[moved]} here, where the alphabet in "
            "code point order comes first, then the merged symbols in order"
        )


def _refused_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
