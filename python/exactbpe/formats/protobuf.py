"""As much of the protocol buffers' wire format as a sentencepiece model needs, with every length checked.

The format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class MessageError(ValueError):
    """Bytes that are no message; the text says why and where."""


class Field(NamedTuple):
    """A field of a message."""

    number: int
    value: int | float | bytes
    """A 32-bit value is taken for a ``float``, a 64-bit one for an ``int``."""
    offset: int
    """Where the value starts in the file."""


def fields(message: bytes, offset: int = 0) -> Iterator[Field]:
    """The fields of a message that starts at ``offset`` of its file."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at, offset)
        number, kind = key >> 3, key & 7
        start = at
        value: int | float | bytes
        if kind == _VARINT:
            value, at = _varint(message, at, offset)
        elif kind == _BYTES:
            length, start = _varint(message, at, offset)
            value, at = _slice(message, start, length, offset)
        elif kind == _FIXED32:
            four, at = _slice(message, at, 4, offset)
            (value,) = struct.unpack("<f", four)
        elif kind == _FIXED64:
            eight, at = _slice(message, at, 8, offset)
            value = int.from_bytes(eight, "little")
        else:
            raise MessageError(f"byte {offset + at}: there is no wire type {kind}")
        yield Field(number, value, offset + start)


def _slice(message: bytes, at: int, length: int, offset: int) -> tuple[bytes, int]:
    left = len(message) - at
    if length > left:
        raise MessageError(f"byte {offset + at}: {length} bytes should follow, but {left} do")
    return message[at : at + length], at + length


def _varint(message: bytes, at: int, offset: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise MessageError(f"byte {offset + at}: a number does not end")
