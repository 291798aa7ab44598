"""Training beside the peers: time and peak memory, on equal text and for equally many entries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import corpora
from benchmarks.measure import Job, MismatchError, Options, Results, measure, once
from benchmarks.peers import python_of_peers
from benchmarks.places import cached
from benchmarks.table import Panel, Table, at_least, at_most, cell

PEERS = ["gigabpe", "tokenizers", "sentencepiece", "rustbpe (bytes)"]
ENGINES = ["exactbpe", *PEERS]
THREADS = (1, 2)
OURS = Path(sys.executable)

# A goal of a case: the number of threads and all its results in, a line for the table out.
Goal = Callable[[int, Results], str]


@dataclass
class Case:
    """One text to train on, and what must be reached."""

    title: str
    text: Path
    size: int
    goals: list[Goal]


def faster_than(peers: list[str], must: dict[int, tuple[float, float]]) -> Goal:
    """At least so many times faster than the fastest of ``peers``; must and aim by number of threads."""

    def goal(threads: int, results: Results) -> str:
        measured = [peer for peer in peers if results[peer, threads].ok]
        if threads not in must:
            return ""
        if not measured:
            return _faster_than_unfinished(peers, must[threads], threads, results)
        best = min(measured, key=lambda peer: results[peer, threads].time)
        return at_least(
            best, results["exactbpe", threads].times_faster_than(results[best, threads]), *must[threads]
        )

    return goal


def _faster_than_unfinished(
    peers: list[str], must: tuple[float, float], threads: int, results: Results
) -> str:
    """What is known when no peer was done: none needs less than the time they were given."""
    given = min(results[peer, threads].unfinished for peer in peers)
    factor = given / results["exactbpe", threads].time
    if factor < must[0]:
        return f"{' and '.join(peers)} gave no time"
    return at_least(f"{' and '.join(peers)} not done in {given:g} s: over", factor, *must)


def smaller_than(peer: str) -> Goal:
    """Less peak memory than ``peer``, better half of it."""

    def goal(threads: int, results: Results) -> str:
        if not results[peer, threads].ok:
            return f"{peer} gave no memory"
        share = results["exactbpe", threads].peak / results[peer, threads].peak
        return at_most(f"memory / {peer}'s", share, 1, 0.5, "×")

    return goal


def within(must: float, aim: float) -> Goal:
    """In so many seconds."""
    return lambda threads, results: at_most("time", results["exactbpe", threads].time, must, aim)


def cases(options: Options) -> list[Case]:
    """The rows of the table."""
    million = 100_000 if options.quick else 1_000_000
    both = {1: (3.0, 5.0), 2: (3.0, 5.0)}
    word = corpora.one_word(corpora.corpus("zh", options), 5 * million)
    entries = 8_000 if options.quick else 32_000

    def of(name: str, title: str, *goals: Goal) -> Case:
        text = corpora.corpus(name, options)
        return Case(f"{title} {text.stat().st_size / 1e6:.3g} MB", text, entries, list(goals))

    return [
        of(
            "en",
            "English",
            faster_than(["gigabpe"], {1: (3, 5), 2: (4, 7)}),
            faster_than(["tokenizers"], {1: (12, 25)}),
            smaller_than("gigabpe"),
        ),
        of("zh", "Chinese", faster_than(["gigabpe"], both), smaller_than("gigabpe")),
        of("ja", "Japanese", faster_than(["gigabpe"], both)),
        of("th", "Thai", faster_than(["gigabpe"], both)),
        of("code", "code", faster_than(["gigabpe"], both)),
        Case(
            f"one word of {word.stat().st_size / 1e6:.2g} MB Chinese",
            word,
            entries,
            [faster_than(["gigabpe", "sentencepiece"], {1: (3, 6), 2: (3, 6)})],
        ),
        Case(f"one word of {million:,} `a`", corpora.giant("a", million), 2_000, [within(0.1, 0.03)]),
        Case(
            f"one word of {million:,} random `a`/`b`", corpora.giant("ab", million), 2_000, [within(0.3, 0.1)]
        ),
    ]


def table(options: Options) -> Table:
    """Measure everything, check the answers, and only then make the table."""
    result = Table(
        "train",
        "Training",
        ["text", "entries", "threads", *ENGINES, "goals"],
        ["gigabpe", "tokenizers", "sentencepiece", "rustbpe"],
    )
    notes: list[str] = []
    for case in cases(options):
        if options.only not in case.title:
            continue
        print(case.title, file=sys.stderr)
        results = measure(_jobs(case, ENGINES), options)
        notes.append(f"{case.title}: {_check(case, results)}")
        for threads in THREADS:
            goals = "; ".join(filter(None, (goal(threads, results) for goal in case.goals)))
            cells = [cell(results[engine, threads]) for engine in ENGINES]
            result.rows.append([case.title, f"{case.size:,}", str(threads), *cells, goals])
        notes += sorted(
            {f"{case.title}, {e}: {s.failure}" for (e, _), s in results.items() if "failed" in s.failure}
        )
        result.panels.append(_panel(case, results))
    _growth(options, result, notes)
    result.notes = [
        "Seconds from a text file on disk (in the page cache) to merges in memory, and peak memory of the "
        "process, which is bound to as many cores as it has threads.",
        "exactbpe gave the same merges in every run and for 1 and 2 threads. Its peers settle ties otherwise "
        "or use bytes, so their merges are others; the notes say where gigabpe's part from ours, and a "
        "recount shows a tie there.",
        *notes,
    ]
    return result


def _jobs(case: Case, engines: list[str]) -> list[Job]:
    return [
        Job(
            engine,
            threads,
            OURS if engine == "exactbpe" else python_of_peers(),
            "benchmarks.run_train",
            {"text": str(case.text), "size": case.size, "save": str(_saved(case, engine, threads))},
        )
        for threads in THREADS
        for engine in engines
    ]


def _saved(case: Case, engine: str, threads: int) -> Path:
    return cached(f"trained-{case.text.stem}-{engine.split()[0]}-{threads}.json")


def _check(case: Case, results: Results) -> str:
    """Our merges are always the same, and equal gigabpe's up to the first tie; say where that is."""
    _same_every_time(case, results)
    theirs = results["gigabpe", 1]
    if not theirs.ok:
        return "gigabpe gave nothing to compare with"
    arguments = {
        "text": str(case.text),
        "ours": str(_saved(case, "exactbpe", 1)),
        "theirs": str(_saved(case, "gigabpe", 1)),
    }
    found = once(Job("exactbpe", 1, OURS, "benchmarks.run_tie", arguments))
    prefix = found["prefix"]
    if prefix < 1:
        raise MismatchError(f"{case.title}: not even the first merge equals gigabpe's")
    if "counts" not in found:
        if found["ours"] != found["theirs"]:
            raise MismatchError(f"{case.title}: {found['ours']} merges, but {found['theirs']} of gigabpe")
        return f"all {prefix:,} merges equal gigabpe's"
    ours, others = found["counts"]
    if ours != others or ours != found["frequency"]:
        raise MismatchError(
            f"{case.title}: merge {prefix} is {found['candidates'][0]} (recounted {ours}, reported "
            f"{found['frequency']}), of gigabpe {found['candidates'][1]} (recounted {others}): not a tie"
        )
    left, right = (" + ".join(pair) for pair in found["candidates"])
    return (
        f"gigabpe's merges equal ours up to number {prefix:,}, where `{left}` and `{right}` tie at {ours:,}"
    )


