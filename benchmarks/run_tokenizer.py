"""Measure what only a `Tokenizer` does: being built, and encoding a file that is larger than its memory."""

from __future__ import annotations

import json
from pathlib import Path

import exactbpe

from benchmarks.clock import digest, job, report, timed


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
        size = out.stat().st_size
        out.unlink()
        report(seconds, peak, digest([size]), size=size)


if __name__ == "__main__":
    main()
