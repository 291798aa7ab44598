"""One object for many threads and processes: shared, forked, pickled, copied, always the same answers."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from exactbpe import Tokenizer, WordCounts, learn, reference

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"  # there, forking is unsafe with threads

RULES = reference.train(["the cat sat on the mat with another cat that was there before them"], 15 + 30)


def some_texts(seed: int, count: int = 50) -> list[str]:
    rng = random.Random(seed)
    return [
        " ".join(
            "".join(rng.choices("aehtcsmnorwbix é", k=rng.randint(1, 90))) for _ in range(rng.randint(0, 9))
        )
        for _ in range(count)
    ]


def new_tokenizer(**options: Any) -> Tokenizer:
    return Tokenizer(RULES, **{"unknown": "bytes", "cache_bytes": 1 << 12, **options})


def answers(tokenizer: Tokenizer, seed: int = 0) -> tuple[Any, ...]:
    """All kinds of results for some texts."""
    texts = some_texts(seed)
    ids, offsets = tokenizer.encode_batch(texts, threads=3)
    return (
        [tokenizer.tokenize(text) for text in texts],
        ids.tolist(),
        offsets.tolist(),
        tokenizer.count_batch(texts, threads=2),
        tokenizer.tokenize_batch(texts, threads=2),
        [tokenizer.spans(text) for text in texts[:5]],
        tokenizer.decode(ids),
        tokenizer.fingerprint,
        list(tokenizer.vocab),
    )


def expected_tokens(seed: int) -> list[list[str]]:
    return [reference.encode(text, RULES) for text in some_texts(seed)]


# ---------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("cache_bytes", [0, 64, 1 << 22])
def test_sixteen_threads_on_one_tokenizer(cache_bytes: int) -> None:
    tokenizer = new_tokenizer(cache_bytes=cache_bytes)
    want = [answers(new_tokenizer(cache_bytes=cache_bytes), seed) for seed in range(4)]
    assert [some[0] for some in want] == [expected_tokens(seed) for seed in range(4)]
    barrier = threading.Barrier(16)

    def work(number: int) -> bool:
        barrier.wait()
        return all(answers(tokenizer, seed % 4) == want[seed % 4] for seed in range(number, number + 4))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_one_word_counts_updated_from_several_threads(tmp_path: Path) -> None:
    counts = WordCounts()
    (tmp_path / "text").write_text("in a file " * 1000, encoding="utf-8")
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        for i in range(20):
            counts.update([f"both own{number} {i}"] * 50, threads=1 + number % 3)
            counts.add_counts({"mapped": 2})
            counts.merge(WordCounts({"merged": 3}))
            assert counts["mapped"] >= 2 * (i + 1)
            assert len(counts.most_common(3)) == 3
        counts.add_file(tmp_path / "text")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    want = {"both": 8_000, "mapped": 320, "merged": 480, "in": 8_000, "a": 8_000, "file": 8_000}
    want |= {f"own{number}": 1_000 for number in range(8)} | {str(i): 400 for i in range(20)}
    assert counts == WordCounts(want)


def test_learning_while_counts_change() -> None:
    """Learning sees the counts as they were when it began."""
    counts = WordCounts({"abab": 5, "abc": 3})
    want = learn(WordCounts({"abab": 5, "abc": 3}), 99)
    learned = learn(counts, 99, progress=lambda event: counts.add("xyz xyz"))
    assert learned == want
    assert counts["xyz"] > 0


def test_a_list_that_changes_while_it_is_encoded() -> None:
    tokenizer = new_tokenizer()
    texts = some_texts(1, 500)
    want = tokenizer.encode_batch(list(texts))[0].tolist()
    shared = list(texts)
    stop = threading.Event()

    def shuffle() -> None:
        while not stop.is_set():
            shared.append("more")
            shared.pop()

    other = threading.Thread(target=shuffle)
    other.start()
    try:
        for _ in range(20):
            ids = tokenizer.encode_batch(shared, threads=2)[0].tolist()
            assert ids[: len(want)] == want
    finally:
        stop.set()
        other.join()


# -------------------------------------------------------------------------------------- processes


def in_forked_child(work: Callable[[], bool]) -> bool:
    """Whether `work` is true in a child that `os.fork` makes."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not CAN_FORK, reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_batch_before_a_fork_and_one_in_the_child() -> None:
    tokenizer = new_tokenizer()
    counts = WordCounts({"abab": 5, "abc": 3})
    want, learned = answers(tokenizer), learn(counts, 99, threads=2)
    for _ in range(3):
        assert in_forked_child(lambda: answers(tokenizer) == want)
        assert in_forked_child(lambda: answers(tokenizer, 1) == answers(new_tokenizer(), 1))
        assert in_forked_child(lambda: learn(counts, 99, threads=2) == learned)
        assert in_forked_child(lambda: (counts.add("x " * 10**6, threads=2), counts["x"] == 10**6)[1])
    assert not in_forked_child(lambda: answers(tokenizer) == want[::-1])
    assert answers(tokenizer) == want
    assert "x" not in counts


