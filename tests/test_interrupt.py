"""Ctrl-C: obeyed in every stage, and everything stays as it was.

Each test runs a program in a process of its own, sends it one SIGINT while it works, and looks at what it
says of its objects then. The work would go on for very long, or for ever, so an interrupt that is not obeyed
is a test that does not end; the time given is only there to notice that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")

HANGS = 20  # seconds; a slow and busy machine needs one or two

# `work` is what is interrupted, `state` is what must be the same afterwards.
FRAME = """
import sys
from pathlib import Path
from exactbpe import *
folder = Path(sys.argv[1])
{prepare}
def state():
    return {state}
before = state()
print("working", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    print("unchanged" if state() == before else "changed", flush=True)
    raise
"""

NOISE = """
import random
digits = random.Random(0).randbytes(1_000_000).hex()
noise = [digits[i : i + 20] for i in range(0, len(digits), 20)]
"""

FILES = "sorted((path.name, path.read_bytes()) for path in folder.iterdir() if path.is_file())"


def interrupted(folder: Path, prepare: str, state: str, work: str, seconds: float = 0.2) -> None:
    program = FRAME.format(prepare=prepare, state=state, work=work)
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "working\n"
            time.sleep(seconds)
            assert process.poll() is None, "the work ended too early to be interrupted"
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=HANGS)
        finally:
            process.kill()
    assert said == "unchanged\n", errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("threads", [1, 2])
def test_counting_a_generator(tmp_path: Path, threads: int) -> None:
    interrupted(
        tmp_path,
        prepare=NOISE + "import itertools\ncounts = WordCounts({'kept': 1})",
        state="counts.items()",
        work=f"counts.update(itertools.cycle(noise), threads={threads})",
    )


def test_counting_one_huge_text(tmp_path: Path) -> None:
    """Were Ctrl-C obeyed only after the call, the words would be there."""
    interrupted(
        tmp_path,
        prepare=NOISE + "text = ' '.join(noise * 100)\ncounts = WordCounts({'kept': 1})",
        state="counts.items()",
        work="counts.add(text, threads=1)",
        seconds=0.05,
    )


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Path]:
    """A pipe that gives words for as long as somebody reads, and then may be read from the start again."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = b"words without an end\n" * 10_000
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
                while not stop.is_set():
                    file.write(lines)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield pipe
    stop.set()
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # lets it go on, should it wait for a reader
    writer.join(HANGS)


def test_counting_a_file_without_end(tmp_path: Path, endless: Path) -> None:
    interrupted(
        tmp_path,
        prepare="counts = WordCounts({'kept': 1})",
        state="counts.items()",
        work=f"counts.add_file({str(endless)!r})",
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_learning(tmp_path: Path, threads: int) -> None:
    interrupted(
        tmp_path,
        prepare=NOISE + "counts = WordCounts()\ncounts.update(noise)\nwords = len(counts)",
        state="(words, counts.total, counts.most_common(5))",
        work=f"learn(counts, 10**30, threads={threads})",
    )


def test_learning_in_one_long_word(tmp_path: Path) -> None:
    interrupted(
        tmp_path,
        prepare=NOISE + "counts = WordCounts({''.join(noise): 1})",
        state="counts.total",
        work="learn(counts, 10**30)",
    )


def test_train_and_bpe_merges(tmp_path: Path) -> None:
    for work in ("train(noise, 10**30)", "bpe_merges(noise, 10**30)"):
        interrupted(tmp_path, prepare=NOISE, state="len(noise)", work=work)


def test_saving_and_loading_and_merging_counts(tmp_path: Path) -> None:
    """Files are replaced whole: after an interrupt there is the old one, and nothing else."""
    prepare = NOISE + (
        "counts = WordCounts()\n"
        "counts.update(f'{i}{word}' for i in range(3) for word in noise)\n"
        "counts.save(folder / 'counts')"
    )
    for work in (
        "counts.save(folder / 'counts')",
        "WordCounts.load(folder / 'counts')",
        "merge_counts([folder / 'counts'] * 50, folder / 'sum')",
    ):
        interrupted(tmp_path, prepare=prepare, state=FILES, work=work)
        assert [path.name for path in tmp_path.iterdir()] == ["counts"]


@pytest.mark.parametrize(
    "call",
    ["tokenize(text)", "encode(text)", "count(text)", "encode_array(text)", "encode_batch(noise * 50)"],
)
def test_encoding(tmp_path: Path, call: str) -> None:
    prepare = NOISE + (
        "import numpy\n"
        "tokenizer = Tokenizer(train(noise[:100], 500), cache_bytes=0)\n"
        "text = ' '.join(noise * 10)"
    )
    interrupted(tmp_path, prepare, state="tokenizer.tokenize('0123456789abcdef')", work=f"tokenizer.{call}")


def test_from_files_to_files(tmp_path: Path, endless: Path) -> None:
    """What was there stays, and nothing is added."""
    prepare = (
        "import numpy\n"
        "tokenizer = Tokenizer([], 'abcdefghijklmnopqrstuvwxyz')\n"
        "for name in ('ids', 'offsets', 'counts'):\n"
        "    (folder / name).write_text('old')"
    )
    for work in (
        f"count_files([{str(endless)!r}], folder / 'counts')",
        f"count_files([{str(endless)!r}], folder / 'counts', memory_limit=0)",
        f"tokenizer.encode_file({str(endless)!r}, folder / 'ids', folder / 'offsets')",
    ):
        interrupted(tmp_path, prepare, state=FILES, work=work)
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"ids", "offsets", "counts", "pipe"}
