"""``merges.txt`` and, beside it, ``vocab.json``: the two files of GPT-2, with characters for symbols."""

from __future__ import annotations

import re
from pathlib import Path

from exactbpe.formats.agreement import rules_in_order
from exactbpe.formats.given import Given
from exactbpe.formats.json_text import compare, parsed, vocabulary, vocabulary_lines
from exactbpe.formats.losses import Losses
from exactbpe.formats.source import built, fields, lines
from exactbpe.formats.source import read as read_bytes
from exactbpe.formats.spelling import check_fields, check_tokens, utf8
from exactbpe.reference import BPEError
from exactbpe.tokenizer import BYTE_TOKENS, Tokenizer

HEADER = "#version: 0.2"
HEADERS = re.compile(r"#version: \d+\.\d+(?: - .*)?")

# The characters that stand for the 256 bytes in GPT-2's own files: the printable ones for themselves, and
# U+0100 and up for the others.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_CHARACTERS = {*map(chr, _PRINTABLE), *map(chr, range(0x100, 0x100 + 256 - len(_PRINTABLE)))}


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The files of a tokenizer."""
    beside = _vocabulary_path(path)
    merges = rules_in_order(tokenizer, losses)
    check_fields(path, merges)
    if tokenizer.word_prefix:
        losses.add(f"the files cannot hold word_prefix={tokenizer.word_prefix!a}: give it again when loading")
    tokens = list(tokenizer.vocab)
    check_tokens(beside, tokens)
    text = "".join(f"{line}\n" for line in [HEADER, *map(" ".join, merges)])
    spelled = vocabulary_lines(tokenizer.vocab) + "\n"
    return {path: utf8(path, text, tokens), beside: utf8(beside, spelled, tokens)}


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file and the one beside it."""
    beside = _vocabulary_path(path)
    merges = rules(path, data)
    vocab = vocabulary(beside, parsed(beside, read_bytes(beside)))
    unknown = "bytes" if vocab.keys() >= set(BYTE_TOKENS) else "error"
    alphabet = {token for token in vocab if len(token) == 1 and token != given.unknown}
    if alphabet >= BYTE_CHARACTERS:
        raise BPEError(f"{beside}: its symbols stand for bytes, as in GPT-2's own files; here they are characters")
    tokenizer = built(path, merges, alphabet, given, unknown, "")
    compare(vocab, tokenizer, losses)
    rules_in_order(tokenizer, losses)
    return tokenizer


def rules(path: Path, data: bytes) -> list[list[str]]:
    """The rules in ``merges.txt``. A header counts on line 1 only: ``#version`` is a token like any other."""
    every = lines(path, data)
    if every and HEADERS.fullmatch(every[0].removesuffix("\r")):
        refuse_carriage_return(path, every[0])
        # The header stays in the list as a rule, so that lines keep their numbers.
        return fields(path, ["left right", *every[1:]], 2, "a rule: left and right part")[1:]
    return fields(path, every, 2, "a rule: left and right part")


def refuse_carriage_return(path: Path, header: str) -> None:
    """A header that ends in U+000D tells that every rule would."""
    if header.endswith("\r"):
        raise BPEError(f"{path}: the lines end in CR LF, but CR would belong to the tokens: convert it to LF")


def _vocabulary_path(path: Path) -> Path:
    if not path.name.endswith("merges.txt"):
        raise BPEError(f"{path}: a file of the format gpt2 must be named merges.txt, with vocab.json beside it")
    return path.with_name(path.name.removesuffix("merges.txt") + "vocab.json")
