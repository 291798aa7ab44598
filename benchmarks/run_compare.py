"""Hold a peer's ids against ours, or ours against the specification's program."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from exactbpe import reference

from benchmarks.clock import job, report
from benchmarks.corpora import lines
from benchmarks.run_encode import Rows, from_tokens


def load(path: str) -> Rows:
    """What `run_encode` saved."""
    with np.load(path) as saved:
        return saved["ids"], saved["offsets"]


def differing(ours: Rows, theirs: Rows) -> int:
    """How many rows differ; rows that only one of the two has differ as well."""
    rows = [[part.tobytes() for part in np.split(ids, offsets[1:-1])] for ids, offsets in (ours, theirs)]
    unequal = sum(int(mine != other) for mine, other in zip(*rows, strict=False))
    return unequal + abs(len(rows[0]) - len(rows[1]))


def reference_rows(text: Path, vocabulary: str, characters: int) -> list[list[str]]:
    """The specified tokens of the first lines of ``text``, at most ``characters`` of them in all."""
    data = json.loads(Path(vocabulary).read_text(encoding="utf-8"))
    chosen: list[str] = []
    for line in lines(text):
        characters -= len(line)
        if characters < 0:
            break
        chosen.append(line)
    # Lines are encoded together, as the reference reads all rules at each call, and cut apart again.
    tokens = iter(reference.encode("\n".join(chosen), data["merges"]))
    rows = []
    for line in chosen:
        missing = sum(map(len, line.split()))
        row: list[str] = []
        while missing:
            row.append(next(tokens))
            missing -= len(row[-1])
        rows.append(row)
    return rows


def byte_length(rows: Rows, vocabulary: str) -> int:
    """How many bytes the tokens of a byte-level vocabulary stand for: one a letter."""
    vocab = json.loads(Path(vocabulary).read_text(encoding="utf-8"))["model"]["vocab"]
    lengths = np.zeros(len(vocab), dtype=np.int64)
    for token, index in vocab.items():
        lengths[index] = len(token)
    return int(lengths[rows[0]].sum())


def main() -> None:
    """Report the answer to one of the three questions."""
    task = job()
    ours = load(task["ours"])
    if task["question"] == "peer":
        report(0, 0, "", differing=differing(ours, load(task["theirs"])), rows=len(ours[1]) - 1)
    elif task["question"] == "bytes":
        text = Path(task["text"])
        expected = sum(len(line.encode()) for line in lines(text))
        report(0, 0, "", complete=byte_length(ours, task["vocabulary"]) == expected)
    else:
        data = json.loads(Path(task["vocabulary"]).read_text(encoding="utf-8"))
        ids, offsets = from_tokens(reference_rows(Path(task["text"]), task["vocabulary"], 200_000), data)
        known = np.unique(offsets)
        equal = np.array_equal(ours[0][: len(ids)], ids) and np.array_equal(ours[1][: len(known)], known)
        report(0, 0, "", equal=bool(equal), characters=200_000)


if __name__ == "__main__":
    main()
