"""By hand: do the real programs give our tokens on real text?

    python tests/acceptance_formats.py ../shared/corpora

For each language (``*.txt``, or ``*.txt.zst``, which the program `zstd` unpacks) a tokenizer is trained and
saved; the first megabyte of that language and of two others goes through this package and through
`tokenizers`, `transformers`, `tiktoken`, `subword-nmt` and `sentencepiece`. Last, loading 500,000 merges is
timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import exactbpe
from exactbpe import formats

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TIKTOKEN_CACHE_DIR"] = ""  # it would keep the first file of a name
MEGABYTE = 1_000_000
TRAINING = 5 * MEGABYTE
VOCAB_SIZE = 16_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", type=Path, help="folder of one text a language")
    parser.add_argument("--only", nargs="*", help="languages to train on")
    arguments = parser.parse_args()
    texts = {path.name.split(".")[0]: beginning(path) for path in sorted(arguments.corpora.glob("*.txt*"))}
    names = list(texts)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(names):
            if arguments.only and name not in arguments.only:
                continue
            others = [names[(index + step) % len(names)] for step in (1, 2)]
            inputs = {other: cut(texts[other], MEGABYTE) for other in (name, *others)}
            for check, result in checks(Path(folder), texts[name], inputs):
                print(f"{name:6} {check:44} {result}", flush=True)
                failed += [(name, check)] * (not result.startswith("equal"))
        loading(Path(folder))
    if failed:
        sys.exit(f"FAILED: {failed}")


def beginning(path: Path) -> str:
    if path.suffix == ".zst":
        with subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE) as process:
            assert process.stdout
            data = process.stdout.read(TRAINING)
            process.kill()
    else:
        with path.open("rb") as file:
            data = file.read(TRAINING)
    return data.decode("utf-8", "ignore")


def cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore")


def checks(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield from tokenizer_json(folder, training, inputs)
    yield from gpt2(folder, training, inputs)
    yield from tiktoken(folder, training, inputs)
    yield from subword_nmt(folder, training, inputs)
    yield from own_codes(folder, training, inputs)
    yield from sentencepiece(folder, training, inputs)


def tokenizer_json(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    import tokenizers
    import transformers

    counts = exactbpe.WordCounts()
    counts.add(training)
    for prefix, unknown in (("", "<unk>"), ("▁", "bytes")):
        learned = exactbpe.learn(counts, VOCAB_SIZE, word_prefix=prefix)
        ours = learned.tokenizer(unknown=unknown)
        path = folder / "tokenizer.json"
        formats.save(ours, path)
        assert formats.load(path) == ours
        theirs = tokenizers.Tokenizer.from_file(str(path))
        fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
        for name, text in inputs.items():
            # Once in lines, once as a single text.
            for how, parts in (("lines", text.split("\n")), ("whole", [text])):
                want = [ours.encode(part) for part in parts]
                got = [encoding.ids for encoding in theirs.encode_batch(parts)]
                yield f"tokenizers on {name}, {unknown}, {how}", verdict(got, want)
                got = fast(parts)["input_ids"] if how == "lines" else [fast.encode(parts[0])]
                yield f"transformers on {name}, {unknown}, {how}", verdict(got, want)
            decoded = [theirs.decode(ids) for ids in want]
            yield (
                f"tokenizers decodes {name}, {unknown}",
                verdict(decoded, [ours.decode(ids) for ids in want]),
            )
            decoded = [fast.decode(ids) for ids in want]
            yield f"transformers decodes {name}, {unknown}", verdict(decoded, [ours.decode(i) for i in want])


def gpt2(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    import tokenizers

    ours = trained(training, "<unk>")
    formats.save(ours, folder / "merges.txt")
    files = (str(folder / "vocab.json"), str(folder / "merges.txt"))
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files, unk_token="<unk>"))
    space = tokenizers.Regex(formats.WHITESPACE + "+")
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Split(space, "removed")
    for name, text in inputs.items():
        lines = text.split("\n")
        got = [encoding.ids for encoding in theirs.encode_batch(lines)]
        yield f"merges.txt in tokenizers on {name}", verdict(got, [ours.encode(line) for line in lines])


def tiktoken(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Characters of one or two bytes; others are left out of the texts."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ours = trained("".join(c if c < "\u0800" else " " for c in training), "error")
    formats.save(ours, folder / "ranks.tiktoken")
    ranks = load_tiktoken_bpe(str(folder / "ranks.tiktoken"))
    theirs = tiktoken.Encoding("ours", pat_str=formats.WORD, mergeable_ranks=ranks, special_tokens={})
    known = set(ours.alphabet)
    for name, text in inputs.items():
        lines = "".join(c if c in known or c == "\n" else " " for c in text).split("\n")
        got = theirs.encode_ordinary_batch(lines, num_threads=2)
        yield f"tiktoken on {name}", verdict(got, [ours.encode(line) for line in lines])


def trained(text: str, unknown: str) -> exactbpe.Tokenizer:
    counts = exactbpe.WordCounts()
    counts.add(text)
    return exactbpe.learn(counts, VOCAB_SIZE).tokenizer(unknown=unknown)


def subword_nmt(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Codes that the real program learned, applied by both."""
    codes, corpus = folder / "codes", folder / "corpus"
    corpus.write_text(cut(training, MEGABYTE // 4), newline="")
    real("learn-bpe", "--symbols", "2000", "--input", corpus, "--output", codes)
    yield from applied(folder, codes, inputs, formats.SubwordNMT.load(codes).apply, "subword-nmt")
    for name, text in inputs.items():
        source, target = folder / "in", folder / "out"
        source.write_text(text, newline="")
        real("apply-bpe", "--codes", codes, "--input", source, "--output", target)
        command = [sys.executable, "-m", "exactbpe", "encode", "--codes", codes, source]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        yield f"subword-nmt's command and ours on {name}", verdict(target.read_bytes(), done.stdout)


def own_codes(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Our own tokenizer as codes, on text whose only spaces are U+0020."""
    codes = folder / "own-codes"
    ours = exactbpe.Tokenizer(exactbpe.train([training], VOCAB_SIZE))
    formats.save(ours, codes, "subword-nmt")
    assert formats.load(codes).merges == ours.merges

    def segmented(line: str) -> str:
        return " ".join("@@ ".join(ours.tokenize(word)) for word in line.split())

    plain = {
        name: "\n".join(" ".join(line.split()) for line in text.split("\n")) for name, text in inputs.items()
    }
    yield from applied(folder, codes, plain, segmented, "subword-nmt with our codes")


def applied(folder, codes, inputs, apply, what) -> Iterator[tuple[str, str]]:  # type: ignore[no-untyped-def]
    source, target = folder / "in", folder / "out"
    for name, text in inputs.items():
        source.write_text(text, newline="")
        real("apply-bpe", "--codes", codes, "--input", source, "--output", target)
        ours = "\n".join(map(apply, text.split("\n")))
        yield f"{what} on {name}", verdict(target.read_bytes(), ours.encode())


def real(*arguments: object) -> None:
    program = Path(sys.executable).with_name("subword-nmt")
    subprocess.run([program, *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def sentencepiece(folder: Path, training: str, inputs: dict[str, str]) -> Iterator[tuple[str, str]]:
    import sentencepiece

    lines = [" ".join(line.split()) for line in cut(training, MEGABYTE).split("\n")]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in lines if line),
        model_prefix=str(folder / "sp"),
        model_type="bpe",
        vocab_size=12_000,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        byte_fallback=True,
        max_sentence_length=100_000,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", formats.LossyWarning)  # other ids
        ours = formats.load(folder / "sp.model", lossy=True)
    for name, text in inputs.items():
        plain = [" ".join(line.split()) for line in text.split("\n")]
        want = theirs.encode(plain, out_type=str)
        got = [[ours.id_to_token(id) for id in ours.encode(line)] for line in plain]
        yield f"sentencepiece on {name}", verdict(got, want)


def verdict(got: object, want: object) -> str:
    size = len(want) if isinstance(want, bytes) else sum(map(len, want))  # type: ignore[arg-type]
    return f"equal ({size} tokens or bytes)" if got == want else "DIFFERENT"


def loading(folder: Path, n: int = 500_000) -> None:
    rng = random.Random(1)
    alphabet = [chr(0x4E00 + index) for index in range(3000)]
    symbols, merges, seen = list(alphabet), [], set()
    while len(merges) < n:
        left, right = rng.choice(symbols), rng.choice(symbols)
        if len(left + right) < 8 and left + right not in seen:
            seen.add(left + right)
            symbols.append(left + right)
            merges.append([left, right])
    path = folder / "large.json"
    tokenizer = exactbpe.Tokenizer(merges, alphabet)
    with timed("500,000 merges: save"):
        formats.save(tokenizer, path)
    for _ in range(5):
        with timed("500,000 merges: load"):
            formats.load(path)
    for name, file in {"gpt2": "merges.txt", "subword-nmt": "codes", "fastbpe": "counted"}.items():
        formats.save(tokenizer, folder / file, name)
        for _ in range(5):
            with timed(f"500,000 merges: load {name}"):
                formats.load(folder / file, name)
    data = path.read_bytes()
    with timed("  of it json.loads"):
        json.loads(data)
    with timed("  of it Tokenizer"):
        exactbpe.Tokenizer(merges, alphabet)


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"{what:51} {time.perf_counter() - start:.2f} s", flush=True)


if __name__ == "__main__":
    main()
