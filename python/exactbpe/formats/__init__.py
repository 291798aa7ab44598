"""Files of tokenizers: the package's own, which is `tokenizer.json`, and those of other programs.

What a file cannot say is refused, or named in a `LossyWarning` with ``lossy=True``; docs/formats.md has the
table of what each format holds. A file appears whole or not at all, and reading one runs no code from it.

>>> import tempfile, exactbpe
>>> path = tempfile.mkdtemp() + "/tokenizer.json"
>>> tokenizer = exactbpe.Tokenizer([["l", "o"], ["lo", "w"]], unknown="<unk>")
>>> save(tokenizer, path)
>>> load(path) == tokenizer
True
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from exactbpe.files import PathLike, replacing
from exactbpe.formats import (
    fastbpe,
    gpt2,
    merges_list,
    sentencepiece_model,
    subword_nmt,
    tiktoken_ranks,
    tokenizer_json,
)
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses, LossyWarning
from exactbpe.formats.source import no_collection
from exactbpe.formats.source import read as read_bytes
from exactbpe.formats.subword_nmt import SubwordNMT
from exactbpe.formats.whitespace import WHITESPACE, WORD
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

__all__ = [
    "FORMATS",
    "WHITESPACE",
    "WORD",
    "Format",
    "LossyWarning",
    "SubwordNMT",
    "convert",
    "load",
    "save",
    "spelled",
]


class Format(NamedTuple):
    """One kind of file: how to read it, and how to spell it unless it can only be read."""

    files: str
    """What a user calls it."""
    read: Callable[[Path, bytes, Losses, Given], Tokenizer]
    spell: Callable[[Tokenizer, Path, Losses], dict[Path, bytes]] | None


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "tokenizer.json": Format(
            "tokenizer.json of Hugging Face tokenizers", tokenizer_json.read, tokenizer_json.spell
        ),
        "merges": Format("JSON list of the merges alone", merges_list.read, merges_list.spell),
        "gpt2": Format("merges.txt with vocab.json beside it", gpt2.read, gpt2.spell),
        "subword-nmt": Format("codes of subword-nmt", subword_nmt.read, subword_nmt.spell),
        "fastbpe": Format("codes of fastBPE", fastbpe.read, fastbpe.spell),
        "sentencepiece": Format("BPE .model of sentencepiece (read only)", sentencepiece_model.read, None),
        "tiktoken": Format("rank file of tiktoken", tiktoken_ranks.read, tiktoken_ranks.spell),
    }
)


def save(tokenizer: Tokenizer, path: PathLike, format: str | None = None, *, lossy: bool = False) -> None:
    """Write a tokenizer to a file; the same tokenizer always gives the same bytes.

    Args:
        tokenizer: what to write.
        path: where to; ``vocab.json`` of the format ``"gpt2"`` is put beside it.
        format: a name in `FORMATS`; guessed from the file's name if not given.
        lossy: write what the format can hold, with a `LossyWarning` for each difference.

    Raises:
        OSError: the file cannot be written.
        BPEError: the format cannot hold the tokenizer; the message names the rule or token at fault.
    """
    with contextlib.ExitStack() as stack:
        for file, data in spelled(tokenizer, path, format, lossy=lossy).items():
            stack.enter_context(replacing(file)).write_bytes(data)


def spelled(
    tokenizer: Tokenizer, path: PathLike, format: str | None = None, *, lossy: bool = False
) -> dict[Path, bytes]:
    """The files that `save` would write, whose arguments these are, and their bytes."""
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer must be an exactbpe.Tokenizer, not {type(tokenizer).__name__}")
    path = Path(path)
    name = format or _format_of_name(path)
    if name is None:
        raise BPEError(f"{path}: the name does not tell the format: {_choices(writable=True)}")
    spell = _format(name).spell
    if spell is None:
        raise BPEError(f"the format {name} can only be read: {_choices(writable=True)}")
    losses = Losses(path, lossy)
    files = spell(tokenizer, path, losses)
    _warn(losses)
    return files


def load(
    path: PathLike,
    format: str | None = None,
    *,
    lossy: bool = False,
    alphabet: Iterable[str] | None = None,
    unknown: str | None = None,
    word_prefix: str | None = None,
) -> Tokenizer:
    """Read a tokenizer from a file, if there is one that gives the same tokens and ids as the file's program.

    Args:
        path: the file; for the format ``"gpt2"`` it is ``merges.txt``, with ``vocab.json`` beside it.
        format: a name in `FORMATS`; guessed from the file if not given.
        lossy: read what can be read, with a `LossyWarning` for each difference.
        alphabet: as for `exactbpe.Tokenizer`, in place of what the file says, as the other two.
        unknown: what becomes of a character without an id.
        word_prefix: put before every word.

    Raises:
        OSError: the file cannot be read.
        BPEError: it is broken, or no tokenizer can do the same; the message says where and why.
    """
    path = Path(path)
    data = read_bytes(path)
    name = format or _format_of(path, data)
    if name is None:
        raise BPEError(f"{path}: neither name nor content tells the format: {_choices()}")
    losses = Losses(path, lossy)
    with no_collection():
        tokenizer = _format(name).read(path, data, losses, Given(alphabet, unknown, word_prefix))
    _warn(losses)
    return tokenizer


def convert(
    source: PathLike,
    target: PathLike,
    *,
    to: str | None = None,
    source_format: str | None = None,
    lossy: bool = False,
    alphabet: Iterable[str] | None = None,
    unknown: str | None = None,
    word_prefix: str | None = None,
) -> None:
    """Read ``source`` and write ``target``: `load` and `save`, whose arguments these are."""
    tokenizer = load(
        source, source_format, lossy=lossy, alphabet=alphabet, unknown=unknown, word_prefix=word_prefix
    )
    save(tokenizer, target, to, lossy=lossy)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise BPEError(f"there is no format {name!r}: {_choices()}")
    return FORMATS[name]


def _choices(writable: bool = False) -> str:
    names = [name for name, format in FORMATS.items() if format.spell or not writable]
    return "format must be one of " + ", ".join(names)


def _format_of_name(path: Path) -> str | None:
    if path.name.endswith("merges.txt"):
        return "gpt2"
    return {".json": "tokenizer.json", ".tiktoken": "tiktoken"}.get(path.suffix)


def _format_of(path: Path, data: bytes) -> str | None:
    """The format that name and first bytes of a file tell."""
    name = _format_of_name(path)
    if name == "tokenizer.json" and not _JSON_OBJECT.match(data):
        return "merges"
    return name or _format_of_content(data)


_JSON_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def _format_of_content(data: bytes) -> str | None:
    """The only format that a file can have by its first bytes, if there is one."""
    start = data[:4096]
    if _JSON_OBJECT.match(start):
        return "tokenizer.json"
    if re.match(rb"(?:\xef\xbb\xbf)?\[\s*[\[\]]", start):
        return "merges"
    if re.match(rb"\n[\x02-\x7f]\n", start):  # a piece, and in it a string
        return "sentencepiece"
    if fastbpe.FIRST_LINE.match(start):
        return "fastbpe"
    if re.match(rb"#version: 0\.\d\n[^\n]*\n[^ \n]+ [^ \n]+</w>\n", start):
        return "subword-nmt"
    return None


def _warn(losses: Losses) -> None:
    for difference in losses.differences:
        warnings.warn(difference, LossyWarning, stacklevel=3)
