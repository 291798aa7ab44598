"""Merges alone, as a JSON list: what ``exactbpe train`` writes."""

from __future__ import annotations

from pathlib import Path

from exactbpe import merges_file
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from exactbpe.formats.source import built, decoded
from exactbpe.formats.spelling import check_tokens, utf8
from exactbpe.tokenizer import Tokenizer


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The file of a tokenizer."""
    losses.add_prefix(tokenizer.word_prefix)
    merges = tokenizer.merges
    tokens = [part for rule in merges for part in rule]
    check_tokens(path, tokens)
    return {path: utf8(path, merges_file.spell(merges), tokens)}


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file."""
    return built(path, merges_file.parse(decoded(path, data), path), None, given)
