"""``make demo``: train on the source files of Python's own standard library, and look at the result."""

from __future__ import annotations

import sys
import sysconfig
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path

import exactbpe

VOCAB_SIZE = 8_000
SHOWN = 5
NO_LIBRARY = {"test", "tests", "idle_test", "site-packages", "dist-packages"}
SENTENCE = "for every_word in self.assertEqual(tokenizer): return 'naïve café'"


def source_files() -> list[Path]:
    library = Path(sysconfig.get_paths()["stdlib"])
    files = library.rglob("*.py")
    return sorted(file for file in files if NO_LIBRARY.isdisjoint(file.relative_to(library).parts))


def texts_of(files: list[Path]) -> Iterator[str]:
    for file in files:
        with tokenize.open(file) as source:  # in the encoding that the file declares
            yield source.read()


def title(text: str) -> None:
    print(f"\n{text}")


def show_merges(learned: exactbpe.Learned) -> None:
    numbered = list(enumerate(zip(learned.merges, learned.frequencies, strict=True)))
    for rank, ((left, right), frequency) in numbered[:SHOWN] + numbered[-SHOWN:]:
        if rank == len(numbered) - SHOWN:
            print("       ...")
        print(f"  {rank:>6,}  {left + right:<24} = {left!r} + {right!r}, {frequency:,} times")


def main() -> None:
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # terminals without UTF-8
    start = time.perf_counter()
    files = source_files()
    counts = exactbpe.WordCounts()
    counts.update(texts_of(files))
    counted = time.perf_counter()
    learned = exactbpe.learn(counts, VOCAB_SIZE)
    done = time.perf_counter()

    title("Trained on the standard library of this Python")
    print(f"  {len(files):,} files, {counts.total:,} words, {len(counts):,} of them distinct")
    print(f"  {len(learned.alphabet):,} characters + {len(learned.merges):,} merges", end=" ")
    print(f"= a vocabulary of {learned.vocab_size:,}")
    print(
        f"  {counted - start:.2f} s to read and count the words, {done - counted:.2f} s to learn the merges"
    )

    title("The first merges and the last, by rank")
    show_merges(learned)

    tokenizer = learned.tokenizer(unknown="bytes")
    title("Words, split into tokens")
    for word in SENTENCE.split():
        print(f"  {word:<30} {' '.join(tokenizer.tokenize(word))}")

    title("There and back")
    with_spaces = exactbpe.learn(counts, VOCAB_SIZE, word_prefix="▁").tokenizer(unknown="bytes")
    ids = with_spaces.encode(SENTENCE)
    print(f"  text     {SENTENCE}")
    print(f"  ids      {' '.join(map(str, ids[:12]))} ... ({len(ids)})")
    print(f"  decoded  {with_spaces.decode(ids)}")
    assert with_spaces.decode(ids) == SENTENCE
    print(f"\n{time.perf_counter() - start:.2f} s in all.")


if __name__ == "__main__":
    main()
