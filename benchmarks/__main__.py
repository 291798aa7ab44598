"""Run the benchmarks: all of them, or those that are named."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import encode, small, train
from benchmarks.measure import Job, MismatchError, Options, once
from benchmarks.peers import python_of_peers
from benchmarks.places import PICTURES, ROOT
from benchmarks.table import Table, markdown, write

TABLES = {"small": small.table, "train": train.table, "encode": encode.table}
PICTURE_OF = {
    "train": ("training.svg", "Training with one thread: seconds, less is better"),
    "encode": ("encoding.svg", "Encoding with one thread: seconds, less is better"),
}


def main() -> int:
    """The command line; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"any of {', '.join(TABLES)}; all if none")
    parser.add_argument("--quick", action="store_true", help="one run on short texts: does everything work?")
    parser.add_argument("--runs", type=int, default=5, help="runs whose median is taken (default 5)")
    parser.add_argument(
        "--timeout", type=float, default=60, help="seconds a measurement may take (default 60)"
    )
    parser.add_argument(
        "--corpora", type=Path, default=ROOT.parent / "shared" / "corpora", help="where texts are"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only rows of texts whose title holds TEXT; not for small"
    )
    parser.add_argument(
        "--write", action="store_true", help="put tables into the README and pictures into docs"
    )
    given = parser.parse_args()
    unknown = set(given.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    if given.quick and given.write:
        parser.error("figures of --quick are not worth writing down")
    if given.only and given.write:
        parser.error("a part of a table is not written down")
    options = Options(1 if given.quick else given.runs, given.timeout, given.quick, given.corpora, given.only)
    wrong = 0
    for name in given.tables or TABLES:
        try:
            table = TABLES[name](options)
        except MismatchError as mismatch:
            print(f"no figures for {name}: {mismatch}", file=sys.stderr)
            wrong = 1
            continue
        text = markdown(table, options)
        print(text, flush=True)
        if given.write:
            write(table, text)
            _picture(table, options)
    return wrong


def _picture(table: Table, options: Options) -> None:
    if table.name in PICTURE_OF:
        name, title = PICTURE_OF[table.name]
        arguments = {
            "title": title,
            "panels": [asdict(panel) for panel in table.panels],
            "bar": options.limit,
            "path": str(PICTURES / name),
        }
        once(Job("matplotlib", 1, python_of_peers(), "benchmarks.chart", arguments))


if __name__ == "__main__":
    sys.exit(main())
