"""The command line, run as a process on real files: what it writes, what it refuses, how it ends."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import exactbpe
import pytest
from exactbpe import Tokenizer, WordCounts

COMMAND = [sys.executable, "-m", "exactbpe"]
ENVIRONMENT = {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200"}
SECONDS = 60  # when something hangs

TEXT = "low low lower lowest\nnewest newest newest widest\n"
MERGES = exactbpe.train([TEXT], 20)

needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")


class Result:
    def __init__(self, status: int, out: bytes, err: bytes) -> None:
        self.status, self.bytes = status, out
        self.out, self.err = out.decode(), err.decode()

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    def __repr__(self) -> str:
        return f"<{self.status}: {self.out!r} {self.err!r}>"


def run(*arguments: str | bytes | Path, stdin: str | bytes = b"", **options: object) -> Result:
    """Run the command in the directory of ``cwd=`` or here."""
    sent = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(  # type: ignore[call-overload]
        [*COMMAND, *arguments],
        **{"input": sent, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        env=ENVIRONMENT,
        timeout=SECONDS,
    )
    return Result(done.returncode, done.stdout or b"", done.stderr or b"")


def refusal(result: Result) -> str:
    """The message of a run that was refused as all are: status 2 and one line."""
    assert result.status == 2, result
    assert result.err.startswith("exactbpe: error: "), result
    assert result.err.endswith("\n"), result
    assert len(result.err.splitlines()) == 1, result
    return result.err.removeprefix("exactbpe: error: ").rstrip("\n")


def succeed(result: Result) -> Result:
    assert result.status == 0, result
    return result


def run_all(commands: Iterable[str]) -> list[Result]:
    """Run many commands, some at the same time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda command: run(*command.split()), commands))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, with a text and its merges."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "merges.json").write_text(json.dumps(MERGES), encoding="utf-8")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ------------------------------------------------------------------------------------------ train


def test_train_writes_the_merges_of_the_library(here: Path) -> None:
    result = succeed(run("train", "text.txt", "--vocab-size", "20", "-o", "new.json"))
    content = (here / "new.json").read_text(encoding="utf-8")
    assert json.loads(content) == MERGES
    assert content.splitlines()[1] == f"{json.dumps(MERGES[0])},"
    assert len(content.splitlines()) == len(MERGES) + 2
    assert result.err == ""
    assert names(here) == {"text.txt", "merges.json", "new.json"}


def test_train_prints_a_summary(here: Path) -> None:
    out = run("train", "text.txt", "--vocab-size", "12", "-o", "new.json").out
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    summary = {name: value.strip() for name, value in rows.items()}
    assert float(summary.pop("seconds")) >= 0
    assert summary == {
        "texts": "1",
        "words": "8",
        "distinct words": "5",
        "characters": "10",
        "merges learned": "2",
        "stopped because": "the vocabulary has its 12 entries",
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--vocab-size", "1000", "--min-frequency", "3"], "no pair is left that occurs 3 times"),
        (["--vocab-size", "1000"], "no word is left that has two symbols"),
        (["--vocab-size", "1" + "0" * 30], "no word is left that has two symbols"),
        (["--vocab-size", "11"], "the vocabulary has its 11 entries"),
        (["--vocab-size", "3"], "the characters alone are more than 3"),
        (["--vocab-size", "-3", "--min-frequency", "-9"], "the characters alone are more than -3"),
    ],
)
def test_train_says_why_it_stopped(here: Path, options: list[str], reason: str) -> None:
    out = succeed(run("train", "text.txt", *options, "-o", "new.json")).out
    assert f"stopped because  {reason}\n" in out
    size, least = int(options[1]), int(options[3]) if len(options) > 2 else 1
    assert json.loads((here / "new.json").read_bytes()) == exactbpe.train([TEXT], size, least)


def test_no_merges_are_an_empty_list(here: Path) -> None:
    succeed(run("train", "-", "--vocab-size", "9", "-o", "new.json"))
    assert (here / "new.json").read_bytes() == b"[]\n"


def test_train_options(here: Path) -> None:
    options = ["--word-prefix", "▁", "--min-frequency", "2", "--threads", "3", "--vocab-size", "30"]
    succeed(run("train", *options, "-o", "new.json", "text.txt"))
    learned = exactbpe.learn(
        WordCounts({word: TEXT.split().count(word) for word in TEXT.split()}), 30, 2, word_prefix="▁"
    )
    assert json.loads((here / "new.json").read_bytes()) == learned.merges
    assert "▁" in (here / "new.json").read_text(encoding="utf-8")


