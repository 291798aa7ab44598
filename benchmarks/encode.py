"""Encoding beside the peers, all with the same vocabulary."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import corpora
from benchmarks.measure import Job, MismatchError, Options, Results, Series, measure, once
from benchmarks.peers import python_of_peers
from benchmarks.places import cached
from benchmarks.table import Panel, Table, at_least, at_most, cell
from benchmarks.vocabularies import Vocabulary

SAME = ["splintr", "gigatoken", "fastokens", "kitoken", "tokenizers"]
BYTES = ["snaptokens (bytes)", "gigatoken (bytes)"]
ENGINES = ["exactbpe", *SAME, *BYTES]
FROM_FILES = ["exactbpe", "gigatoken", "gigatoken (bytes)"]
OURS = Path(sys.executable)


@dataclass
class Case:
    """Lines to encode, the form of the answer, and what must be reached."""

    title: str
    text: Path
    vocabulary: Vocabulary
    output: str  # see `run_encode`
    threads: tuple[int, ...] = (1, 2)
    engines: list[str] = field(default_factory=lambda: ENGINES)
    must: float = 2  # times faster than the fastest peer with the same tokens, on one thread
    aim: float = 4
    most_seconds: tuple[float, float] | None = None  # instead of `must`: a time, and the one to aim for
    panel: bool = False

    def save(self, engine: str, threads: int) -> Path:
        """Where the first run leaves its ids."""
        name = f"{self.text.stem}-{self.output}-{engine.replace(' ', '-')}-{threads}"
        return cached(f"encoded-{name}.npz")


def table(options: Options) -> Table:
    """Measure everything, check the answers, and only then make the table."""
    result = Table(
        "encode",
        "Encoding",
        ["text", "answer", "threads", *ENGINES, "goals"],
        ["splintr-rs", "gigatoken", "fastokens", "kitoken", "tokenizers", "snaptokens"],
    )
    notes: list[str] = []
    vocabularies = {name: _vocabulary(name, options) for name in ("en", "zh", "code")}
    for case in _cases(options, vocabularies):
        if options.only in case.title:
            print(f"{case.title}, {case.output}", file=sys.stderr)
            _show(case, measure(_jobs(case), options), result, notes)
    if not options.only:
        _giant_words(options, vocabularies, result, notes)
        _tokenizer_only(options, vocabularies["en"], result)
    result.notes = [
        "Lines in memory to the answer in memory, with the tokenizer already built; peak memory holds the "
        "lines too. Flat: one array of ids, or lists where an engine has no such array (kitoken, "
        "tokenizers). List: a `list[str]` a line from exactbpe and tokenizers, a `list[int]` "
        "from the rest, for want of tokens. File: the engine reads the file itself; exactbpe writes ids and "
        "offsets to files, gigatoken has them in memory.",
        "All hold the same vocabulary, but for those marked (bytes): they hold one of the same size, learned "
        "on the same text from bytes and GPT-2's words, so their tokens are others. gigatoken cannot drop "
        "spaces, so it spells each as a byte token, and the others are compared.",
        "exactbpe gave the same ids in every run, for 1 and 2 threads, and those of `exactbpe.reference` on "
        "the first 200,000 characters (whole lines).",
        *notes,
    ]
    return result


def _vocabulary(name: str, options: Options) -> Vocabulary:
    print(f"vocabulary for {name}", file=sys.stderr)
    return Vocabulary(corpora.corpus(name, options), 8_000 if options.quick else 32_000)


def _cases(options: Options, vocabularies: dict[str, Vocabulary]) -> list[Case]:
    found = []
    for name, megabytes, title in (
        ("en", 10, "English"),
        ("en", None, "English"),
        ("zh", None, "Chinese"),
        ("code", None, "code"),
    ):
        if options.quick and name == "en" and megabytes is None:
            continue  # the same text as the one before
        text = corpora.corpus(name, options, megabytes)
        title = f"{title} {text.stat().st_size / 1e6:.3g} MB"
        found.append(Case(title, text, vocabularies[name], "flat", panel=True))
        found.append(Case(title, text, vocabularies[name], "list", threads=(1,)))
        found.append(Case(title, text, vocabularies[name], "file", threads=(1,), engines=FROM_FILES))
    number = 2_000 if options.quick else 20_000
    text = corpora.sentences(corpora.corpus("en", options), number)
    title = f"{number:,} sentences of 50 characters, one by one"
    found.append(Case(title, text, vocabularies["en"], "one", threads=(1,), must=1, aim=2, panel=True))
    return found


def _jobs(case: Case) -> list[Job]:
    return [
        Job(
            engine,
            threads,
            OURS if engine == "exactbpe" else python_of_peers(),
            "benchmarks.run_encode",
            {
                "text": str(case.text),
                "vocabulary": str(case.vocabulary.file(engine)),
                "output": case.output,
                "save": str(case.save(engine, threads)),
                **({"entries": case.vocabulary.entries} if engine == "gigatoken" else {}),
            },
        )
        for engine in case.engines
        for threads in case.threads  # side by side, as they are compared
    ]


def _show(case: Case, results: Results, result: Table, notes: list[str]) -> None:
    """Add the rows of one case."""
    notes += [f"{case.title}, {case.output}: {note}" for note in _check(case, results)]
    for threads in case.threads:
        cells = [cell(results[engine, threads]) if engine in case.engines else "–" for engine in ENGINES]
        goals = "; ".join(_goals(case, threads, results))
        result.rows.append([case.title, case.output, str(threads), *cells, goals])
    if case.panel:
        one = {engine: results[engine, 1] for engine in case.engines}
        shown = {
            name: s.time if s.ok else None for name, s in one.items() if s.ok or s.failure.startswith(">")
        }
        result.panels.append(Panel(f"{case.title}, {case.output}", shown))


def _goals(case: Case, threads: int, results: Results) -> list[str]:
    ours = results["exactbpe", threads]
    if threads > 1:
        return [at_least("1 thread", ours.times_faster_than(results["exactbpe", 1]), 1.7, 1.9)]
    if case.output == "file":
        return ["–"]
    if case.most_seconds is not None:
        return [at_most("time", ours.time, *case.most_seconds)]
    goals = []
    for engines, must, aim in ((SAME, case.must, case.aim), (BYTES, 1.0, None)):
        measured = [name for name in engines if name in case.engines and results[name, threads].ok]
        if measured and (engines is SAME or case.output == "flat"):
            best = min(measured, key=lambda name: results[name, threads].time)
            goals.append(at_least(best, ours.times_faster_than(results[best, threads]), must, aim))
    return goals


def _check(case: Case, results: Results) -> list[str]:
    """Hold all answers against each other; what is not as it should be with a peer becomes a note."""
    ours = [results["exactbpe", threads] for threads in case.threads]
    for series in ours:
        if not series.ok:
            raise MismatchError(f"{case.title}, {case.output}: exactbpe {series.failure}")
    digests = set().union(*(series.digests for series in ours))
    if len(digests) != 1:
        raise MismatchError(
            f"{case.title}, {case.output}: exactbpe's ids differ between runs or numbers of threads"
        )
    if not _ask(case, "exactbpe", "reference")["equal"]:
        raise MismatchError(f"{case.title}, {case.output}: exactbpe's ids are not those of the reference")
    notes = []
    for engine in case.engines:
        for threads in case.threads:
            series = results[engine, threads]
            if "failed" in series.failure:
                notes.append(f"{engine}, {threads} thread(s): {series.failure}")
            elif series.ok and engine in SAME and series.digests != digests:
                found = _ask(case, engine, "peer", threads)
                notes.append(
                    f"{engine}, {threads} thread(s): {found['differing']:,} of {found['rows']:,} lines differ"
                )
            elif series.ok and engine in BYTES and not _ask(case, engine, "bytes", threads)["complete"]:
                notes.append(f"{engine}, {threads} thread(s): its tokens do not add up to the text")
    for engine in case.engines:
        for threads in case.threads:
            case.save(engine, threads).unlink(missing_ok=True)
    return notes


def _ask(case: Case, engine: str, question: str, threads: int = 1) -> dict[str, int]:
    arguments = {
        "question": question,
        "text": str(case.text),
        "vocabulary": str(case.vocabulary.file(engine)),
        "ours": str(case.save("exactbpe" if question == "peer" else engine, threads)),
        "theirs": str(case.save(engine, threads)),
    }
    found: dict[str, int] = once(Job(engine, 1, OURS, "benchmarks.run_compare", arguments))
    return found


def _giant_words(
    options: Options, vocabularies: dict[str, Vocabulary], result: Table, notes: list[str]
) -> None:
    """Words of a million characters, and of ten million for exactbpe alone."""
    million = 100_000 if options.quick else 1_000_000
    chinese = corpora.corpus("zh", options)

    def own(letters: str) -> Vocabulary:
        return Vocabulary(corpora.giant(letters, million), 2_000, with_bytes=False)

    # fastokens takes minutes to load, or refuses, a vocabulary whose tokens are thousands of characters long.
    patient = [engine for engine in SAME if engine != "fastokens"]
    words: list[tuple[str, Callable[[int], Path], Vocabulary, list[str]]] = [
        ("`a`", lambda n: corpora.giant("a", n), vocabularies["en"], SAME),
        ("random `a`/`b`", lambda n: corpora.giant("ab", n), vocabularies["en"], SAME),
        ("Chinese", lambda n: corpora.characters_of(chinese, n), vocabularies["zh"], SAME),
        ("`a`, merges learned on it", lambda n: corpora.giant("a", n), own("a"), patient),
        ("random `a`/`b`, merges learned on it", lambda n: corpora.giant("ab", n), own("ab"), patient),
    ]
    for title, make, vocabulary, peers in words:
        one = Case(
            f"one word of {million:,} {title}",
            make(million),
            vocabulary,
            "flat",
            threads=(1,),
            engines=["exactbpe", *peers],
            most_seconds=(0.06, 0.02),
            panel=peers is SAME,
        )
        ten = Case(
            f"one word of {10 * million:,} {title}",
            make(10 * million),
            vocabulary,
            "flat",
            (1,),
            ["exactbpe"],
        )
        print(one.title, file=sys.stderr)
        # The lengths take turns, as competitors do.
        results = measure([*_jobs(one), *(replace(job, title=ten.title) for job in _jobs(ten))], options)
        longer = results[ten.title, 1]
        _show(one, results, result, notes)
        _show(ten, {("exactbpe", 1): longer}, result, notes)
        growth = results["exactbpe", 1].times_faster_than(longer)
        result.rows[-1][-1] = at_most(f"time / that of {million:,}", growth, 13, unit="×")


def _tokenizer_only(options: Options, english: Vocabulary, result: Table) -> None:
    """Building from many merges, and memory while a file of 1 GB is encoded."""
    text = corpora.corpus("en", options)
    many = Vocabulary(text, 20_000 if options.quick else 500_500, with_bytes=False)
    for vocabulary, most, goal in ((english, 32_000, (0.01, 0.003)), (many, 500_000, (0.2, 0.06))):
        merges = min(most, len(vocabulary.merges))
        arguments = {"what": "build", "vocabulary": str(vocabulary.file("exactbpe")), "merges": merges}
        series = _alone(arguments, options)
        _row(
            result,
            f"building from {merges:,} merges",
            "a tokenizer",
            series,
            at_most("time", series.time, *goal),
        )
    gigabyte = 10 if options.quick else 1_000
    times = -(-gigabyte * 1_000_000 // text.stat().st_size)
    big = corpora.grown(text, times)
    arguments = {
        "what": "file",
        "vocabulary": str(english.file("exactbpe")),
        "text": str(big),
        "out": str(cached("encoded.npy")),
    }
    series = _alone(arguments, options)
    if not all(report["equal"] for report in series.reports):
        raise MismatchError("encode_file gives other ids than encode_batch")
    goal_text = at_most("memory", series.peak / 1e6, 200, unit=" MB")
    _row(
        result,
        f"{big.stat().st_size / 1e9:.2g} GB of English × {times} from a file",
        "a file",
        series,
        goal_text,
    )


def _alone(arguments: dict[str, object], options: Options) -> Series:
    patient = Options(options.runs, max(options.limit, 600), options.quick, options.corpora)
    series = measure([Job("exactbpe", 1, OURS, "benchmarks.run_tokenizer", arguments)], patient)[
        "exactbpe", 1
    ]
    if not series.ok or len(series.digests) != 1:
        raise MismatchError(f"exactbpe alone, {arguments['what']}: {series.failure or 'its answers differ'}")
    return series


def _row(result: Table, title: str, answer: str, series: Series, goal: str) -> None:
    empty = ["–"] * (len(ENGINES) - 1)
    result.rows.append([title, answer, "1", cell(series), *empty, goal])
