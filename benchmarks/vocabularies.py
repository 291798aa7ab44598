"""One vocabulary in all the forms that the engines read, made from our merges on a text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Job, once
from benchmarks.peers import python_of_peers
from benchmarks.places import cached

Json = dict[str, Any]

WORDS: Json = {"type": "WhitespaceSplit"}
# The same as a pattern, for those that know no other form (fastokens) or are faster with it (kitoken).
PATTERN: Json = {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Removed", "invert": False}
BYTES: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}

FORM = {
    "exactbpe": "ours",
    "splintr": "words",
    "tokenizers": "words",
    "fastokens": "pattern",
    "kitoken": "pattern",
    "gigatoken": "fallback",
    "snaptokens (bytes)": "bytes",
    "gigatoken (bytes)": "bytes",
}


class Vocabulary:
    """The files of one vocabulary of ``size`` entries, learned on ``text``."""

    def __init__(self, text: Path, size: int, *, with_bytes: bool = True) -> None:
        self.stem = f"vocabulary-{text.stem}-{size}"
        learned = self._learn("exactbpe", Path(sys.executable), text, size)
        self.merges: list[list[str]] = learned["merges"]
        self.alphabet: list[str] = sorted(learned["alphabet"])
        vocab = numbered(self.alphabet, self.merges)
        self.entries = len(vocab)
        fallback = {**vocab, **{f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}}
        self._write("ours", {"merges": self.merges, "alphabet": self.alphabet, "vocab": vocab})
        self._write("words", tokenizer_json(vocab, self.merges, WORDS))
        self._write("pattern", tokenizer_json(vocab, self.merges, PATTERN))
        self._write("fallback", tokenizer_json(fallback, self.merges, None, byte_fallback=True))
        if with_bytes:
            merges = self._learn("gigabpe (bytes)", python_of_peers(), text, size)["merges"]
            self._write("bytes", tokenizer_json(numbered(byte_letters(), merges), merges, BYTES))

    def file(self, engine: str) -> Path:
        """The file that ``engine`` reads."""
        return cached(f"{self.stem}.{FORM[engine]}.json")

    def _write(self, form: str, data: Json) -> None:
        cached(f"{self.stem}.{form}.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")

    def _learn(self, engine: str, python: Path, text: Path, size: int) -> Json:
        save = cached(f"{self.stem}.learned.json")
        once(
            Job(
                engine,
                1,
                python,
                "benchmarks.run_train",
                {"text": str(text), "size": size, "save": str(save)},
            )
        )
        learned: Json = json.loads(save.read_text(encoding="utf-8"))
        return learned


def numbered(alphabet: list[str], merges: list[list[str]]) -> dict[str, int]:
    """Ids: the alphabet in code point order, then the merged symbols in the order learned."""
    symbols = dict.fromkeys([*sorted(alphabet), *("".join(pair) for pair in merges)])
    return {symbol: index for index, symbol in enumerate(symbols)}


def byte_letters() -> list[str]:
    """The letter that stands for each byte in byte-level vocabularies, as GPT-2 chose them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(byte) for byte in printable] + [chr(0x100 + n) for n in range(256 - len(printable))]


def tokenizer_json(
    vocab: dict[str, int], merges: list[list[str]], words: Json | None, **model: object
) -> Json:
    """A tokenizer.json with nothing in it but words and rules."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": words,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": merges,
            **model,
        },
    }