def test_train_reads_files_standard_input_and_counts_together(here: Path) -> None:
    WordCounts({"zoo": 7}).save("a.counts")
    WordCounts({"zoom": 1}).save("b.counts")
    arguments = ["--counts", "a.counts", "--counts", "b.counts", "--vocab-size", "99", "-o", "new.json"]
    out = succeed(run("train", "text.txt", "-", *arguments, stdin="more\u2028zoo")).out
    assert "texts            2\n" in out
    assert "words            18\n" in out
    expected = exactbpe.train([TEXT, "more zoo", "zoo " * 7, "zoom"], 99)
    assert json.loads((here / "new.json").read_bytes()) == expected


def test_train_from_counts_alone(here: Path) -> None:
    WordCounts({"zoo": 7}).save("a.counts")
    assert (
        "texts            0\n"
        in succeed(run("train", "--counts", "a.counts", "--vocab-size", "9", "-o", "m")).out
    )
    assert json.loads((here / "m").read_bytes()) == [["o", "o"], ["z", "oo"]]


def test_a_file_named_twice_counts_twice(here: Path) -> None:
    out = succeed(run("train", "text.txt", "text.txt", "--vocab-size", "9", "-o", "new.json")).out
    assert "texts            2\nwords            16\n" in out


def test_merges_to_standard_output(here: Path) -> None:
    result = succeed(run("train", "text.txt", "--vocab-size", "20", "-o", "-"))
    assert json.loads(result.out) == MERGES
    assert "merges learned   10\n" in result.err
    assert names(here) == {"text.txt", "merges.json"}


def test_lone_surrogates_in_counts_come_out_escaped(here: Path) -> None:
    WordCounts({"a\ud800": 2}).save("a.counts")
    succeed(run("train", "--counts", "a.counts", "--vocab-size", "9", "-o", "new.json"))
    assert (here / "new.json").read_bytes() == b'[\n["a", "\\ud800"]\n]\n'


def test_the_output_keeps_its_mode_and_links(here: Path) -> None:
    (here / "real.json").write_text("old", encoding="utf-8")
    (here / "real.json").chmod(0o640)
    (here / "link.json").symlink_to("real.json")
    succeed(run("train", "text.txt", "--vocab-size", "20", "-o", "link.json"))
    assert (here / "link.json").is_symlink()
    assert json.loads((here / "real.json").read_bytes()) == MERGES
    assert (here / "real.json").stat().st_mode & 0o777 == 0o640


# ----------------------------------------------------------------------------------------- encode


def encoded(text: bytes, *options: str) -> bytes:
    return succeed(run("encode", "-m", "merges.json", *options, stdin=text)).bytes


LINES = {
    "": "",
    "\n": "\n",
    "low lowest\n": "low low est\n",
    "low\n\n\nlow": "low\n\n\nlow\n",
    " \t low \r\nlow\r\n": "low\nlow\n",
    "low\rlow\n": "low low\n",
    "low\u2028low\u2029low\x85low\x0blow\x0clow\x1clow\n": "low low low low low low low\n",
    "\ufefflow\u200b\0\n": "\ufeff low \u200b \0\n",
    "😀é漢\n": "😀 é 漢\n",
}


def test_one_line_out_for_each_line_in(here: Path) -> None:
    for number, text in enumerate(LINES):
        (here / str(number)).write_bytes(text.encode())
    files = map(str, range(len(LINES)))
    expected = "".join(LINES.values())
    assert succeed(run("encode", "-m", "merges.json", *files)).bytes == expected.encode()
    for number, (text, tokens) in enumerate(LINES.items()):
        if number < 4:
            assert encoded(text.encode()) == tokens.encode()
    lines = (
        encoded(b"".join(text.encode() for text in LINES if text.endswith("\n")), "--json")
        .decode()
        .split("\n")
    )
    complete = "".join(tokens for text, tokens in LINES.items() if text.endswith("\n"))
    assert [json.loads(line) for line in lines[:-1]] == [
        line.split(" ") if line else [] for line in complete.split("\n")[:-1]
    ]


def test_json_is_spelled_as_solve_spells_it(here: Path) -> None:
    assert encoded("low é\n\n".encode(), "--json") == '["low", "é"]\n[]\n'.encode()


