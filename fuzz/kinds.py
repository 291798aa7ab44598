"""The kinds of cases. Each draws plain data from a seed, and checks the package on it.

A check raises `AssertionError` at a difference; any other exception is a difference too.
"""

from __future__ import annotations

import inspect
import io
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from exactbpe import (
    BPEError,
    Learned,
    Tokenizer,
    WordCounts,
    bpe_merges,
    encode,
    learn,
    merge_counts,
    reference,
)

from fuzz import draw, slow

Case = dict[str, Any]

MOST = 2**64 - 1
HAS_MEMORY_LIMIT = "memory_limit" in inspect.signature(learn).parameters
HAS_ENCODE_FILE = hasattr(Tokenizer, "encode_file")


class Kind(NamedTuple):
    """How to draw a case, and how to check it; kinds of greater share are drawn more often."""

    draw: Callable[[random.Random], Case]
    check: Callable[[Case], None]
    share: int


def must(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def equal(what: str, got: Any, expected: Any) -> None:
    """Complain where two results differ, with the place where lists do."""
    if got == expected:
        return
    if (
        isinstance(got, (list, tuple))
        and isinstance(expected, (list, tuple))
        and len(got) + len(expected) > 20
    ):
        place = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), None)
        place = min(len(got), len(expected)) if place is None else place
        raise AssertionError(
            f"{what}: lengths {len(got)} and {len(expected)}, first difference at {place}: "
            f"got {got[place : place + 3]!a}, expected {expected[place : place + 3]!a}"
        )
    raise AssertionError(f"{what}: got {got!a}, expected {expected!a}")


def equal_learned(what: str, got: Learned, expected: slow.Slow | Learned) -> None:
    for name in slow.Slow._fields:
        equal(f"{what}, {name}", getattr(got, name), getattr(expected, name))


# ---------------------------------------------------------------------------------------- learning


def draw_learn(rng: random.Random) -> Case:
    # The slow learner's time grows with symbols and merges; few words of many symbols are worst for it.
    sizes = [(60, 60), (60, 60), (600, 300), (600, 300), (6_000, 200), (40_000, 60), (20_000, 250)]
    symbols, merges = rng.choice(sizes)
    counts = draw.counts(rng, symbols)
    word_prefix = rng.choice(["", "", "", "▁", "a", "ab"])
    alphabet = len(set(word_prefix).union(*counts) if counts else "")
    return {
        "counts": counts,
        "vocab_size": alphabet + rng.choice([merges, rng.randint(0, merges), 3, 0, -1]),
        "min_frequency": rng.choice([1, 1, 1, 2, rng.randint(0, 50), 2**32, MOST]),
        "word_prefix": word_prefix,
        "threads": rng.choice([1, 2, 3, 4, 8]),
        "stop": rng.random(),
        "memory": rng.random(),
    }


def check_learn(case: Case) -> None:
    """Learning, continuing, truncating and limited memory against the slow learner."""
    counts, vocab_size, min_frequency = case["counts"], case["vocab_size"], case["min_frequency"]
    options: Case = {"word_prefix": case["word_prefix"], "threads": case["threads"]}
    want = slow.learn(counts, vocab_size, min_frequency, (), case["word_prefix"])
    word_counts = WordCounts(counts)
    learned = learn(word_counts, vocab_size, min_frequency, **options)
    equal_learned("learn", learned, want)

    k = len(want.alphabet) + round(case["stop"] * len(want.merges))
    before = learn(word_counts, k, min_frequency, **options)
    equal_learned("truncate", learned.truncate(k), before)
    after = learn(word_counts, vocab_size, min_frequency, initial_merges=before, **options)
    equal_learned("continue from Learned", after, want)
    after = learn(word_counts, vocab_size, min_frequency, initial_merges=before.merges, **options)
    ties = [None] * min(len(before.merges), len(after.merges))
    equal_learned("continue from a list", after, want._replace(ties=ties + want.ties[len(ties) :]))
    if HAS_MEMORY_LIMIT:
        check_memory_limit(case, word_counts, want, options)


def check_memory_limit(case: Case, counts: WordCounts, want: slow.Slow, options: Case) -> None:
    """Any limit gives the same merges, or a `MemoryError`; enough memory never gives one."""
    bare = 4 * sum(1 + len(case["word_prefix"]) + len(word) for word in case["counts"])
    for limit in (round(bare * (1 + 9 * case["memory"])) + 100_000, 1 << 40, round(bare * case["memory"])):
        try:
            learned = learn(counts, case["vocab_size"], case["min_frequency"], memory_limit=limit, **options)
        except MemoryError as error:
            must(limit < 1 << 40, f"a limit of {limit} bytes is refused: {error}")
        else:
            equal_learned(f"learn with memory_limit={limit}", learned, want)


