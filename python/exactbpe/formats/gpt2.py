"""``merges.txt`` and, beside it, ``vocab.json``: the two files of GPT-2, with characters for symbols."""

from __future__ import annotations

from pathlib import Path

from exactbpe import _core
from exactbpe.formats.agreement import note_order, rules_with_ids
from exactbpe.formats.given import Given
from exactbpe.formats.json_text import compare, parsed, vocabulary, vocabulary_lines
from exactbpe.formats.losses import Losses
from exactbpe.formats.rule_lines import read_rules, spell_rules
from exactbpe.formats.source import built
from exactbpe.formats.source import read as read_bytes
from exactbpe.formats.spelling import check_fields, check_tokens, utf8
from exactbpe.reference import BPEError
from exactbpe.tokenizer import BYTE_TOKENS, Tokenizer

# The characters that stand for the 256 bytes in GPT-2's own files: the printable ones for themselves, and
# U+0100 and up for the others.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_CHARACTERS = {*map(chr, _PRINTABLE), *map(chr, range(0x100, 0x100 + 256 - len(_PRINTABLE)))}


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The files of a tokenizer."""
    beside = _vocabulary_path(path)
    note_order(tokenizer, losses)
    merges = rules_with_ids(tokenizer)
    check_fields(path, merges)
    losses.add_prefix(tokenizer.word_prefix, "the files")
    tokens = list(tokenizer.vocab)
    check_tokens(beside, tokens)
    if BYTE_CHARACTERS.issubset(tokenizer.alphabet):
        message = "its alphabet holds all characters that stand for bytes in GPT-2's own files: they would be"
        raise BPEError(f"{beside}: {message} taken for bytes")
    text = spell_rules(merges)
    spelled = vocabulary_lines(tokenizer.vocab) + "\n"
    return {path: utf8(path, text, tokens), beside: utf8(beside, spelled, tokens)}


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file and the one beside it."""
    beside = _vocabulary_path(path)
    vocab = read_bytes(beside)
    return _read_trained(data, vocab, given) or _read_any(path, data, beside, vocab, losses, given)


def _read_trained(merges: bytes, vocab: bytes, given: Given) -> Tokenizer | None:
    """A quick way for files of trained merges; ``None`` leaves them to `_read_any`."""
    if given.alphabet is not None or given.word_prefix is not None:
        return None
    found = _core.Model.of_merges(merges, vocab)
    if found is None:
        return None
    others = found.others
    unknown = given.unknown
    if unknown is None:
        unknown = "bytes" if others == BYTE_TOKENS else "error"
    try:
        tokenizer = Tokenizer._of(found, unknown, "")
    except (TypeError, BPEError):
        return None
    is_whole = tokenizer._unknown_tokens == others and not BYTE_CHARACTERS.issubset(tokenizer.alphabet)
    return tokenizer if is_whole else None


def _read_any(
    path: Path, data: bytes, beside: Path, vocab_data: bytes, losses: Losses, given: Given
) -> Tokenizer:
    merges = read_rules(path, data).rules
    vocab = vocabulary(beside, parsed(beside, vocab_data))
    unknown = "bytes" if vocab.keys() >= set(BYTE_TOKENS) else "error"
    alphabet = {token for token in vocab if len(token) == 1 and token != given.unknown}
    if alphabet >= BYTE_CHARACTERS:
        raise BPEError(
            f"{beside}: symbols stand for bytes, as in GPT-2's own files; here they are characters"
        )
    tokenizer = built(path, merges, alphabet, given, unknown)
    compare(vocab, tokenizer, losses)
    note_order(tokenizer, losses)
    return tokenizer


def _vocabulary_path(path: Path) -> Path:
    if not path.name.endswith("merges.txt"):
        raise BPEError(f"{path}: the format gpt2 needs the name merges.txt, and vocab.json beside it")
    return path.with_name(path.name.removesuffix("merges.txt") + "vocab.json")
