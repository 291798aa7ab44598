"""``tokenizer.json`` of Hugging Face `tokenizers`: the package's own file.

Everything is said in that program's own fields, so it does with the file what this package does, and the
file reads back to an equal tokenizer. Tokenizers of others are read where they are ones this package has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exactbpe import _core
from exactbpe.formats.agreement import note_order, rules_with_ids
from exactbpe.formats.given import Given
from exactbpe.formats.json_text import compare, parsed, quoted, vocabulary, vocabulary_lines
from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown
from exactbpe.formats.source import built, check_length
from exactbpe.formats.spelling import check_tokens, utf8
from exactbpe.formats.whitespace import WHITESPACE
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Tokenizer

# Theirs drops unknown characters if it has no token for them, and stops if the token for them has no id.
NO_ID = "<a character without an id>"

Section = dict[str, Any]


# -------------------------------------------------------------------------------------------- writing


def spell(tokenizer: Tokenizer, path: Path, losses: Losses) -> dict[Path, bytes]:
    """The files of a tokenizer."""
    note_order(tokenizer, losses)
    merges = rules_with_ids(tokenizer)
    tokens = [*tokenizer.vocab, tokenizer.word_prefix]
    check_tokens(path, tokens)
    top = [f'  "{name}": {quoted(value)}' for name, value in _sections(tokenizer).items()]
    model = [f'    "{name}": {quoted(value)}' for name, value in _model(tokenizer).items()]
    rules = ",\n".join(f"      [{quoted(left)}, {quoted(right)}]" for left, right in merges)
    model.append(f'    "vocab": {vocabulary_lines(tokenizer.vocab, "    ")}')
    model.append(f'    "merges": [\n{rules}\n    ]' if rules else '    "merges": []')
    top.append('  "model": {\n' + ",\n".join(model) + "\n  }")
    return {path: utf8(path, "{\n" + ",\n".join(top) + "\n}\n", tokens)}


def _sections(tokenizer: Tokenizer) -> Section:
    """Everything but the model."""
    prefix = tokenizer.word_prefix
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _prefixing(prefix) if prefix else None,
        "pre_tokenizer": _split({"String": " "} if prefix else {"Regex": WHITESPACE + "+"}),
        "post_processor": None,
        "decoder": _decoder(tokenizer),
    }


def _split(pattern: Section) -> Section:
    return {"type": "Split", "pattern": pattern, "behavior": "Removed", "invert": False}


def _prefixing(prefix: str) -> Section:
    """One space between words, none around them, and the prefix before each.

    Metaspace would do for words that do not begin with the prefix themselves.
    """
    space = WHITESPACE
    around = rf"(?<![\s\S]){space}+|(?<!{space}){space}+(?![\s\S])"  # \A and \z are not JavaScript
    steps = [
        {"type": "Replace", "pattern": {"Regex": around}, "content": ""},
        {"type": "Prepend", "prepend": prefix},
        {"type": "Replace", "pattern": {"Regex": space + "+"}, "content": " " + prefix},
    ]
    return {"type": "Sequence", "normalizers": steps}


def _decoder(tokenizer: Tokenizer) -> Section:
    """Join the tokens; without a decoder theirs puts spaces between."""
    steps: list[Section] = [{"type": "Fuse"}]
    if tokenizer.unknown == "bytes":
        steps.insert(0, {"type": "ByteFallback"})
    if tokenizer.word_prefix:
        steps.append({"type": "Replace", "pattern": {"String": tokenizer.word_prefix}, "content": " "})
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _model(tokenizer: Tokenizer) -> Section:
    """The model without vocabulary and merges."""
    unknown: str | None = tokenizer.unknown
    if unknown == "bytes":
        unknown = None
    elif unknown == "error":
        unknown = NO_ID
        while unknown in tokenizer.vocab:
            unknown += ">"
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": tokenizer.unknown == "bytes",
        "ignore_merges": False,
    }


# -------------------------------------------------------------------------------------------- reading


def read(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    """The tokenizer in a file."""
    tokenizer = _read_trained(path, data, losses, given)
    return _read_any(path, data, losses, given) if tokenizer is None else tokenizer


def _read_trained(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer | None:
    """A quick way for files of trained merges; ``None`` leaves one to `_read_any`."""
    found = _core.Model.of_document(data) if given.is_nothing else None
    if found is None:
        return None
    try:
        document = parsed(path, found.rest)
        model = document["model"]
        _refuse_other_models(path, document, model)
        others = found.others
        unknown = _unknown(model, dict.fromkeys(others, 0))
        tokenizer = Tokenizer._of(found, unknown, _prefix(document.get("normalizer")))
    except BPEError:
        return None
    token = model.get("unk_token")
    is_made = isinstance(token, str) and tokenizer._core.token_to_id(token) is not None
    if tokenizer._unknown_tokens != others or is_made:
        return None
    _note_differences(document, model, tokenizer, losses, given)
    return tokenizer


def _read_any(path: Path, data: bytes, losses: Losses, given: Given) -> Tokenizer:
    document = parsed(path, data)
    model = document.get("model")
    if not isinstance(model, dict):
        raise BPEError(f'{path}: there is no "model", so it is not a tokenizer.json')
    _refuse_other_models(path, document, model)
    vocab = vocabulary(path, model.get("vocab"))
    unknown = _unknown(model, vocab)
    if not model.get("byte_fallback") and unknown in ("error", "bytes") and unknown in vocab:
        raise BPEError(f"{path}: unk_token is {unknown!r}, which as unknown= means something else here")
    alphabet = [token for token in vocab if len(token) == 1 and token != unknown]
    merges = _merges(path, model.get("merges"))
    check_length(
        path, (part for rule in merges if isinstance(rule, list) for part in rule if isinstance(part, str))
    )
    tokenizer = built(path, merges, alphabet, given, unknown, _prefix(document.get("normalizer")))
    _note_differences(document, model, tokenizer, losses, given)
    compare(vocab, tokenizer, losses)
    note_order(tokenizer, losses)
    return tokenizer


def _refuse_other_models(path: Path, document: Section, model: Section) -> None:
    if model.get("type") != "BPE":
        raise BPEError(f"{path}: the model is {shown(model.get('type'))}, but only BPE can be read")
    for section in ("pre_tokenizer", "decoder"):
        if _has_type(document.get(section), "ByteLevel"):
            message = f"{section} is ByteLevel: its symbols stand for bytes, but here they are characters"
            raise BPEError(f"{path}: {message}")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise BPEError(
                f"{path}: {name} is {shown(model[name])}: here a character is one symbol, wherever it stands"
            )


def _has_type(section: object, name: str) -> bool:
    """Whether a section, or a member of a sequence of them, has this type."""
    if not isinstance(section, dict):
        return False
    members = [section]
    for key in ("pretokenizers", "decoders", "normalizers"):
        if isinstance(section.get(key), list):
            members += section[key]
    return any(isinstance(member, dict) and member.get("type") == name for member in members)


def _unknown(model: Section, vocab: Mapping[str, int]) -> str:
    if model.get("byte_fallback"):
        return "bytes"
    token = model.get("unk_token")
    return token if isinstance(token, str) and token in vocab else "error"


def _prefix(normalizer: object) -> str:
    steps = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict) and step.get("type") == "Prepend" and isinstance(step.get("prepend"), str):
            return str(step["prepend"])
    return ""


def _merges(path: Path, value: object) -> list[list[str]]:
    """Pairs; older files have strings with a space between the parts."""
    if not isinstance(value, list):
        raise BPEError(f"{path}: the merges must be a list")
    if value and isinstance(value[0], str):
        return [rule.split(" ") if isinstance(rule, str) else rule for rule in value]
    return value


WHY = {
    "truncation": "cuts texts off",
    "padding": "adds tokens",
    "added_tokens": "are found inside texts, whatever the merges",
    "normalizer": "changes texts first",
    "pre_tokenizer": "splits texts otherwise than at the 29 whitespace characters of this package",
    "post_processor": "adds tokens or moves offsets",
    "decoder": "joins tokens otherwise",
}


def _note_differences(
    document: Section, model: Section, tokenizer: Tokenizer, losses: Losses, given: Given
) -> None:
    """What this package would have written is what it can do; all else is a difference."""
    ours = _sections(tokenizer)
    for name, why in WHY.items():
        theirs = document.get(name) or None
        if theirs == (ours[name] or None):
            continue
        if name == "pre_tokenizer" and theirs == {"type": "WhitespaceSplit"}:
            losses.add("pre_tokenizer WhitespaceSplit does not split at U+001C to U+001F, this package does")
        else:
            losses.add(f"{name} {why}: {quoted(theirs)[:200]}")
    if model.get("dropout"):
        losses.add("dropout leaves out merges at random")
    if model.get("ignore_merges"):
        losses.add("ignore_merges gives a word of the vocabulary whole, whatever the merges")
    if tokenizer.unknown not in ("error", "bytes") and model.get("fuse_unk"):
        losses.add("fuse_unk gives one token for a run of unknown characters; here each has one")
    if tokenizer.unknown == "error" and model.get("unk_token") is None and given.unknown is None:
        losses.add('unknown characters are dropped there, but refused here; unknown="error" accepts this')
