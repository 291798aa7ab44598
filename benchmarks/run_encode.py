"""Encode with one engine: lines in memory to ids or tokens in memory.

Every engine holds the same vocabulary, gets the same lines, and hands out the cheapest form of the answer
that it has. What makes the answers comparable afterwards is outside the time. Peers are imported by name, as
no type checker of the project knows them.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.clock import digest, job, report, timed
from benchmarks.corpora import lines

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Rows = tuple[Ids, Offsets]
Work = Callable[[], Any]
Show = Callable[[Any], Rows]

# What is asked of an engine: `flat` ids of all lines (or its nearest form), a `list` of tokens or ids a line
# in one batch, `one` line after the other as a list of ids, or the ids of a `file` that it reads itself.


def exactbpe(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Flat arrays, lists of `str`, or two `.npy` files."""
    import exactbpe as ours

    data = json.loads(Path(task["vocabulary"]).read_text(encoding="utf-8"))
    tokenizer = ours.Tokenizer(data["merges"], data["alphabet"])
    if task["output"] == "flat":
        return lambda: tokenizer.encode_batch(texts, threads=task["threads"]), lambda rows: (rows[0], rows[1])
    if task["output"] == "list":
        return (
            lambda: tokenizer.tokenize_batch(texts, threads=task["threads"]),
            lambda rows: from_tokens(rows, data),
        )
    if task["output"] == "file":
        ids, offsets = Path(task["save"]).with_suffix(".npy"), Path(task["save"]).with_suffix(".offsets.npy")
        return (
            lambda: tokenizer.encode_file(task["text"], ids, offsets, threads=task["threads"]),
            lambda _: (_taken(ids), _taken(offsets)),
        )
    return lambda: [tokenizer.encode(text) for text in texts], from_lists


def tokenizers(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Lists; it has no flat form. `encode_batch_fast` leaves out offsets and tokens."""
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(task["vocabulary"])
    if task["output"] == "one":
        return lambda: [tokenizer.encode(text).ids for text in texts], from_lists
    if task["output"] == "list":
        data = json.loads(Path(task["vocabulary"]).read_text(encoding="utf-8"))["model"]
        return (
            lambda: [encoding.tokens for encoding in tokenizer.encode_batch(texts)],
            lambda rows: from_tokens(rows, data),
        )
    return lambda: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)], from_lists


def fastokens(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Flat buffers, or lists of ids."""
    return _flat_or_encodings(importlib.import_module("fastokens._native"), task, texts)


def snaptokens(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """As fastokens, of which it is a descendant; only byte level."""
    return _flat_or_encodings(importlib.import_module("snaptokens._native"), task, texts)


def _flat_or_encodings(library: Any, task: Any, texts: list[str]) -> tuple[Work, Show]:
    tokenizer = library.Tokenizer.from_file(task["vocabulary"])
    if task["output"] == "one":
        return lambda: [tokenizer.encode(text).ids for text in texts], from_lists
    if task["output"] == "list":
        return lambda: [encoding.ids for encoding in tokenizer.encode_batch(texts)], from_lists
    return lambda: tokenizer.encode_batch_flat(texts), from_buffers


def splintr(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Flat buffers, or lists of ids."""
    tokenizer: Any = importlib.import_module("splintr").from_json(task["vocabulary"])
    if task["output"] == "one":
        return lambda: [tokenizer.encode(text) for text in texts], from_lists
    if task["output"] == "list":
        return lambda: tokenizer.encode_batch(texts), from_lists
    return lambda: tokenizer.encode_batch_flat(texts), from_buffers


def kitoken(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Lists of ids; it has no flat form."""
    tokenizer: Any = importlib.import_module("kitoken").Kitoken.from_tokenizers_file(task["vocabulary"])
    if task["output"] == "one":
        return lambda: [tokenizer.encode(text) for text in texts], from_lists
    return lambda: tokenizer.encode_all(texts), from_lists


def gigatoken(task: Any, texts: list[str]) -> tuple[Work, Show]:
    """Flat ids in an Awkward array, of the lines or straight from the file (it skips empty lines); or lists.

    It cannot drop spaces: with our vocabulary it spells each as a byte token, and these are dropped from
    its answer.
    """
    library: Any = importlib.import_module("gigatoken")
    importlib.import_module("awkward")  # it would do so at its first answer, for most of a second
    tokenizer = library.Tokenizer(task["vocabulary"])
    parallel = task["threads"] > 1
    entries = task.get("entries")

    def from_array(result: Any) -> Rows:
        layout = result.layout
        rows = np.asarray(layout.content.data), np.asarray(layout.offsets.data, dtype=np.int64)
        return rows if entries is None else below(rows, entries)

    def from_its_lists(result: Any) -> Rows:
        rows = from_lists(result)
        return rows if entries is None else below(rows, entries)

    if task["output"] == "one":
        return lambda: [tokenizer.encode(text).tolist() for text in texts], from_its_lists
    if task["output"] == "list":
        return lambda: tokenizer.encode_batch_list(texts, parallel=parallel), from_its_lists
    if task["output"] == "file":
        source = library.TextFileSource([task["text"]], separator=b"\n")
        return lambda: tokenizer.encode_files(source, parallel=parallel), from_array
    return lambda: tokenizer.encode_batch(texts, parallel=parallel), from_array


ENGINES: dict[str, Callable[[Any, list[str]], tuple[Work, Show]]] = {
    "exactbpe": exactbpe,
    "splintr": splintr,
    "fastokens": fastokens,
    "gigatoken": gigatoken,
    "kitoken": kitoken,
    "tokenizers": tokenizers,
    "snaptokens (bytes)": snaptokens,
    "gigatoken (bytes)": gigatoken,
}


def from_lists(rows: Iterable[Any]) -> Rows:
    """Lists of ids to one array and offsets."""
    rows = [list(row) for row in rows]
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.uint32, count=int(lengths.sum()))
    return ids, np.concatenate([np.zeros(1, dtype=np.int64), lengths.cumsum()])


def from_tokens(rows: list[list[str]], data: Any) -> Rows:
    """Lists of tokens to ids; a string has one id."""
    ids = data["vocab"]
    return from_lists([ids[token] for token in row] for row in rows)


def from_buffers(result: Any) -> Rows:
    """Little-endian bytes of ids and of offsets."""
    return np.frombuffer(result[0], dtype="<u4"), np.frombuffer(result[1], dtype="<u8").astype(np.int64)


def _taken(path: Path) -> Any:
    """What a file holds; the file goes."""
    array = np.load(path)
    path.unlink()
    return array


def below(rows: Rows, entries: int) -> Rows:
    """Only the ids below ``entries``."""
    ids, offsets = rows
    keep = ids < entries
    before = np.concatenate([np.zeros(1, dtype=np.int64), keep.cumsum(dtype=np.int64)])
    return ids[keep], before[offsets]


def main() -> None:
    """Measure what the harness asked for; lines without a token are left out before comparing."""
    task = job()
    texts = lines(Path(task["text"]))
    work, show = ENGINES[task["engine"]](task, texts)
    result, seconds, peak = timed(work, task["limit"])
    ids, offsets = show(result)
    ids = np.ascontiguousarray(ids, dtype=np.uint32)
    offsets = np.unique(offsets).astype(np.int64)
    if task["first"]:
        np.savez(task["save"], ids=ids, offsets=offsets)
    report(seconds, peak, digest(ids.tobytes() + offsets.tobytes()), tokens=len(ids))


if __name__ == "__main__":
    main()