def test_encode_equals_the_library_on_generated_text(here: Path) -> None:
    chance = random.Random(1)
    lines = ["".join(chance.choices("lowerstnid é\u2028\r", k=chance.randrange(50))) for _ in range(500)]
    expected = [" ".join(exactbpe.encode(line, MERGES)) for line in lines]
    assert encoded("\n".join([*lines, ""]).encode()).decode().split("\n") == [*expected, ""]


def test_a_giant_line(here: Path) -> None:
    assert encoded(b"lowest " * 300_000) == b"low est " * 299_999 + b"low est\n"


def test_hand_made_merges_go_by_rounds(here: Path) -> None:
    (here / "merges.json").write_text('\ufeff[["ab", "a"],\n\n["a", "b"]]', encoding="utf-8")
    assert encoded(b"abab") == b"ab ab\n"


def test_encode_several_files_and_standard_input_in_order(here: Path) -> None:
    (here / "no newline").write_bytes(b"est")
    arguments = ["encode", "no newline", "-", "-m", "merges.json", "no newline"]
    assert succeed(run(*arguments, stdin="low")).out == "est\nlow\nest\n"


def test_encode_with_a_prefix(here: Path) -> None:
    assert encoded(b"low x\n", "--word-prefix", "_") == b"_ low _ x\n"


# ----------------------------------------------------------------------------------------- counts


def test_count_writes_the_counts_of_the_library(here: Path) -> None:
    result = succeed(run("count", "text.txt", "-", "-o", "a.counts", "--threads", "2", stdin="low\u3000new"))
    expected = WordCounts()
    expected.update([TEXT, "low new"])
    assert WordCounts.load("a.counts") == expected
    expected.save("same")
    assert (here / "same").read_bytes() == (here / "a.counts").read_bytes()
    assert result.out.startswith("texts            2\nwords            10\ndistinct words   6\nseconds  ")
    assert result.err == ""


def test_merge_counts_adds_and_may_replace_an_input(here: Path) -> None:
    WordCounts({"a": 1, "b": 2}).save("a.counts")
    WordCounts({"b": 3, "c": 4}).save("b.counts")
    result = succeed(run("merge-counts", "a.counts", "b.counts", "b.counts", "-o", "a.counts"))
    assert WordCounts.load("a.counts") == WordCounts({"a": 1, "b": 8, "c": 8})
    assert (result.out, result.err) == ("", "")
    assert names(here) == {"text.txt", "merges.json", "a.counts", "b.counts"}


# ------------------------------------------------------------------------------------------ solve


def test_solve_answers_line_by_line() -> None:
    requests = [
        {"task": "train", "corpus": [TEXT], "vocab_size": 20},
        {"task": "encode", "text": "lowest é\u2028\ud800", "merges": MERGES},
    ]
    spelled = [json.dumps(requests[0], ensure_ascii=False), json.dumps(requests[1])]
    result = succeed(run("solve", stdin="\r\n".join(spelled)))
    assert result.out.split("\n") == [*map(exactbpe.solve, spelled), ""]
    assert result.err == ""


def test_solve_without_a_request() -> None:
    assert succeed(run("solve")).out == ""


def test_solve_refuses_a_line_and_goes_on() -> None:
    good = b'{"task": "encode", "text": "a", "merges": []}'
    bad = [
        b"",
        b"no json",
        b"\xff\xfe",
        b"[1]",
        b'{"task": "a\\n\\u2028"}',
        b"[" * 100_000,
        b'{"task": "encode", "text": 1}',
    ]
    result = run("solve", stdin=b"".join(line + b"\n" + good + b"\n" for line in bad))
    assert result.status == 1
    assert result.err == ""
    answers = result.out.splitlines()
    assert answers[1::2] == ['{"tokens": ["a"]}'] * len(bad)
    errors = [json.loads(line) for line in answers[::2]]
    assert all(list(error) == ["error"] for error in errors)
    assert len(errors) == len(bad)
    assert "the request is not valid UTF-8 at byte 0" in errors[2]["error"]


