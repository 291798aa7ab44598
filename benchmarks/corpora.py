"""The texts to measure on: real ones when they are there, generated ones otherwise.

All of them are made once, in the cache folder, and none ever enters the repository.
"""

from __future__ import annotations

import random
import shutil
import string
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Options
from benchmarks.places import cached

MEGABYTE = 1_000_000


def corpus(name: str, options: Options, megabytes: float | None = None) -> Path:
    """The text ``name`` ("en", "zh", ...), whole or its first lines up to ``megabytes``."""
    packed = options.corpora / f"{name}.txt.zst"
    zstd = shutil.which("zstd")
    if zstd is not None and packed.exists():
        whole = _made(f"{name}.txt", lambda path: _unpack(zstd, packed, path))
    else:
        whole = _made(f"generated-{name}.txt", lambda path: _generate(name, path))
    if options.quick:
        megabytes = min(1.0, megabytes or 1.0)
    if megabytes is None or megabytes * MEGABYTE >= whole.stat().st_size:
        return whole
    size = int(megabytes * MEGABYTE)
    return _made(f"{whole.stem}-{megabytes:g}MB.txt", lambda path: _first_lines(whole, size, path))


def one_word(text: Path, size: int) -> Path:
    """About the first ``size`` bytes of ``text`` without its whitespace: one giant word."""

    def make(path: Path) -> None:
        with text.open("rb") as file:
            start = file.read(2 * size).decode("utf-8", errors="ignore")
        word = "".join(start.split()).encode()[:size].decode("utf-8", errors="ignore")
        path.write_text(word, encoding="utf-8")

    return _made(f"{text.stem}-word-{size}.txt", make)


def characters_of(text: Path, length: int) -> Path:
    """The first ``length`` characters of ``text`` without its whitespace, repeated if it has fewer."""

    def make(path: Path) -> None:
        word = "".join(text.read_text(encoding="utf-8").split())
        path.write_text((word * (length // len(word) + 1))[:length], encoding="utf-8")

    return _made(f"{text.stem}-characters-{length}.txt", make)


def giant(letters: str, length: int) -> Path:
    """One word of ``length`` random characters out of ``letters``."""
    source = random.Random(letters)
    name = f"giant-{letters}-{length}.txt"
    return _made(
        name, lambda path: path.write_text("".join(source.choices(letters, k=length)), encoding="utf-8")
    )


def grown(text: Path, times: int) -> Path:
    """``text`` ``times`` times over, each time with other letters, so that distinct words grow with it."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            for turn in range(times):
                _copy_turned(text, turn, file.write)

    return text if times == 1 else _made(f"{text.stem}-times-{times}.txt", make)


def sentences(text: Path, number: int, length: int = 50) -> Path:
    """``number`` different lines of whole words, each as long as fits into ``length`` characters."""

    def make(path: Path) -> None:
        seen: dict[str, None] = {}
        for sentence in _sentences(text, length):
            seen[sentence] = None
            if len(seen) == number:
                break
        path.write_text("".join(f"{sentence}\n" for sentence in seen), encoding="utf-8")

    return _made(f"{text.stem}-sentences-{number}.txt", make)


def lines(path: Path) -> list[str]:
    """The lines of a file; they end at U+000A and nowhere else."""
    text = path.read_bytes().decode("utf-8")
    return text.removesuffix("\n").split("\n")


def _made(name: str, make: Callable[[Path], object]) -> Path:
    """The cached file ``name``; made beside and renamed, so that a broken run leaves no half of it."""
    path = cached(name)
    if not path.exists():
        beside = path.with_suffix(".part")
        make(beside)
        beside.rename(path)
    return path


def _unpack(zstd: str, packed: Path, path: Path) -> None:
    subprocess.run([zstd, "-d", "-q", "-f", packed, "-o", path], check=True)


def _first_lines(text: Path, size: int, path: Path) -> None:
    with text.open("rb") as file:
        start = file.read(size)
    path.write_bytes(start[: start.rfind(b"\n") + 1] or start)


def _copy_turned(text: Path, turn: int, write: Callable[[bytes], object]) -> None:
    table = bytes.maketrans(
        (string.ascii_lowercase + string.ascii_uppercase).encode(),
        b"".join(letters[turn:] + letters[:turn] for letters in _LETTERS),
    )
    with text.open("rb") as file:
        while block := file.read(1 << 24):
            write(block.translate(table))
    write(b"\n")


_LETTERS = (string.ascii_lowercase.encode(), string.ascii_uppercase.encode())


def _sentences(text: Path, length: int) -> Iterator[str]:
    sentence = ""
    with text.open(encoding="utf-8") as file:
        for line in file:
            for word in line.split():
                if len(sentence) + 1 + len(word) > length and sentence:
                    yield sentence
                    sentence = ""
                sentence = f"{sentence} {word}" if sentence else word


# The characters of generated words, and how many words stand between two spaces.
_SCRIPTS = {
    "zh": ("".join(map(chr, range(0x4E00, 0x5A00))), 12),
    "ja": ("".join(map(chr, [*range(0x3041, 0x3097), *range(0x4E00, 0x5200)])), 12),
    "th": ("".join(map(chr, [*range(0x0E01, 0x0E3B), *range(0x0E40, 0x0E4D)])), 8),
    "code": (string.ascii_letters + "_()[]{}.,:;=+-*/<>\"'#0123456789", 2),
}


def _generate(name: str, path: Path, megabytes: int = 10) -> None:
    """Words drawn by a Zipf law, made of letters drawn by another; the same text on every machine."""
    letters, words_together = _SCRIPTS.get(name, (string.ascii_letters, 1))
    source = random.Random(name)
    letter_weights = [1 / (rank + 3) for rank in range(len(letters))]
    longest = 4 if len(letters) > 1000 else 12
    words = [
        "".join(source.choices(letters, letter_weights, k=source.randint(1, longest))) for _ in range(100_000)
    ]
    totals: list[float] = []
    for rank in range(len(words)):
        totals.append((totals[-1] if totals else 0.0) + 1 / (rank + 3))
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * MEGABYTE:
            drawn = source.choices(words, cum_weights=totals, k=20 * words_together)
            parts = (drawn[at : at + words_together] for at in range(0, len(drawn), words_together))
            file.write(" ".join("".join(part) for part in parts) + "\n")
