"""Learning from real text, against the slow learner: 500 merges on 1 MB of each language.

The texts are those of ``../shared/corpora`` beside the project; where there are none,
text of several scripts is made up.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from exactbpe import WordCounts, learn

from fuzz import slow
from fuzz.kinds import must

FOLDER = Path(__file__).parents[2] / "shared" / "corpora"
MEGABYTE = 1_000_000


def corpora(size: int | None) -> Iterator[tuple[str, str]]:
    """The name and about `size` bytes from the start of each text, or all of it."""
    found = {path.name.split(".")[0]: path for path in FOLDER.glob("*.txt*")}
    if not found:
        yield from made_up(size or 5 * MEGABYTE)
    for name, path in sorted(found.items()):
        if path.suffix == ".zst" and not shutil.which("zstd"):
            raise SystemExit(f"{path} needs zstd to be read")
        yield name, start_of(path, size).decode("utf-8", "ignore")


def start_of(path: Path, size: int | None) -> bytes:
    if path.suffix != ".zst":
        with path.open("rb") as file:
            return file.read(size)
    with subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE) as process:
        content = process.stdout.read(size) if process.stdout else b""
        process.kill()
    return content


def made_up(size: int) -> Iterator[tuple[str, str]]:
    """Words of several scripts, few of them frequent; some scripts write them without spaces."""
    scripts = {
        "latin": ("etaoinshrdlucmfwypvbgkjqxzé", " "),
        "cyrillic": ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфё", " "),
        "hangul": ("".join(map(chr, range(0xAC00, 0xAC00 + 2_000, 7))), " "),
        "han": ("".join(map(chr, range(0x4E00, 0x4E00 + 3_000))), ""),
        "thai": ("".join(map(chr, range(0x0E01, 0x0E2F))), ""),
        "emoji": ("".join(map(chr, range(0x1F600, 0x1F640))) + "\u200d", " "),
    }
    for name, (letters, space) in scripts.items():
        rng = random.Random(name)
        few_often = [1 / (1 + i) for i in range(len(letters))]
        words = ["".join(rng.choices(letters, few_often, k=rng.randint(1, 9))) for _ in range(5_000)]
        text: list[str] = []
        left = size
        while left > 0:
            word = words[int(len(words) ** rng.random()) - 1]
            text.append(word + (space if rng.random() < 0.97 else "\n"))
            left -= len(text[-1].encode())
        yield name, "".join(text)


def compare(text: str, merges: int) -> None:
    """The first merges with all that is known of them, on one and on two threads."""
    counts = Counter(text.split())
    vocab_size = len(set().union(*counts)) + merges
    want = slow.learn(counts, vocab_size)
    for threads in (1, 2):
        words = WordCounts()
        words.add(text, threads=threads)
        must(words == WordCounts(counts), f"counts on {threads} threads")
        learned = learn(words, vocab_size, threads=threads)
        got = (learned.merges, learned.frequencies, learned.ties, learned.alphabet, learned.stopped_because)
        must(got == want, f"merges on {threads} threads")


def threads_agree(text: str, vocab_size: int) -> None:
    words = WordCounts()
    words.add(text)
    one = learn(words, vocab_size, threads=1)
    must(len(one.merges) > 0, "nothing was learned")
    for threads in (2, 3):
        must(learn(words, vocab_size, threads=threads) == one, f"{threads} threads")


def main() -> int:
    for name, text in corpora(MEGABYTE):
        start = time.monotonic()
        compare(text, 500)
        print(f"{name}: 500 merges of 1 MB are equal ({time.monotonic() - start:.0f} s)", flush=True)
    for name, text in corpora(None):
        start = time.monotonic()
        threads_agree(text, 32_000)
        print(f"{name}: 1, 2 and 3 threads agree on all ({time.monotonic() - start:.0f} s)", flush=True)
    return 0