def test_solve_answers_before_the_next_request_is_sent() -> None:
    with subprocess.Popen([*COMMAND, "solve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ("a", "no"):
            process.stdin.write(json.dumps({"task": "encode", "text": text, "merges": []}).encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], SECONDS)[0], "no answer"
            assert json.loads(process.stdout.readline()) == {"tokens": list(text)}
        process.stdin.close()
        assert process.wait(SECONDS) == 0


# ---------------------------------------------------------------------------------- what is refused


REFUSED = [
    ("", "Missing command. Try 'exactbpe --help'."),
    ("nosuch", "No such command 'nosuch'. Try 'exactbpe --help'."),
    ("train text.txt -o new", "Missing option '--vocab-size'. Try 'exactbpe train --help'."),
    ("train --vocab-size 9 -o new", "Nothing to train on: name a FILE, '-' or --counts."),
    ("train text.txt --vocab-size 9.5 -o new", "Invalid value for '--vocab-size': '9.5'"),
    ("train text.txt --vocab-size 9 --min-frequency x -o new", "'--min-frequency': 'x'"),
    ("train text.txt --vocab-size 9 --threads 0 -o new", "'--threads': 0"),
    ("train text.txt --vocab-size 9 --nosuch -o new", "No such option"),
    ("train nosuch --vocab-size 9 -o new", "File 'nosuch' does not exist."),
    ("train . --vocab-size 9 -o new", "File '.' is a directory."),
    ("train - - --vocab-size 9 -o new", "Standard input ('-') can be read only once."),
    ("train text.txt --vocab-size 9 -o nosuch/new", "there is no folder"),
    ("train text.txt --vocab-size 9 -o .", "File '.' is a directory."),
    ("train text.txt --vocab-size 9 -o ./text.txt", "it is also an input and would be overwritten"),
    ("train text.txt --vocab-size 9 --counts merges.json -o merges.json", "it is also an input"),
    ("train text.txt --vocab-size 9 --counts nosuch -o new", "'--counts': File 'nosuch' does not exist."),
    ("train text.txt --vocab-size 9 --counts text.txt -o new", "text.txt: "),
    ("train latin1 --vocab-size 9 -o new", "latin1 is not valid UTF-8 at byte 6"),
    ("encode text.txt", "Name --merges, or --codes alone"),
    ("encode -m nosuch", "'--merges': File 'nosuch' does not exist."),
    ("encode -m -", "'--merges': File '-' does not exist."),
    ("encode -m merges.json text.txt nosuch", "File 'nosuch' does not exist."),
    ("encode -m latin1.json", "latin1.json, line 2, is not valid UTF-8 at byte 6"),
    ("encode -m latin1", "latin1: neither name nor content tells the format"),
    ("count -o new", "Missing argument 'FILE...'. Try 'exactbpe count --help'."),
    ("count text.txt -o text.txt", "it is also an input"),
    ("count latin1 -o new", "latin1 is not valid UTF-8 at byte 6"),
    ("merge-counts text.txt -o new", "text.txt: "),
    ("merge-counts a.counts -o nosuch/new", "there is no folder"),
    ("solve text.txt", "unexpected extra argument"),
]


def test_wrong_use_and_bad_input(here: Path) -> None:
    (here / "latin1").write_bytes("low\nna\xefve\n".encode("latin-1"))
    (here / "latin1.json").write_bytes("low\nna\xefve\n".encode("latin-1"))
    WordCounts({"a": 1}).save("a.counts")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    for (arguments, said), result in zip(
        REFUSED, run_all(arguments for arguments, _ in REFUSED), strict=True
    ):
        assert said in refusal(result), arguments
        assert result.out == "", arguments
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


MALFORMED = [
    ("", "not JSON at line 1, column 1"),
    ('[\n["a", "b"],\n["c" "d"]\n]', "not JSON at line 3, column 6"),
    ('[["a", "b"], ["c"]]', "merges[1] must have two parts, not 1"),
    ('[["a", "b"], ["c", ""]]', "merges[1]: the right part is empty"),
    ('[["a", "b"], ["c", 3]]', "merges[1]: the right part must be a str"),
    ('["ab"]', "merges[0] must be a list"),
    ("[null]", "merges[0] must be a list"),
    ("{}", 'there is no "model", so it is not a tokenizer.json'),
    ("7" * 5_000, "not a list of merges"),
    ("[" * 100_000, "not a list of merges"),
]


def test_malformed_merges(here: Path) -> None:
    for number, (content, _) in enumerate(MALFORMED):
        (here / f"{number}.json").write_text(content, encoding="utf-8")
    results = run_all(f"encode text.txt -m {number}.json" for number in range(len(MALFORMED)))
    for number, ((_, said), result) in enumerate(zip(MALFORMED, results, strict=True)):
        assert f"{number}.json: {said}" in refusal(result)


def test_bytes_that_are_not_utf8_are_named_by_file_and_offset(here: Path) -> None:
    (here / "bad").write_bytes(b"low\r\n\nlow \xff low\n")
    result = run("encode", "-m", "merges.json", "text.txt", "bad")
    assert "bad is not valid UTF-8 at byte 10" in refusal(result)
    assert result.out.splitlines()[-2:] == ["low", ""]  # what came before is written
    assert "standard input is not valid UTF-8 at byte 3" in refusal(
        run("encode", "-m", "merges.json", stdin=b"abc\xc3")
    )
    assert "standard input is not valid UTF-8 at byte 3" in refusal(
        run("count", "-", "-o", "new", stdin=b"abc\xc3")
    )


def test_damaged_counts(here: Path) -> None:
    WordCounts({f"word{i}": i + 1 for i in range(100)}).save("good.counts")
    good = (here / "good.counts").read_bytes()
    for number, damaged in enumerate(
        (b"", good[:-1], good + b"x", good[:50] + bytes([good[50] ^ 1]) + good[51:])
    ):
        (here / f"bad{number}.counts").write_bytes(damaged)
    commands = [f"train --vocab-size 9 -o new --counts bad{number}.counts" for number in range(4)]
    for number, result in enumerate(run_all([*commands, "merge-counts good.counts bad3.counts -o new"])):
        assert f"bad{min(number, 3)}.counts: " in refusal(result)
    assert "new" not in names(here)


def test_counts_that_overflow(here: Path) -> None:
    WordCounts({"ab": 2**64 - 1}).save("a.counts")
    said = "occurs more than 2**64 - 1 times"
    assert said in refusal(run("merge-counts", "a.counts", "a.counts", "-o", "new"))
    assert said in refusal(
        run(
            "train",
            "text.txt",
            "--counts",
            "a.counts",
            "--counts",
            "a.counts",
            "--vocab-size",
            "9",
            "-o",
            "new",
        )
    )
    assert names(here) == {"text.txt", "merges.json", "a.counts"}


def test_codes(here: Path) -> None:
    (here / "codes").write_text("#version: 0.2\nl o\nlo w</w>\n")
    (here / "counted").write_text("l o 2\nlo w</w> 1\n")
    for codes in ("codes", "counted"):
        result = succeed(run("encode", "--codes", codes, stdin=b"low  lower\r\n\n lo"))
        assert result.bytes == b"low lo@@ w@@ e@@ r\r\n\n l@@ o"
    said = "Name --merges, or --codes alone"
    assert said in refusal(run("encode"))
    for options in (["-m", "merges.json"], ["--json"], ["--word-prefix", "_"]):
        assert said in refusal(run("encode", "--codes", "codes", *options))
    (here / "codes").write_text("#version: 0.2\nl o\nlow\n")
    assert "codes, line 3 (byte 18) must be a rule" in refusal(run("encode", "--codes", "codes"))


@pytest.mark.parametrize(
    ("prefix", "said"), [(b"a b", "must not hold whitespace"), (b"\xff", "it is not valid UTF-8")]
)
def test_bad_prefixes(here: Path, prefix: bytes, said: str) -> None:
    assert said in refusal(
        run("train", "text.txt", "--vocab-size", "9", "--word-prefix", prefix, "-o", "new")
    )
    assert said in refusal(run("encode", "-m", "merges.json", "--word-prefix", prefix))


@not_as_root
def test_no_permission(here: Path) -> None:
    (here / "secret").touch(0o000)
    (here / "folder").mkdir(0o500)
    assert "secret" in refusal(run("train", "secret", "--vocab-size", "9", "-o", "new"))
    assert "secret" in refusal(run("train", "text.txt", "--vocab-size", "9", "-o", "secret"))
    assert "folder" in refusal(run("train", "text.txt", "--vocab-size", "9", "-o", "folder/new"))


def little_disk() -> None:
    # Nothing nearer to a full disk can be had without rights.
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


@pytest.mark.parametrize(
    "arguments",
    ["train text.txt --vocab-size 20 -o old", "count text.txt -o old", "merge-counts a.counts -o old"],
)
def test_a_file_that_cannot_be_written(here: Path, arguments: str) -> None:
    WordCounts({"word" * 30: 1}).save("a.counts")
    (here / "old").write_bytes(b"as it was")
    result = run(*arguments.split(), preexec_fn=little_disk)
    assert "old: File too large" in refusal(result)
    assert (here / "old").read_bytes() == b"as it was"
    assert names(here) == {"text.txt", "merges.json", "a.counts", "old"}


# -------------------------------------------------------------------------------- names of files


def test_names_that_are_not_utf8(here: Path) -> None:
    try:
        Path(os.fsdecode(b"\xff.txt")).write_text(TEXT, encoding="utf-8")
    except OSError:
        pytest.skip("the file system wants names in UTF-8")
    succeed(run("train", b"\xff.txt", "--vocab-size", "20", "-o", b"\xfe.json"))
    assert succeed(run("encode", "-m", b"\xfe.json", b"\xff.txt")).out.startswith("low low low ")
    assert "does not exist" in refusal(run("encode", "-m", "merges.json", b"\xfd"))
    Path(os.fsdecode(b"\xff.txt")).write_bytes(b"\xff")
    assert r"\udcff.txt is not valid UTF-8 at byte 0" in refusal(
        run("encode", "-m", "merges.json", b"\xff.txt")
    )


def test_names_that_look_like_options_or_standard_input(here: Path) -> None:
    (here / "--json").write_bytes(b"low\n")
    (here / "-").write_bytes(b"est\n")
    assert succeed(run("encode", "-m", "merges.json", "--", "--json", "./-", stdin="x")).out == "low\nest\n"
    assert succeed(run("encode", "-m", "merges.json", "--", "-", stdin="x")).out == "x\n"
    succeed(run("train", "--vocab-size", "20", "-o", "./-", "--", "text.txt"))
    assert json.loads((here / "-").read_bytes()) == MERGES


def test_a_message_is_one_line_whatever_a_name_holds(here: Path) -> None:
    name = "a\nb\x1b[31m\u2028"
    Path(name).write_bytes(b"\xff")
    assert r"a\nb\x1b[31m\u2028 is not valid UTF-8" in refusal(run("count", name, "-o", "new"))


def test_a_pipe_is_a_file_too(here: Path) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["/bin/sh", "-c", "cat text.txt > pipe"]):
        succeed(run("train", "pipe", "--vocab-size", "20", "-o", "new.json"))
    assert json.loads((here / "new.json").read_bytes()) == MERGES