def _same_every_time(case: Case, results: Results) -> None:
    series = [results["exactbpe", threads] for threads in THREADS]
    for one in series:
        if not one.ok:
            raise MismatchError(f"{case.title}: exactbpe {one.failure}")
    if len(set().union(*(one.digests for one in series))) != 1:
        raise MismatchError(
            f"{case.title}: exactbpe's merges differ from run to run or between 1 and 2 threads"
        )


def _panel(case: Case, results: Results) -> Panel:
    times = {engine: results[engine, 1] for engine in ENGINES}
    return Panel(
        case.title,
        {
            name: one.time if one.ok else None
            for name, one in times.items()
            if one.ok or one.failure.startswith(">")
        },
    )


def _growth(options: Options, result: Table, notes: list[str]) -> None:
    """Time must grow no faster than the text, when its distinct words grow too."""
    text = corpora.corpus("en", options)
    entries = 8_000 if options.quick else 32_000
    cases = {n: Case(f"English × {n}", corpora.grown(text, n), entries, []) for n in (1, 2, 4, 8)}
    if not any(options.only in case.title for case in cases.values()):
        return
    print("English × n", file=sys.stderr)
    jobs = [replace(job, title=case.title) for case in cases.values() for job in _jobs(case, ["exactbpe"])]
    # The sizes take turns, as competitors do elsewhere.
    results = measure(jobs, options)
    for n, case in cases.items():
        series = {threads: results[case.title, threads] for threads in THREADS}
        _same_every_time(case, {("exactbpe", threads): one for threads, one in series.items()})
        for threads, one in series.items():
            growth = results[cases[1].title, threads].times_faster_than(one)
            goal = at_most("time / that of × 1", growth, n, unit="×") if n > 1 else ""
            empty = ["–"] * len(PEERS)
            result.rows.append([case.title, f"{entries:,}", str(threads), cell(one), *empty, goal])
    notes.append(
        "English × n: the text n times, each time with its letters turned by one more place, so that there "
        "are n times as many distinct words."
    )
