"""JSON in, with bounds; a vocabulary in and out, one entry a line."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterator, Mapping
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from exactbpe.formats.losses import Losses
from exactbpe.formats.source import check_length, decoded
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

quoted = json.JSONEncoder(ensure_ascii=False).encode


def parsed(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object in a file."""
    text = decoded(path, data)
    try:
        with _no_collection():
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
        raise BPEError(f"{path}: the id of {token[:60]!a} must be a whole number, not {str(id)[:60]!a}")
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
    ours = tokenizer.vocab
    if theirs == ours:
        return
    extra = next((token for token in theirs if token not in ours), None)
    if extra is not None:
        losses.add(
            f"{extra!a} has the id {theirs[extra]} there, but none here: it is no character, no rule makes "
            f"it, and unknown={tokenizer.unknown!a} does not name it"
        )
    missing = next((token for token in ours if token not in theirs), None)
    if missing is not None:
        losses.add(f"{missing!a} has no id there, but {ours[missing]} here")
    moved = next((token for token in theirs if ours.get(token, theirs[token]) != theirs[token]), None)
    if moved is not None:
        losses.add(
            f"{moved!a} has the id {theirs[moved]} there, but {ours[moved]} here, where the alphabet in code "
            "point order comes first, then the merged symbols in order"
        )


def _refused_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    # Half a million small lists, none of them garbage, make the collector run again and again: a third of
    # the time of `json.loads`.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