# ----------------------------------------------------------------------------- how a process ends


@needs_dev_full
@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "train text.txt --vocab-size 20 -o new",
        "train text.txt --vocab-size 20 -o -",
        "encode -m merges.json text.txt",
        "count text.txt -o new",
        "solve",
    ],
)
def test_output_that_cannot_be_written(here: Path, arguments: str) -> None:
    with Path("/dev/full").open("wb") as full:
        result = run(*arguments.split(), stdin="{}\n", stdout=full)
    assert "standard output: No space left on device" in refusal(result)


@needs_dev_full
def test_an_output_file_that_is_no_regular_file(here: Path) -> None:
    assert "/dev/full: No space left" in refusal(
        run("train", "text.txt", "--vocab-size", "20", "-o", "/dev/full")
    )
    assert "/dev/full: No space left" in refusal(run("count", "text.txt", "-o", "/dev/full"))
    succeed(run("train", "text.txt", "--vocab-size", "20", "-o", "/dev/null"))


@pytest.mark.parametrize("lines", [1, 20_000])
@pytest.mark.parametrize(
    "arguments", ["encode -m merges.json big", "solve", "train big --vocab-size 9 -o new"]
)
def test_a_closed_pipe_ends_quietly(here: Path, arguments: str, lines: int) -> None:
    (here / "big").write_bytes(b"lowest\n" * lines)
    requests = b'{"task": "encode", "text": "a", "merges": []}\n' * lines
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        result = run(*arguments.split(), stdin=requests, stdout=closed)
    assert (result.status, result.err) == (0, "")


