"""Merges alone in a file: a JSON list of ``[left, right]``, one rule a line, in UTF-8."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from exactbpe.files import PathLike
from exactbpe.reference import BPEError, one_line


def spell(merges: Sequence[Sequence[str]]) -> str:
    """The content of a file with these merges."""
    return "[\n" + ",\n".join(map(one_line, merges)) + "\n]\n" if merges else "[]\n"


def parse(content: str, path: PathLike) -> list[Any]:
    """What should be merges in a file; ``path`` stands for it in messages.

    Raises:
        BPEError: the content is not a JSON list; the message names the line.
    """
    try:
        merges = json.loads(content.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BPEError(f"{path}: not JSON at {where}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # thousands of digits, thousands of brackets
        raise BPEError(f"{path}: not a list of merges: {error}") from None
    if not isinstance(merges, list):
        raise BPEError(f"{path}: merges must be a JSON list of [left, right], not a {type(merges).__name__}")
    return merges