def draw_initial(rng: random.Random) -> Case:
    counts = draw.counts(rng, rng.choice([30, 300, 3_000]))
    known = [*rng.sample(sorted(set("x").union(*counts)), k=min(4, len(set("x").union(*counts))))]
    made: draw.Rules = []
    for _ in range(rng.randint(0, 12)):
        rule = [rng.choice(known), rng.choice(known)]
        if "".join(rule) not in known:
            made.append(rule)
            known.append("".join(rule))
    return {"counts": counts, "initial": made, "more": rng.randint(0, 40), "threads": rng.choice([1, 2, 3])}


def check_initial(case: Case) -> None:
    """Initial merges that training would not give are merged in their order, and then it goes on.

    They are refused if a symbol is made again.
    """
    alphabet = len(set().union(*case["counts"], *map("".join, case["initial"])))
    vocab_size = alphabet + len(case["initial"]) + case["more"]
    want = slow.learn(case["counts"], vocab_size, 1, case["initial"])
    counts = WordCounts(case["counts"])
    made = ["".join(rule) for rule in want.merges]
    try:
        learned = learn(counts, vocab_size, initial_merges=case["initial"], threads=case["threads"])
    except BPEError as error:
        must(len({*made}) < len(made), f"a list that makes no symbol twice is refused: {error}")
    else:
        must(len({*made}) == len(made), "a list that makes a symbol twice is not refused")
        equal_learned("learn from hand-made merges", learned, want)


def draw_long(rng: random.Random) -> Case:
    chars = draw.alphabet(rng)
    most = rng.choice([1_000, 10_000, 100_000])
    words = [draw.word(rng, chars, draw.length(rng, most)) for _ in range(rng.choice([1, 1, 2, 3]))]
    return {"words": words, "merges": rng.randint(1, 60), "threads": rng.choice([1, 2, 3, 8])}


def check_long(case: Case) -> None:
    """A few words of up to 100,000 symbols against the reference; and encoding them again."""
    words, merges = case["words"], case["merges"]
    want = reference._learn(Counter(words), merges, 1)
    equal("bpe_merges", bpe_merges(words, merges), [left + right for left, right in want])
    rules = [[*pair] for pair in want]
    counts = WordCounts()
    counts.update(words, threads=case["threads"])
    vocab_size = len(set().union(*words)) + merges
    equal("learn", learn(counts, vocab_size, threads=case["threads"]).merges, rules)
    tokenizer = Tokenizer(rules)
    for word in words:
        equal("tokenize", tokenizer.tokenize(word), reference.encode(word, rules))


# ---------------------------------------------------------------------------------------- counting


