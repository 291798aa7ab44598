"""Measure what only a `Tokenizer` does: being built, and encoding a file that is larger than its memory."""

from __future__ import annotations

import json
from pathlib import Path

import exactbpe

from benchmarks.clock import digest, job, report, timed


def same_start(out: Path, text: Path, tokenizer: exactbpe.Tokenizer) -> tuple[int, bool]:
    """How many ids the file holds, and whether they start with those of the first thousand lines."""
    import numpy as np  # not before the measuring: it would count as memory

    with text.open(encoding="utf-8", newline="\n") as file:
        start, _ = tokenizer.encode_batch([line for line, _ in zip(file, range(1_000), strict=False)])
    ids = np.load(out, mmap_mode="r")
    return len(ids), bool(np.array_equal(ids[: len(start)], start))


def main() -> None:
    """Measure what the harness asked for."""
    task = job()
    if task["what"] == "build":
        data = json.loads(Path(task["vocabulary"]).read_text(encoding="utf-8"))
        merges, alphabet = data["merges"][: task["merges"]], data["alphabet"]
        tokenizer, seconds, peak = timed(lambda: exactbpe.Tokenizer(merges, alphabet), task["limit"])
        report(seconds, peak, digest([tokenizer.vocab_size, tokenizer.tokenize("".join(merges[-1]))]))
    else:
        data = json.loads(Path(task["vocabulary"]).read_text(encoding="utf-8"))
        tokenizer = exactbpe.Tokenizer(data["merges"], data["alphabet"])
        del data
        out = Path(task["out"])
        _, seconds, peak = timed(lambda: tokenizer.encode_file(task["text"], str(out)), task["limit"])
        tokens, equal = same_start(out, Path(task["text"]), tokenizer)
        out.unlink()
        report(seconds, peak, digest([tokens, equal]), equal=equal)


if __name__ == "__main__":
    main()
