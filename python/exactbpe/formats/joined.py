"""Pairs out of ranked strings.

sentencepiece and tiktoken know no pairs: they join two neighbours whose joined string has the best rank,
whatever its parts are. A string comes to be from one pair only, the two parts that the better strings leave
of it; if there are two for every string, rules say the same (docs/formats.md says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from exactbpe import _core
from exactbpe.formats.messages import shown
from exactbpe.reference import BPEError, Pair


def recovered_pairs(path: Path, strings: Iterable[str], show: Callable[[str], str] = shown) -> list[Pair]:
    """The pair that makes each string, best rank first."""
    every = list(strings)
    pairs, rest = _core.recovered_pairs(every)
    if rest is not None:
        string, left = every[len(pairs)], " ".join(map(show, rest[:10]))
        raise BPEError(f"{path}: {show(string)} has no pair: better tokens leave {left} of it")
    return pairs
