"""The command line. What it computes is in the library; here are arguments, streams and messages."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import click

import exactbpe
from exactbpe import BPEError, Learned, Tokenizer, WordCounts, merges_file
from exactbpe.files import not_utf8, replacing
from exactbpe.reference import one_line
from exactbpe.terminal import StageLine
from exactbpe.training import checked_prefix

STANDARD = "-"  # standard input or output, where a file is asked for


def main() -> NoReturn:
    """Run the command that ``sys.argv`` asks for and end the process with its status."""
    try:
        status = _run(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk must show now, not when Python has gone
    except KeyboardInterrupt:
        _discard_output()
        _say("interrupted")
        status = 130
    except BrokenPipeError:  # whoever reads has had enough
        _discard_output()
        status = 0
    except (click.ClickException, BPEError, OSError, OverflowError, MemoryError) as error:
        _say(f"error: {_message(error)}")
        _flush_or_discard_output()
        status = 2
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    # Not `commands.main`: it has its own ways with Ctrl-C, closed pipes and the status.
    try:
        with commands.make_context("exactbpe", arguments) as context:
            return commands.invoke(context) or 0
    except click.exceptions.Exit as done:
        return done.exit_code


def _message(error: Exception) -> str:
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return error.message if isinstance(error.param, click.Argument) else error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{error.format_message()} Try '{error.ctx.command_path} --help'."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    return str(error) or "out of memory"


def _say(message: str) -> None:
    """Write one line to standard error, whatever file names and words ``message`` holds."""
    line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message)
    with contextlib.suppress(OSError):
        over_echo = "\r" if sys.stderr is not None and sys.stderr.isatty() else ""  # of ^C
        click.echo(f"{over_echo}exactbpe: {line}", err=True)


def _discard_output() -> None:
    """Let what is still in the buffer go nowhere when Python flushes it at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush_or_discard_output() -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _discard_output()


# ------------------------------------------------------------------------------------------ files


def _input_bytes() -> BinaryIO:
    if sys.stdin is None:
        raise click.ClickException("standard input is closed")
    return sys.stdin.buffer


def _output_bytes() -> BinaryIO:
    if sys.stdout is None:
        raise click.ClickException("standard output is closed")
    return sys.stdout.buffer


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Give errors of the system that name no file the name of one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or isinstance(error, BrokenPipeError):
            raise
        raise click.ClickException(f"{name}: {error.strerror or error}") from None


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """A file or standard input, with the name that messages use."""
    if path == STANDARD:
        with _naming("standard input"):
            yield _input_bytes(), "standard input"
    else:
        with _naming(path), Path(path).open("rb") as stream:
            yield stream, path


def _lines(path: str) -> Iterator[tuple[bytes, str, int]]:
    """The lines of a file, each with the name of the file and the offset of its first byte."""
    with _opened(path) as (stream, name):
        offset = 0
        for line in stream:  # of bytes: they end at U+000A and nowhere else
            yield line, name, offset
            offset += len(line)


def _decoded(content: bytes, name: str, offset: int = 0) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(name, offset + error.start) from None


def _read_tokenizer(
    path: str,
    format: str | None = None,
    *,
    lossy: bool = False,
    unknown: str | None = None,
    word_prefix: str = "",
) -> Tokenizer:
    from exactbpe import formats

    return formats.load(path, format, lossy=lossy, unknown=unknown, word_prefix=word_prefix or None)


def _check_format(output: str, format: str, word_prefix: str) -> None:
    """Refuse at once what would be refused at the end of long work."""
    from exactbpe import formats

    formats.spelled(Tokenizer([], word_prefix or "a", word_prefix=word_prefix), output, format)


def _write_merges(merges: Sequence[Sequence[str]], path: str) -> None:
    content = merges_file.spell(merges).encode()
    if path == STANDARD:
        _output_bytes().write(content)
    else:
        with _naming(path), replacing(path) as temporary:
            temporary.write_bytes(content)


