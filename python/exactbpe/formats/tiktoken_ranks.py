"""Rank files of tiktoken: a token's bytes in base64, a space, its rank, which is its id."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from pathlib import Path

from exactbpe.formats.agreement import note_order
from exactbpe.formats.given import Given
from exactbpe.formats.joined import recovered_pairs
from exactbpe.formats.json_text import compare
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown, shown_rule
from exactbpe.formats.source import built, fields, lines, place
from exactbpe.formats.spelling import check_tokens
from exactbpe.reference import BPEError
from exactbpe.tokenizer import BYTE_TOKENS, Tokenizer


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The file of a tokenizer, for ``pat_str=exactbpe.formats.WORD`` and no special tokens.

    A character of two bytes is a token that joins them. One of three would need a token for the first two,
    and that an id before all others.
    """
    note_order(tokenizer, losses)
    if tokenizer.unknown != "error":
        losses.add(f"the file cannot hold unknown={tokenizer.unknown!a}: give it again when loading")
    losses.add_prefix(tokenizer.word_prefix)
    check_tokens(path, list(tokenizer.vocab))
    _note_unreachable(tokenizer, losses)
    for character in tokenizer.alphabet:
        if character > "\u07ff":
            code = f"U+{ord(character):04X}"
            raise BPEError(f"{path}: {character!a} ({code}) has over two bytes, so its parts would need ids")
    symbols = tokenizer._core.vocabulary()
    ranks = {token.encode(): id for id, token in enumerate(symbols)}
    for byte in sorted(set("".join(tokenizer.alphabet).encode())):
        if byte >= 0x80:
            ranks[bytes([byte])] = len(symbols) + byte
    text = "".join(f"{b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    return {path: text.encode()}


def _note_unreachable(tokenizer: Tokenizer, losses: Losses) -> None:
    """tiktoken joins any two neighbours that spell a token, and takes a word that is one as it is."""
    merges = tokenizer.merges
    plain = Tokenizer(merges)
    for index, (left, right) in enumerate(merges):
        symbol = left + right
        if plain.tokenize(symbol) != [symbol]:
            rule = f"merges[{index}] = {shown_rule((left, right))}"
            losses.add(
                f"{rule} does not make {shown(symbol)} of a word that is just this, but tiktoken would"
            )
            return


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file."""
    ranks = _ranks(path, data)
    single = {token for token in ranks if len(token) == 1}
    theirs = {}
    for token, rank in ranks.items():
        try:
            theirs[token.decode()] = rank
        except UnicodeDecodeError:
            if len(token) > 1:
                message = f"the token {shown(token)} is no whole number of characters, so no rule can make it"
                raise BPEError(f"{path}: {message}") from None
    in_order = sorted((token for token in ranks if len(token) > 1), key=ranks.__getitem__)
    for token in in_order:
        lacking = [byte for byte in token if bytes([byte]) not in single]
        if lacking:
            raise BPEError(f"{path}: the byte 0x{lacking[0]:02x} of the token {shown(token)} has no rank")
    pairs = recovered_pairs(path, (token.decode("latin-1") for token in in_order), _shown)
    merges = [[_text(left), _text(right)] for left, right in pairs if len(_text(left + right)) > 1]
    alphabet = [token for token in theirs if len(token) == 1]
    unknown = "error"
    if len(single) == 256:
        unknown = "bytes"
        theirs |= {BYTE_TOKENS[byte]: ranks[bytes([byte])] for byte in range(0x80, 0x100)}
    tokenizer = built(path, merges, alphabet, given, unknown)
    compare(theirs, tokenizer, losses)
    return tokenizer


def _ranks(path: Path, data: bytes) -> dict[bytes, int]:
    every = lines(path, data)
    ranks: dict[bytes, int] = {}
    taken = set()
    for index, (spelled, digits) in enumerate(fields(path, every, 2, "a token in base64 and its rank")):
        try:
            token = b64decode(spelled, validate=True)
        except (binascii.Error, ValueError):
            raise BPEError(f"{place(path, every, index)}: {shown(spelled)} is not base64") from None
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
            raise BPEError(f"{place(path, every, index)}: the rank must be digits, not {shown(digits)}")
        rank = int(digits)
        if not token or token in ranks or rank in taken:
            what = "the token is empty" if not token else "the token or its rank came before"
            raise BPEError(f"{place(path, every, index)}: {what}")
        if len(token) > 1 and token.split() != [token]:
            what = f"the token {shown(token)} holds whitespace, which is in no token here"
            raise BPEError(f"{place(path, every, index)}: {what}")
        ranks[token] = rank
        taken.add(rank)
    return ranks


def _text(latin_1: str) -> str:
    """The characters whose bytes these are; all bytes come whole, as every token of more than one does."""
    return latin_1.encode("latin-1").decode("utf-8", "replace")


def _shown(latin_1: str) -> str:
    return shown(latin_1.encode("latin-1"))