def draw_count(rng: random.Random) -> Case:
    words = draw.counts(rng, rng.choice([30, 300, 3_000, 30_000]))
    texts = draw.texts(rng, words, 20_000)
    repeat = rng.choice([1, 1, 1, 1, 1 + 3_000_000 // (1 + sum(map(len, texts)))])
    return {
        "texts": texts,
        "repeat": min(repeat, 300_000),  # some texts larger than the blocks of the core
        "threads": rng.choice([1, 2, 3, 8]),
        "sizes": [draw.length(rng, 100_000) for _ in range(rng.randint(1, 5))],
        "files": rng.randint(1, 4),
    }


class Dribble(io.RawIOBase):
    """A stream that gives what it likes: so many bytes at a time, by turns."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.content = io.BytesIO(content)
        self.sizes = sizes
        self.turn = 0

    def read(self, size: int = -1) -> bytes:
        self.turn += 1
        return self.content.read(self.sizes[self.turn % len(self.sizes)])


def has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def check_count(case: Case) -> None:
    """Every way in gives the same counts, and so do the ways out."""
    texts, threads, repeat = case["texts"], case["threads"], case["repeat"]
    want = draw.counted(texts)
    order = sorted(want.items(), key=lambda item: (-item[1], item[0]))
    updated, added, mapped, merged = (WordCounts() for _ in range(4))
    updated.update(texts, threads=threads)
    equal("update", updated.items(), order)
    for text in texts:
        added.add(text, threads=threads)
        one = WordCounts()
        one.update(text.split())
        merged = one + merged
    mapped.add_counts(dict(order[::-1]))
    ways = {"add": added, "add_counts": mapped, "merge": merged, "pickle": pickle.loads(pickle.dumps(added))}
    for name, counts in ways.items():
        must(counts == updated, f"{name} does not equal update")
        equal(name, counts.items(), order)

    whole = "".join(texts) + "\n"
    repeated = {word: count * repeat for word, count in order}
    many = WordCounts()
    many.add(whole * repeat, threads=threads)
    equal("add of a large text", dict(many.items()), repeated)
    if has_surrogates(whole):
        return
    content = (whole * repeat).encode()
    streamed = WordCounts()
    streamed.add_stream(Dribble(content, case["sizes"]), "a stream", threads=threads)
    equal("add_stream", dict(streamed.items()), repeated)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(content)
        from_file = WordCounts()
        from_file.add_file(path, threads=threads)
        equal("add_file", dict(from_file.items()), repeated)


def draw_not_utf8(rng: random.Random) -> Case:
    case = draw_count(rng)
    content = bytearray("".join(case["texts"]).encode("utf-8", "replace") * case["repeat"])
    for _ in range(rng.randint(1, 2)):
        wrong = bytes(
            rng.choices(b"\x80\xbf\xc2\xe1\xe2\xe3\x85\xa0\xed\xf0\xf4\xf8\xff ", k=rng.randint(1, 3))
        )
        content[(at := rng.randrange(len(content) + 1)) : at + rng.randint(0, 3)] = wrong
    return {"content": bytes(content), "sizes": case["sizes"], "threads": case["threads"]}


def check_not_utf8(case: Case) -> None:
    """The offset in the refusal is the one that Python finds, and nothing is counted."""
    content = case["content"]
    counts = WordCounts({"kept": 1})
    try:
        words = Counter(content.decode().split())
    except UnicodeDecodeError as error:
        try:
            counts.add_stream(Dribble(content, case["sizes"]), "a stream", threads=case["threads"])
        except BPEError as refused:
            must(f" at byte {error.start}:" in str(refused), f"got {refused}, expected byte {error.start}")
        else:
            must(False, f"bytes that are not UTF-8 at {error.start} were counted")
        must(counts == WordCounts({"kept": 1}), "a failed call changed the counts")
    else:
        counts.add_stream(Dribble(content, case["sizes"]), "a stream", threads=case["threads"])
        words["kept"] += 1
        must(counts == WordCounts(words), "add_stream does not equal Python")


def draw_files(rng: random.Random) -> Case:
    parts = [draw.counts(rng, rng.choice([20, 200, 20_000])) for _ in range(rng.randint(1, 5))]
    return {"parts": parts, "damage": rng.random(), "bit": rng.randrange(8), "kind": rng.choice("fct")}


def check_files(case: Case) -> None:
    """Files of counts: round trip, merging, the same bytes; damage is refused."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / str(i) for i in range(len(case["parts"]))]
        total: Counter[str] = Counter()
        for path, part in zip(paths, case["parts"], strict=True):
            WordCounts(part).save(path)
            must(WordCounts.load(path) == WordCounts(part), "load does not equal what was saved")
            total.update(part)
        merge_counts(paths, folder / "sum")
        WordCounts(total).save(folder / "at once")
        content = (folder / "sum").read_bytes()
        equal("bytes of merge_counts", content, (folder / "at once").read_bytes())
        damaged = bytearray(content)
        at = int(case["damage"] * len(content))
        if case["kind"] == "f":
            damaged[at] ^= 1 << case["bit"]
        elif case["kind"] == "c":
            del damaged[at]
        else:
            del damaged[at:]
        (folder / "damaged").write_bytes(damaged)
        try:
            WordCounts.load(folder / "damaged")
        except BPEError as error:
            must("damaged" in str(error), f"no file name in {error}")
        else:
            must(False, f"damage at byte {at} was not noticed")


# ---------------------------------------------------------------------------------------- encoding


def draw_encode(rng: random.Random) -> Case:
    words = draw.counts(rng, rng.choice([30, 300, 3_000, 10_000]))
    rules = draw.rules(rng, words, rng.choice([5, 50, 500]))
    return {
        "texts": draw.texts(rng, words, 2_000),
        "rules": rules,
        "cache_bytes": rng.choice([0, 1, 64, 1 << 8, 1 << 12, 1 << 22]),
        "threads": rng.choice([1, 2, 3, 8]),
        "word_prefix": rng.choice(["", "", "", "▁", "a", "ab", "\0"]),
        "unknown": rng.choice(["error", "<unk>", "bytes"]),
        "known": rng.choice([0, 0.5, 1]),
        "others": rng.choice([0] * 9 + [66_000]),  # characters, more than numbers of 16 bits
    }


def check_encode(case: Case) -> None:
    """Tokens against the reference; ids, batches, spans, counts and decoding against the tokens."""
    texts, rules, prefix, unknown = (case[name] for name in ("texts", "rules", "word_prefix", "unknown"))
    whole = " ".join(texts)
    prefixed = [" ".join(prefix + word for word in text.split()) for text in texts]
    tokens = [reference.encode(text, rules) for text in prefixed]
    chars = sorted({*"".join(prefixed), *"".join(map("".join, rules))} - {" "})
    if unknown != "error":
        chars = chars[: round(case["known"] * len(chars))]
    chars = sorted({*chars, *map(chr, range(0x20000, 0x20000 + case["others"]))})
    names = list(dict.fromkeys([*chars, *map("".join, rules)]))
    tokenizer = Tokenizer(rules, chars, unknown=unknown, word_prefix=prefix, cache_bytes=case["cache_bytes"])
    for _ in range(2):
        for text, want in zip(texts, tokens, strict=True):
            equal("tokenize", tokenizer.tokenize(text), want)
        equal("tokenize_batch", tokenizer.tokenize_batch(texts, threads=case["threads"]), tokens)
    if not prefix:
        equal("encode(text, merges)", encode(whole, rules), [token for some in tokens for token in some])

    number = {name: id for id, name in enumerate(names)}
    ids = []
    for some in tokens:
        here: list[int] = []
        for token in some:
            if token in number:
                here.append(number[token])
            elif unknown == "bytes":
                here += [len(names) + byte for byte in token.encode("utf-8", "surrogatepass")]
            else:
                here.append(len(names))
        ids.append(here)
    equal("vocab_size", tokenizer.vocab_size, len(names) + {"error": 0, "<unk>": 1, "bytes": 256}[unknown])
    flat, offsets = tokenizer.encode_batch(texts, threads=case["threads"])
    equal("encode_batch", [flat[start:end].tolist() for start, end in pairwise(offsets)], ids)
    equal("count_batch", tokenizer.count_batch(texts, threads=case["threads"]), [*map(len, ids)])
    for text, want, some in zip(texts, ids, tokens, strict=True):
        equal("encode", tokenizer.encode(text), want)
        equal("encode_array", tokenizer.encode_array(text).tolist(), want)
        equal("count", tokenizer.count(text), len(want))
        spans = tokenizer.spans(text)
        equal("tokens of spans", [span.token for span in spans], some)
        covered = "".join(text[span.start : span.end] for span in spans)
        equal("text of spans", covered, "".join(text.split()))
        must(all(span.token.endswith(text[span.start : span.end]) for span in spans), "spans do not fit")
        if unknown != "<unk>" and (not prefix or prefix not in text):
            words = " ".join(text.split()) if prefix else "".join(text.split())
            equal("decode", tokenizer.decode(want), words)
    again = pickle.loads(pickle.dumps(tokenizer))
    must(again == tokenizer, "pickling gives another tokenizer")
    equal("tokenize after pickling", again.encode(whole), [id for some in ids for id in some])
    if HAS_ENCODE_FILE and not has_surrogates(whole):
        check_encode_file(case, tokenizer)


def check_encode_file(case: Case, tokenizer: Tokenizer) -> None:
    import numpy as np

    lines = [" ".join(text.split()) for text in case["texts"]]
    want, want_offsets = tokenizer.encode_batch(lines)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        tokenizer.encode_file(
            folder / "text", folder / "ids.npy", folder / "offsets.npy", threads=case["threads"]
        )
        equal("encode_file, ids", np.load(folder / "ids.npy").tolist(), want.tolist())
        equal("encode_file, offsets", np.load(folder / "offsets.npy").tolist(), want_offsets.tolist())


KINDS = {
    "learn": Kind(draw_learn, check_learn, 6),
    "initial": Kind(draw_initial, check_initial, 3),
    "long": Kind(draw_long, check_long, 2),
    "count": Kind(draw_count, check_count, 3),
    "not utf-8": Kind(draw_not_utf8, check_not_utf8, 2),
    "files": Kind(draw_files, check_files, 1),
    "encode": Kind(draw_encode, check_encode, 6),
}
