"""Requests of the largest size that the specification names, the smallest training, and the import."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import Job, MismatchError, Options, Series, measure, once
from benchmarks.places import ROOT, cached
from benchmarks.table import Table, at_most, span

OURS = Path(sys.executable)


def table(options: Options) -> Table:
    """Measure everything, check the answers, and only then make the table."""
    result = Table("small", "Small work", ["what", "holds", "a call", "first call", "goals"], [])
    for title, request, goal in _requests():
        print(title, file=sys.stderr)
        path = cached(f"request-{title.replace(' ', '-')}.json")
        path.write_text(json.dumps(request), encoding="utf-8")
        expected = once(
            Job("reference", 1, OURS, "benchmarks.run_small", {"what": "reference", "request": str(path)})
        )
        series = _measure({"what": "solve", "request": str(path)}, options)
        if series.digests != {expected["digest"]}:
            raise MismatchError(f"{title}: the answer is not that of the reference")
        holds = f"{expected['answers']:,} {'merges' if request['task'] == 'train' else 'tokens'}"
        result.rows.append(
            [
                f"`solve`: {title}",
                holds,
                *_times(series),
                at_most("a call:", series.time * 1e3, goal, unit=" ms"),
            ]
        )
    series = _measure({"what": "train"}, options)
    if not all(report["equal"] for report in series.reports):
        raise MismatchError("train on three words: the answer is not that of the reference")
    goal_text = at_most("a call:", series.time * 1e6, 20, 8, " µs")
    result.rows.append(["`train` on three words", "", *_times(series), goal_text])
    extra = _import_time(options)
    result.rows.append(
        [
            "`import exactbpe`, more than Python",
            "",
            span(extra),
            "",
            at_most("added:", extra * 1e3, 30, unit=" ms"),
        ]
    )
    result.notes = [
        "The largest requests of SPEC 4: 200 texts of 5,000 characters in all and 1,000 entries; a text of "
        "10,000 characters and 50 rules of up to 200 characters a part. The answers equal those of "
        "`exactbpe.reference`.",
        "A call: the median of 50 (5,000 for `train`) in one process, and of the processes; JSON included.",
    ]
    return result


def _measure(arguments: dict[str, object], options: Options) -> Series:
    series = measure([Job("exactbpe", 1, OURS, "benchmarks.run_small", arguments)], options)["exactbpe", 1]
    if not series.ok:
        raise MismatchError(f"exactbpe {series.failure}")
    return series


def _times(series: Series) -> list[str]:
    return [span(series.time), span(median(report["first_call"] for report in series.reports))]


def _requests() -> list[tuple[str, dict[str, object], float]]:
    """Title, request and the milliseconds it may take."""
    source = random.Random(4)
    letters = string.ascii_lowercase
    wide = "".join(map(chr, range(0x4E00, 0x4E00 + 30)))

    def cut(text: str) -> list[str]:
        return [text[at : at + 25] for at in range(0, 5_000, 25)]

    def training(corpus: list[str]) -> dict[str, object]:
        return {"task": "train", "corpus": corpus, "vocab_size": 1_000}

    def encoding(text: str, merges: list[list[str]]) -> dict[str, object]:
        assert len(text) == 10_000
        assert len(merges) == 50
        return {"task": "encode", "text": text, "merges": merges}

    def parts(text: str) -> list[list[str]]:
        """Rules whose parts stand side by side in ``text``: short ones that apply, long ones that may."""
        rules = []
        for longest in (*[1] * 30, *[3] * 10, *[200] * 10):
            left, right = source.randint(1, longest), source.randint(1, longest)
            at = source.randrange(len(text) - 400)
            rules.append([text[at : at + left], text[at + left : at + left + right]])
        return rules

    def chain(step: str) -> list[list[str]]:
        """Each rule makes what the one before it in the list needs: ranks fall from round to round."""
        return [["x" + step * length, step] for length in reversed(range(50))]

    random_text = "".join(source.choices(letters, k=10_000))
    two_letters = "".join(source.choices("ab", k=10_000))
    doubling = [["a" * 2**power, "a" * 2**power] for power in range(7)]
    ones = [["a" * length, "a"] for length in range(1, 44)]
    learned = [["a", "b"], ["b", "a"], ["ab", "ab"], ["a", "a"], ["b", "b"]]
    longer = [["ab" * length, "ab"] for length in range(1, 46)]
    return [
        ("train random letters in words of 25", training(cut("".join(source.choices(letters, k=5_000)))), 10),
        ("train random Chinese in words of 25", training(cut("".join(source.choices(wide, k=5_000)))), 10),
        (
            "train random letters and spaces",
            training(cut("".join(source.choices(letters + "    ", k=5_000)))),
            10,
        ),
        ("train random a and b", training(cut("".join(source.choices("ab", k=5_000)))), 10),
        ("train one letter", training(["a" * 25] * 200), 10),
        ("train one text of one letter", training(["a" * 4_801, *["b"] * 199]), 10),
        ("encode random letters as one word", encoding(random_text, parts(random_text)), 5),
        ("encode random letters with spaces", encoding(_spaced(random_text), parts(random_text)), 5),
        ("encode one letter with doubling rules", encoding("a" * 10_000, [*doubling, *ones]), 5),
        ("encode one letter with rules reversed", encoding("a" * 10_000, [*ones, *doubling][::-1]), 5),
        ("encode random a and b", encoding(two_letters, [*learned, *longer]), 5),
        ("encode falling ranks as one word", encoding(("x" + "a" * 49) * 200, chain("a")), 5),
    ]


def _spaced(text: str) -> str:
    return "".join(" " if at % 7 == 6 else letter for at, letter in enumerate(text))


def _import_time(options: Options) -> float:
    """Seconds that `import exactbpe` adds to starting Python: the two take turns, the median difference."""
    seconds = []
    # An installed package has its bytecode beside it; this setting would have it compiled every time.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(4 * options.runs + 1):
        both = []
        for code in ("pass", "import exactbpe"):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
            both.append(time.perf_counter() - start)
        seconds.append(both[1] - both[0])
    return median(seconds)