@pytest.mark.skipif(not CAN_FORK, reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_other_threads_encode() -> None:
    """The child finds no lock taken by a thread that it does not have."""
    tokenizer = new_tokenizer()
    want = answers(tokenizer)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            answers(tokenizer)

    others = [threading.Thread(target=work) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for _ in range(10):
            assert in_forked_child(lambda: answers(tokenizer) == want)
    finally:
        stop.set()
        for other in others:
            other.join()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_of_processes(method: str) -> None:
    if method == "fork" and not CAN_FORK:
        pytest.skip("no fork here")
    tokenizer = new_tokenizer()
    want = [answers(tokenizer, seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(answers, zip(repeat(tokenizer), range(4), strict=False)) == want
        assert pool.map(partial(answers, tokenizer), range(4)) == want
        counted = pool.map(WordCounts, [{"a": 1, "b\0": 2**63}, {"a": 2, "\ud800": 3}])
    assert counted[0] + counted[1] == WordCounts({"a": 3, "b\0": 2**63, "\ud800": 3})


# ------------------------------------------------------------------------------ copies and pickles

TOKENIZERS = [
    Tokenizer([]),
    Tokenizer(RULES),
    Tokenizer(
        [("a", "bc"), ("ab", "c"), ("a", "b"), ("a", "bc"), ("\ud83d", "\ude00")], "abc😀\0", unknown="<unk>"
    ),
    Tokenizer([["a", "b"]], "b", unknown="bytes", word_prefix="▁\ud800", cache_bytes=0),
    learn(WordCounts({"low": 5, "lower": 2}), 9, word_prefix="▁").tokenizer(cache_bytes=64),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_copies_are_equal(tokenizer: Tokenizer) -> None:
    copies = [copy.copy(tokenizer), copy.deepcopy(tokenizer), copy.deepcopy([tokenizer])[0]]
    copies += [
        pickle.loads(pickle.dumps(tokenizer, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for other in copies:
        assert type(other) is Tokenizer
        assert other == tokenizer
        assert hash(other) == hash(tokenizer)
        for name in ("fingerprint", "merges", "alphabet", "vocab", "vocab_size", "unknown", "word_prefix"):
            assert getattr(other, name) == getattr(tokenizer, name)
        text = "abcab bca low lower \ud83d\ude00😀"
        assert other.tokenize(text) == tokenizer.tokenize(text)
        assert other.count(text) == tokenizer.count(text)


READ = """
import pickle, sys
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        tokenizer, text, want, fingerprint = pickle.load(file)
    assert tokenizer.tokenize(text) == want
    assert tokenizer.fingerprint == fingerprint
    assert hash(tokenizer) == hash(fingerprint)
print("equal")
"""


@pytest.mark.parametrize("module", ["pickle", "cloudpickle"])
def test_into_a_fresh_process(tmp_path: Path, module: str) -> None:
    dumps = pytest.importorskip(module).dumps
    text = "abcab bca low lower \ud83d\ude00😀"
    paths = []
    for i, tokenizer in enumerate(TOKENIZERS):
        paths.append(tmp_path / str(i))
        paths[-1].write_bytes(dumps((tokenizer, text, tokenizer.tokenize(text), tokenizer.fingerprint)))
    for seed in ("0", "1"):
        command = [sys.executable, "-c", READ, *paths]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        assert subprocess.check_output(command, env=environment, text=True, timeout=60) == "equal\n"


def test_a_function_that_holds_a_tokenizer(tmp_path: Path) -> None:
    """What Spark, Ray and Dask send to their workers: a function with all that it mentions."""
    cloudpickle = pytest.importorskip("cloudpickle")
    tokenizer = new_tokenizer()
    text = some_texts(3)[0]
    (tmp_path / "function").write_bytes(cloudpickle.dumps(lambda: tokenizer.encode(text)))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))())"
    command = [sys.executable, "-W", "ignore", "-c", program, tmp_path / "function"]
    assert subprocess.check_output(command, text=True, timeout=60) == f"{tokenizer.encode(text)}\n"