def _check_files(inputs: Sequence[str], output: str = STANDARD) -> None:
    """Refuse at once what would spoil an input, or fail at the end of long work."""
    if inputs.count(STANDARD) > 1:
        raise click.UsageError("Standard input ('-') can be read only once.", click.get_current_context())
    if output == STANDARD:
        return
    target = Path(output)
    folder = target.resolve().parent
    if not folder.is_dir():
        raise click.FileError(output, f"there is no folder {folder}")
    if target.is_file() and any(target.samefile(path) for path in inputs if path != STANDARD):
        raise click.FileError(output, "it is also an input and would be overwritten")
    if (target.is_file() or not target.exists()) and not os.access(folder, os.W_OK):
        raise click.FileError(output, f"nothing can be written to {folder}")


def _count_words(files: Sequence[str], threads: int | None) -> WordCounts:
    counts = WordCounts()
    known = all(path != STANDARD and Path(path).is_file() for path in files)
    with StageLine("count", sum(Path(path).stat().st_size for path in files) if known else None) as line:
        for path in files:
            with _opened(path) as (stream, name):
                counts.add_stream(stream, name, threads=threads, progress=line)
            line.next_file()
    return counts


def _print_summary(rows: dict[str, object], *, to_stderr: bool = False) -> None:
    for name, value in rows.items():
        click.echo(f"{name:17}{value:,}" if isinstance(value, int) else f"{name:17}{value}", err=to_stderr)


def _why_it_stopped(learned: Learned, vocab_size: int, min_frequency: int) -> str:
    if learned.stopped_because == "min_frequency":
        return f"no pair is left that occurs {min_frequency:,} times"
    if learned.stopped_because == "no_pairs":
        return "no word is left that has two symbols"
    if learned.vocab_size > vocab_size:
        return f"the characters alone are more than {vocab_size:,}"
    return f"the vocabulary has its {vocab_size:,} entries"


# --------------------------------------------------------------------------------------- commands


def _check_prefix(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not valid UTF-8.") from None
    return checked_prefix(value)


INPUT = click.Path(exists=True, dir_okay=False, readable=True)
TEXT = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)
OUTPUT = click.Path(dir_okay=False, writable=True)
OUTPUT_OR_DASH = click.Path(dir_okay=False, writable=True, allow_dash=True)

files_argument = click.argument("files", metavar="[FILE]...", nargs=-1, type=TEXT)
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="T",
    help="How many threads to use; all cores if not given. The result is the same.",
)
memory_option = click.option(
    "--memory-limit",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="How much memory the work may take. A low limit costs time, and changes no result.",
)
word_prefix_option = click.option(
    "--word-prefix",
    metavar="P",
    default="",
    callback=_check_prefix,
    help="Put P before every word. Train and encode with the same one.",
)