def test_head_ends_encode_quietly(here: Path) -> None:
    (here / "big").write_bytes(b"lowest\n" * 100_000)
    command = f"'{sys.executable}' -m exactbpe encode -m merges.json big | head -n 1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=SECONDS, check=False)
    assert (done.stdout, done.stderr) == (b"low est\n", b"")


@pytest.mark.parametrize(
    ("closed", "said"), [(0, "standard input is closed"), (1, "standard output is closed")]
)
def test_closed_standard_streams(here: Path, closed: int, said: str) -> None:
    command = f"exec '{sys.executable}' -m exactbpe encode -m merges.json {closed}>&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=SECONDS, check=False)
    assert said in refusal(Result(done.returncode, done.stdout, done.stderr))


def start(*arguments: str, **options: int) -> subprocess.Popen[bytes]:
    """Start the command where Ctrl-C reaches it, even if whoever runs the tests is deaf to it."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},  # type: ignore[call-overload]
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words enough that to learn from them takes long."""
    path = tmp_path_factory.mktemp("large") / "large.txt"
    path.write_bytes(random.Random(2).randbytes(12_000_000).hex().encode())
    return path


def test_ctrl_c_in_training(here: Path, large: Path) -> None:
    (here / "old.json").write_bytes(b"as it was")
    # Its reading of the second text tells that it runs; it cannot end before that text does.
    os.mkfifo("pipe")
    process = start("train", "pipe", str(large), "--vocab-size", "100000", "-o", "old.json")
    with Path("pipe").open("wb") as pipe:
        pipe.write(b"low low\n")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err == b"exactbpe: interrupted\n"
    assert (here / "old.json").read_bytes() == b"as it was"
    assert names(here) == {"text.txt", "merges.json", "old.json", "pipe"}


