"""Train with one engine: from a text file on disk to the merges in memory.

What a peer must do to show its merges to Python (write JSON, list its ranks) is outside its time; exactbpe's
list of merges is inside. Peers are imported by name, as no type checker of the project knows them.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.clock import digest, job, report, timed

Work = Callable[[], Any]
Show = Callable[[Any], dict[str, Any]]


def exactbpe(path: str, size: int, threads: int) -> tuple[Work, Show]:
    """Count, then learn."""
    import exactbpe as ours

    def work() -> Any:
        counts = ours.WordCounts()
        counts.add_file(path, threads=threads)
        learned = ours.learn(counts, size, threads=threads)
        return learned, learned.merges

    def show(result: Any) -> dict[str, Any]:
        learned, merges = result
        return {
            "merges": [list(pair) for pair in merges],
            "frequencies": list(learned.frequencies),
            "alphabet": sorted(learned.alphabet),
        }

    return work, show


def gigabpe(path: str, size: int, threads: int, pretokenizer: str = "whitespace") -> tuple[Work, Show]:
    """Characters, and the words of `str.split` but for U+001C to U+001F."""
    train: Any = importlib.import_module("gigabpe").train_bpe
    return (
        lambda: train([path], size, special_tokens=[], pretokenizer=pretokenizer, threads=threads),
        lambda result: {"merges": [list(pair) for pair in result[1]]},
    )


def gigabpe_bytes(path: str, size: int, threads: int) -> tuple[Work, Show]:
    """GPT-2's words and bytes; only to make a vocabulary for the byte-level encoders."""
    return gigabpe(path, size, threads, "bytelevel")


def tokenizers(path: str, size: int, threads: int) -> tuple[Work, Show]:
    """Characters and the words of WhitespaceSplit; threads as the environment says."""
    library: Any = importlib.import_module("tokenizers")

    def work() -> Any:
        tokenizer = library.Tokenizer(library.models.BPE())
        tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
        trainer = library.trainers.BpeTrainer(vocab_size=size, special_tokens=[], show_progress=False)
        tokenizer.train([path], trainer)
        return tokenizer

    return work, lambda tokenizer: {"merges": json.loads(tokenizer.to_str())["model"]["merges"]}


def sentencepiece(path: str, size: int, threads: int) -> tuple[Work, Show]:
    """Characters kept as they are, pieces as long as it allows (512), no rules about scripts or digits."""
    library: Any = importlib.import_module("sentencepiece")

    def work() -> bytes:
        model = io.BytesIO()
        library.SentencePieceTrainer.train(
            input=path,
            model_writer=model,
            model_type="bpe",
            vocab_size=size + 1,  # one is <unk>, which it insists on
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            split_by_unicode_script=False,
            split_by_number=False,
            max_sentence_length=2**30,
            max_sentencepiece_length=512,
            num_threads=threads,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            unk_id=0,
            minloglevel=2,
        )
        return model.getvalue()

    def show(model: bytes) -> dict[str, Any]:
        processor = library.SentencePieceProcessor(model_proto=model)
        return {"pieces": [processor.id_to_piece(index) for index in range(processor.get_piece_size())]}

    return work, show


def rustbpe(path: str, size: int, threads: int) -> tuple[Work, Show]:
    """Bytes instead of characters, on the words that its regular expression is told to take."""
    library: Any = importlib.import_module("rustbpe")

    def work() -> Any:
        tokenizer = library.Tokenizer()
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            tokenizer.train_from_iterator(file, size, pattern=r"\S+")
        return tokenizer

    return work, lambda tokenizer: {"ranks": [token.hex() for token, _ in tokenizer.get_mergeable_ranks()]}


ENGINES: dict[str, Callable[[str, int, int], tuple[Work, Show]]] = {
    "exactbpe": exactbpe,
    "gigabpe": gigabpe,
    "gigabpe (bytes)": gigabpe_bytes,
    "tokenizers": tokenizers,
    "sentencepiece": sentencepiece,
    "rustbpe (bytes)": rustbpe,
}


def main() -> None:
    """Measure what the harness asked for."""
    task = job()
    work, show = ENGINES[task["engine"]](task["text"], task["size"], task["threads"])
    result, seconds, peak = timed(work, task["limit"])
    shown = show(result)
    if task["first"]:
        Path(task["save"]).write_text(json.dumps(shown), encoding="utf-8")
    learned = next(shown[key] for key in ("merges", "pieces", "ranks") if key in shown)
    report(seconds, peak, digest(shown), learned=len(learned))


if __name__ == "__main__":
    main()