@click.group(no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(exactbpe.__version__, message="%(prog)s %(version)s")
def commands() -> None:
    """Byte-pair encoding with one specified answer.

    Learns merges from the words of texts, and splits texts into tokens by them. Words are what whitespace
    separates. Texts are UTF-8; as a FILE, '-' is standard input.

    \b
    Example:
      exactbpe train book.txt --vocab-size 8000 -o merges.json
      exactbpe encode -m merges.json book.txt > tokens.txt
    """


@commands.command()
@files_argument
@click.option(
    "--vocab-size",
    type=int,
    metavar="N",
    required=True,
    help="Entries of the vocabulary: characters and merges.",
)
@click.option(
    "--min-frequency",
    type=int,
    metavar="M",
    default=1,
    show_default=True,
    help="Stop when the most frequent pair occurs less often.",
)
@click.option(
    "--counts",
    "counts_files",
    type=INPUT,
    metavar="COUNTS",
    multiple=True,
    help="Add the words of a file that 'exactbpe count' has written. May be repeated.",
)
@threads_option
@memory_option
@word_prefix_option
@click.option(
    "--to",
    metavar="FORMAT",
    help="Write a tokenizer in this format, such as tokenizer.json, in place of the merges alone.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_OR_DASH,
    metavar="MERGES",
    required=True,
    help="Write the merges here; '-' is standard output, and the summary then goes to standard error.",
)
def train(
    files: tuple[str, ...],
    vocab_size: int,
    min_frequency: int,
    counts_files: tuple[str, ...],
    threads: int | None,
    memory_limit: int | None,
    word_prefix: str,
    to: str | None,
    output: str,
) -> None:
    """Learn merges from the words of FILEs.

    Writes a JSON list of [left, right], whole or not at all, and prints a summary. Each FILE is a text in
    UTF-8, '-' is standard input. A FILE that is named twice counts twice.

    \b
    Example:
      exactbpe train a.txt b.txt --vocab-size 32000 -o merges.json
    """
    started = time.perf_counter()
    if not files and not counts_files:
        raise click.UsageError(
            "Nothing to train on: name a FILE, '-' or --counts.", click.get_current_context()
        )
    if to is not None and output == STANDARD:
        raise click.UsageError("--to needs a file by name.", click.get_current_context())
    _check_files([*files, *counts_files], output)
    if to is not None:
        _check_format(output, to, word_prefix)
    counts = _count_words(files, threads) if files else WordCounts()
    for path in counts_files:
        with _naming(path):
            counts.merge(WordCounts.load(path))
    with StageLine("learn") as line:
        learned = exactbpe.learn(
            counts,
            vocab_size,
            min_frequency,
            word_prefix=word_prefix,
            threads=threads,
            memory_limit=memory_limit,
            progress=line,
        )
    if to is None:
        _write_merges(learned.merges, output)
    else:
        with _naming(output):
            learned.tokenizer().save(output, to)
    summary = {
        "texts": len(files),
        "words": counts.total,
        "distinct words": len(counts),
        "characters": len(learned.alphabet),
        "merges learned": len(learned.merges),
        "stopped because": _why_it_stopped(learned, vocab_size, min_frequency),
        "seconds": f"{time.perf_counter() - started:.2f}",
    }
    _print_summary(summary, to_stderr=output == STANDARD)


@commands.command()
@files_argument
@click.option(
    "-m",
    "--merges",
    type=INPUT,
    metavar="MERGES",
    help="What 'exactbpe train' has written, or a tokenizer in any format that 'exactbpe convert' reads.",
)
@click.option(
    "--codes",
    type=INPUT,
    metavar="CODES",
    help="Codes of subword-nmt or fastBPE, in place of MERGES: write what 'subword-nmt apply-bpe' writes.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the tokens of a line as a JSON list.")
@word_prefix_option
def encode(
    files: tuple[str, ...], merges: str | None, codes: str | None, as_json: bool, word_prefix: str
) -> None:
    """Split the lines of FILEs into tokens.

    Writes one line for each line read: its tokens, with a space between them. A line ends at a line feed
    (U+000A) and nowhere else; an empty line stays an empty line. Without a FILE, or for '-', standard input
    is read.

    \b
    Example:
      exactbpe encode -m merges.json book.txt > tokens.txt
      echo "some words" | exactbpe encode -m merges.json --json
    """
    _check_files(files)
    if merges is not None and codes is None:
        write = _tokenizing(_read_tokenizer(merges, word_prefix=word_prefix), as_json)
    elif codes is not None and merges is None and not (as_json or word_prefix):
        write = _segmenting(codes)
    else:
        reason = "Name --merges, or --codes alone: it goes with neither --merges, --json nor --word-prefix."
        raise click.UsageError(reason, click.get_current_context())
    output = _output_bytes()
    for path in files or [STANDARD]:
        for line in _lines(path):
            output.write(write(_decoded(*line)).encode())
            if output.isatty():
                output.flush()


def _tokenizing(tokenizer: Tokenizer, as_json: bool) -> Callable[[str], str]:
    """What is written for a line: its tokens."""
    spell = one_line if as_json else " ".join
    return lambda line: spell(tokenizer.tokenize(line)) + "\n"


def _segmenting(codes: str) -> Callable[[str], str]:
    """What is written for a line: what `apply-bpe` does, whose lines end wherever `str.splitlines` has it."""
    from exactbpe.formats import SubwordNMT

    segment = SubwordNMT.load(codes).apply
    return lambda line: "".join(map(segment, line.splitlines(keepends=True)))


@commands.command()
@click.argument("files", metavar="FILE...", nargs=-1, type=TEXT, required=True)
@threads_option
@memory_option
@click.option("-o", "--output", type=OUTPUT, metavar="COUNTS", required=True, help="Write the counts here.")
def count(files: tuple[str, ...], threads: int | None, memory_limit: int | None, output: str) -> None:
    """Count the words of FILEs, for training later or elsewhere.

    Writes the counts, whole or not at all, and prints a summary; the same words always give the same bytes.
    Each FILE is a text in UTF-8, '-' is standard input. A FILE that is named twice counts twice. Past a
    memory limit, counts go to temporary files beside COUNTS; then there is no summary.

    \b
    Example:
      exactbpe count a.txt b.txt -o words.counts
      exactbpe train --counts words.counts --vocab-size 32000 -o merges.json
    """
    started = time.perf_counter()
    _check_files(files, output)
    if memory_limit is not None:
        if STANDARD in files:
            raise click.UsageError("--memory-limit needs files by name.", click.get_current_context())
        with StageLine("count") as line, _naming(output):
            exactbpe.count_files(files, output, threads=threads, memory_limit=memory_limit, progress=line)
        return
    counts = _count_words(files, threads)
    with _naming(output):
        counts.save(output)
    summary: dict[str, object] = {"texts": len(files), "words": counts.total, "distinct words": len(counts)}
    _print_summary({**summary, "seconds": f"{time.perf_counter() - started:.2f}"})


@commands.command()
@click.argument("files", metavar="COUNTS...", nargs=-1, type=INPUT, required=True)
@click.option("-o", "--output", type=OUTPUT, metavar="COUNTS", required=True, help="Write the sums here.")
def merge_counts(files: tuple[str, ...], output: str) -> None:
    """Add up files that 'exactbpe count' has written.

    Writes the sums, whole or not at all, so they may take the place of one of the files.

    \b
    Example:
      exactbpe merge-counts monday.counts tuesday.counts -o week.counts
    """
    _check_files([], output)
    with _naming(output):
        exactbpe.merge_counts(files, output)


@commands.command()
def solve() -> int:
    """Answer JSON requests, one a line.

    Reads requests from standard input and writes the answers to standard output: one line for each line, in
    order, as soon as it is ready. A request that is refused gives {"error": "..."} on its line, and exit
    status 1 at the end; so does a line that is blank or not UTF-8.

    \b
    Example:
      echo '{"task": "train", "corpus": ["low"], "vocab_size": 5}' |
        exactbpe solve
    """
    output = _output_bytes()
    status = 0
    for line, _, _ in _lines(STANDARD):
        try:
            answer = exactbpe.solve(_decoded(line, "the request"))
        except (BPEError, TypeError, OverflowError, MemoryError) as error:
            answer = json.dumps({"error": _message(error)})  # in ASCII: nobody's idea of a line can break it
            status = 1
        output.write(f"{answer}\n".encode())
        output.flush()
    return status


@commands.command()
@click.argument("source", metavar="IN", type=INPUT)
@click.argument("target", metavar="OUT", type=OUTPUT)
@click.option("--to", metavar="FORMAT", help="The format of OUT; guessed from its name if not given.")
@click.option("--from", "source_format", metavar="FORMAT", help="The format of IN; guessed if not given.")
@click.option("--lossy", is_flag=True, help="Write what OUT can hold, and name each difference.")
@click.option(
    "--unknown",
    metavar="TOKEN",
    help="What becomes of unknown characters, if IN does not say: 'error', 'bytes' or a token.",
)
@word_prefix_option
def convert(
    source: str,
    target: str,
    to: str | None,
    source_format: str | None,
    lossy: bool,
    unknown: str | None,
    word_prefix: str,
) -> None:
    """Bring a tokenizer from one file format to another.

    The formats are tokenizer.json, merges (the list that 'exactbpe train' writes; the alphabet is then what
    they mention), gpt2 (merges.txt and vocab.json), subword-nmt, fastbpe, tiktoken, and, to read,
    sentencepiece. What OUT cannot hold is refused, with the rule or token at fault.

    \b
    Example:
      exactbpe convert merges.json tokenizer.json
      exactbpe convert tokenizer.json merges.txt --to gpt2
    """
    from exactbpe import formats

    _check_files([source], target)
    with warnings.catch_warnings(record=True) as differences, _naming(target):
        warnings.simplefilter("always", formats.LossyWarning)
        tokenizer = _read_tokenizer(
            source, source_format, lossy=lossy, unknown=unknown, word_prefix=word_prefix
        )
        formats.save(tokenizer, target, to, lossy=lossy)
    for difference in differences:
        _say(f"warning: {difference.message}")