@pytest.mark.parametrize("arguments", ["train - --vocab-size 9 -o new", "count - -o new"])
def test_ctrl_c_in_waiting_for_input(here: Path, arguments: str) -> None:
    os.mkfifo("pipe")
    process = start(*arguments.replace(" - ", " pipe - ").split())
    Path("pipe").write_bytes(b"low\n")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"exactbpe: interrupted\n")
    assert names(here) == {"text.txt", "merges.json", "pipe"}


def test_ctrl_c_in_encoding_and_solving(here: Path) -> None:
    os.mkfifo("pipe")
    process = start("encode", "-m", "merges.json", "pipe", "-")
    Path("pipe").write_bytes(b"low\n")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=SECONDS)[1] == b"exactbpe: interrupted\n"
    assert process.returncode == 130
    process = start("solve")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"{}\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith(b'{"error": ')
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=SECONDS)[1] == b"exactbpe: interrupted\n"
    assert process.returncode == 130


# --------------------------------------------------------------------------------- on a terminal


def on_terminal(columns: int, *arguments: str) -> str:
    """What the command writes to standard error, when that is a terminal."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = start(*arguments, stderr=its)
    os.close(its)
    written = b""
    while True:
        try:
            block = os.read(mine, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        written += block
    os.close(mine)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    return written.decode()


def test_progress_is_shown_on_a_terminal_only(here: Path) -> None:
    arguments = ["train", "text.txt", "--vocab-size", "20", "-o", "new.json"]
    shown = on_terminal(100, *arguments)
    for stage, unit in (("count", "MB/s"), ("learn", "merges/s")):
        assert f"{stage}  [########################]  100%" in shown
        assert unit in shown
    assert shown.count("\n") == 2
    assert shown.endswith("\x1b[?25h\r\n")  # the cursor is back
    assert on_terminal(40, *arguments) == ""
    assert "count" in on_terminal(80, "count", "text.txt", "text.txt", "-o", "new.counts")
    assert run(*arguments).err == ""


# ------------------------------------------------------------------------------------------- help


OPTIONS = {
    "": ["--version", "--help", "train", "encode", "count", "merge-counts", "solve"],
    "train": [
        "[FILE]...",
        "--vocab-size N",
        "--min-frequency M",
        "--counts",
        "--threads T",
        "--word-prefix P",
        "-o, --output",
    ],
    "encode": ["[FILE]...", "-m, --merges", "--json", "--word-prefix P"],
    "count": ["FILE...", "-o, --output", "--threads T"],
    "merge-counts": ["COUNTS...", "-o, --output"],
    "solve": ['{"error": "..."}', "exit status 1", "blank"],
}


def test_help_mentions_everything_and_fits_80_columns() -> None:
    for command, result in zip(OPTIONS, run_all(f"{command} --help" for command in OPTIONS), strict=True):
        out = succeed(result).out
        text = " ".join(out.split())
        assert all(option in text for option in [*OPTIONS[command], "Example:", "-h, --help"]), command
        assert max(map(len, out.splitlines())) <= 80, command
        assert len(out.splitlines()) <= 32, command
    assert run("solve", "-h").out == out


def test_version() -> None:
    assert succeed(run("--version")).out == f"exactbpe {exactbpe.__version__}\n"


def test_the_installed_script_is_the_same_command() -> None:
    script = Path(sys.executable).with_name("exactbpe")
    if not script.exists():
        pytest.skip("the package is not installed here")
    done = subprocess.run([script, "--version"], capture_output=True, timeout=SECONDS, check=False)
    assert done.stdout == run("--version").bytes


def test_convert_and_encode_with_the_converted(here: Path) -> None:
    assert run("convert", "merges.json", "tokenizer.json") == run("convert", "tokenizer.json", "merges.txt")
    expected = run("encode", "-m", "merges.json", "text.txt")
    assert expected.status == 0
    for path in ("tokenizer.json", "merges.txt"):
        assert run("encode", "-m", path, "text.txt").bytes == expected.bytes
    assert "there is no format 'nothing'" in refusal(
        run("convert", "merges.json", "out.x", "--to", "nothing")
    )
    assert not (here / "out.x").exists()


def test_convert_is_told_what_a_file_does_not_say(here: Path) -> None:
    options = ["--unknown", "<unk>", "--word-prefix", "_"]
    succeed(run("convert", "merges.json", "tokenizer.json", *options))
    tokenizer = Tokenizer.load(here / "tokenizer.json")
    assert (tokenizer.unknown, tokenizer.word_prefix, tokenizer.merges) == ("<unk>", "_", MERGES)
    said = "merges.txt: the files cannot hold word_prefix='_'"
    assert said in refusal(run("convert", "tokenizer.json", "merges.txt"))
    lossy = run("convert", "tokenizer.json", "merges.txt", "--lossy")
    assert lossy.status == 0
    assert f"exactbpe: warning: {said}" in lossy.err
    succeed(run("convert", "merges.txt", "again", "--from", "gpt2", "--to", "tokenizer.json", *options))
    assert (here / "again").read_bytes() == (here / "tokenizer.json").read_bytes()
    succeed(run("convert", "merges.txt", "list.json", "--to", "merges", "--unknown", "<unk>"))
    assert json.loads((here / "list.json").read_bytes()) == MERGES
    assert "unknown must be" in refusal(run("convert", "merges.json", "new.json", "--unknown", ""))


def test_train_refuses_a_format_before_it_starts(here: Path) -> None:
    (here / "huge").write_bytes(b"low \xff")  # reading it would be another error
    for arguments, said in (
        ("-o new --to nothing", "there is no format 'nothing'"),
        ("-o new --to sentencepiece", "the format sentencepiece can only be read"),
        ("-o new.txt --to gpt2", "the format gpt2 needs the name merges.txt"),
        ("-o codes --to subword-nmt --word-prefix _", "cannot hold word_prefix='_'"),
    ):
        assert said in refusal(run("train", "huge", "--vocab-size", "60", *arguments.split()))
    assert names(here) == {"text.txt", "merges.json", "huge"}


@pytest.mark.skipif(os.name != "posix", reason="no named pipes")
def test_a_tokenizer_from_a_pipe(here: Path) -> None:
    os.mkfifo(here / "pipe")
    writer = threading.Thread(target=(here / "pipe").write_bytes, args=((here / "merges.json").read_bytes(),))
    writer.start()
    assert run("encode", "-m", "pipe", "text.txt") == run("encode", "-m", "merges.json", "text.txt")
    writer.join()


def test_train_writes_any_format(here: Path) -> None:
    arguments = ["train", "text.txt", "--vocab-size", "60", "-o"]
    assert run(*arguments, "learned.json").status == 0
    assert run(*arguments, "tokenizer.json", "--to", "tokenizer.json").status == 0
    assert Tokenizer.load(here / "tokenizer.json").merges == json.loads((here / "learned.json").read_bytes())
    assert "--to needs a file by name" in refusal(run(*arguments, "-", "--to", "tokenizer.json"))


def test_a_memory_limit_changes_no_output(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low lower lowest newest\n" * 1000, "utf-8")
    for limit in ([], ["--memory-limit", "1000000"]):
        run("train", "text", "--vocab-size", "20", "-o", f"merges{len(limit)}", *limit, cwd=tmp_path)
        run("count", "text", "-o", f"counts{len(limit)}", *limit, cwd=tmp_path)
    for name in ("merges", "counts"):
        assert (tmp_path / f"{name}0").read_bytes() == (tmp_path / f"{name}2").read_bytes()
    done = run("train", "text", "--vocab-size", "20", "-o", "none", "--memory-limit", "0", cwd=tmp_path)
    assert done.status == 2
    assert "memory_limit is 0 bytes, but learning needs at least" in done.err
