"""Loading is safe and plain, whatever the file holds; and formats are told apart."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import source

GOOD = Tokenizer([["l", "o"], ["lo", "w"]], "élow")
WRITABLE = [name for name, format in formats.FORMATS.items() if format.spell]
NAMES = {"gpt2": "merges.txt"}


def save(folder: Path, format: str) -> Path:
    path = folder / NAMES.get(format, "file")
    formats.save(GOOD, path, format)
    return path


def refusal(path: Path, format: str) -> str:
    """Why a damaged file is refused; some damage leaves a good one."""
    try:
        formats.load(path, format)
    except BPEError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("format", WRITABLE)
def test_a_file_cut_anywhere_or_changed_anywhere(format: str, tmp_path: Path) -> None:
    path = save(tmp_path, format)
    data = path.read_bytes()
    damaged = [data[:length] for length in range(0, len(data), 2)]
    damaged += [
        data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :] for i in range(len(data)) for bit in (1, 0x80)
    ]
    for some in damaged:
        path.write_bytes(some)
        message = refusal(path, format)
        assert not message or (str(path.parent) in message and len(message) < 1000)


@pytest.mark.parametrize("format", formats.FORMATS)
@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 200,
        os.urandom(200),
        b"\x0a" + b"\xff" * 8 + b"\x10" + b"x" * 190,  # 2**60 bytes are to follow
        b'{"model": {"type": "BPE", "vocab": {"a": 1152921504606846976}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {"a": ' + b"9" * 10_000 + b'}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {"a": NaN}, "merges": []}}',
        b'{"a":' * 1_000_000,
        b'{"model": ' + b"[" * 1_000_000,
        b"a" * 10_000_000 + b" b\n",
        b"a " + b"b" * 10_000_000 + b" 7\n",
        b'{"model": {"type": "BPE", "vocab": {"' + b"a" * 10_000_000 + b'": 0}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {}, "merges": [["' + b"a" * 10_000_000 + b'", "b"]]}}',
        b" " * 10_000_000,
        b"\n" * 1_000_000,
        b'"cyclic": {"$ref": "#"}',
    ],
)
def test_hostile_files_fail_fast(format: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / NAMES.get(format, "file")
    path.write_bytes(data)
    (tmp_path / "vocab.json").write_bytes(data)
    start = time.perf_counter()
    with pytest.raises(BPEError) as caught:
        formats.load(path, format)
    assert time.perf_counter() - start < 10  # a tenth of it in truth
    assert len(str(caught.value)) < 1000


@pytest.mark.skipif(os.name != "posix", reason="no /dev/zero")
def test_files_without_end() -> None:
    before, source.MAX_FILE = source.MAX_FILE, 1 << 24
    try:
        with pytest.raises(BPEError, match="longer than 16777216 bytes"):
            formats.load("/dev/zero", "tokenizer.json")
    finally:
        source.MAX_FILE = before


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for path in (loop, tmp_path, tmp_path / "missing.json"):
        with pytest.raises(OSError, match=str(path)):
            formats.load(path, "tokenizer.json")


@pytest.mark.skipif(os.name != "posix", reason="no named pipes")
def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=formats.save, args=(GOOD, pipe, "tokenizer.json"))
    writer.start()
    assert formats.load(pipe) == GOOD
    writer.join()


def test_what_is_too_long_is_not_written(tmp_path: Path) -> None:
    rules = [["a" * 2**i, "a" * 2**i] for i in range(21)]
    formats.save(Tokenizer(rules[:20]), tmp_path / "file.json")
    assert formats.load(tmp_path / "file.json").merges == rules[:20]
    with pytest.raises(BPEError, match="a token has 2097152 characters; 1048576 are the most"):
        formats.save(Tokenizer(rules), tmp_path / "longer.json")


# -------------------------------------------------------------------------------------- which format


@pytest.mark.parametrize("format", WRITABLE)
def test_same_tokenizer_same_bytes(format: str, tmp_path: Path) -> None:
    path = save(tmp_path, format)
    first = path.read_bytes()
    formats.save(Tokenizer([*GOOD.merges], "wolé", cache_bytes=0), path, format)
    assert path.read_bytes() == first
    assert formats.load(path, format).merges == GOOD.merges


@pytest.mark.parametrize("format", ["tokenizer.json", "merges", "gpt2", "subword-nmt", "fastbpe"])
def test_the_content_tells_the_format(format: str, tmp_path: Path) -> None:
    assert formats.load(save(tmp_path, format)).merges == GOOD.merges


def test_the_name_tells_the_format(tmp_path: Path) -> None:
    for name, start in (("a.json", b"{"), ("b.tiktoken", b"b"), ("merges.txt", b"#version")):
        formats.save(GOOD, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert formats.load(tmp_path / name) == GOOD


def test_nothing_tells_the_format(tmp_path: Path) -> None:
    choices = "format must be one of tokenizer.json, merges, gpt2, subword-nmt, fastbpe, "
    with pytest.raises(BPEError, match="the name does not tell the format: " + choices + "tiktoken$"):
        formats.save(GOOD, tmp_path / "file")
    (tmp_path / "file").write_text("#version: 0.2\nl o\n")
    with pytest.raises(BPEError, match="neither name nor content .*" + choices + "sentencepiece, tiktoken$"):
        formats.load(tmp_path / "file")
    with pytest.raises(BPEError, match="there is no format 'pickle': " + choices):
        formats.load(tmp_path / "file", "pickle")
    with pytest.raises(TypeError, match=r"tokenizer must be an exactbpe\.Tokenizer, not list"):
        formats.save([], tmp_path / "file.json")  # type: ignore[arg-type]


def test_convert(tmp_path: Path) -> None:
    source, target = tmp_path / "tokenizer.json", tmp_path / "merges.txt"
    formats.save(Tokenizer(GOOD.merges, GOOD.alphabet, unknown="<unk>"), source)
    formats.convert(source, target)
    assert formats.load(target, unknown="<unk>") == formats.load(source)
    formats.convert(target, tmp_path / "codes", to="subword-nmt", unknown="<unk>")
    assert formats.load(tmp_path / "codes").merges == GOOD.merges
    formats.convert(tmp_path / "codes", source, source_format="subword-nmt", alphabet="élow")
    assert formats.load(source) == GOOD
    assert json.loads(source.read_text())["model"]["unk_token"] not in GOOD.vocab
