"""Pairs out of ranked strings.

sentencepiece and tiktoken know no pairs: they join two neighbours whose joined string has the best rank,
whatever its parts are. A string comes to be from one pair only, the two parts that the better strings leave
of it; if there are two for every string, rules say the same (docs/formats.md says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from exactbpe.formats.messages import shown
from exactbpe.reference import BPEError, Pair, _encode_word


def recovered_pairs(path: Path, strings: Iterable[str], show: Callable[[str], str] = shown) -> list[Pair]:
    """The pair that makes each string, best rank first."""
    ranks: dict[Pair, int] = {}
    for string in strings:
        parts = _encode_word(string, ranks)
        if len(parts) != 2:
            rest = " ".join(map(show, parts[:10]))
            raise BPEError(f"{path}: {show(string)} has no pair: better tokens leave {rest} of it")
        ranks[parts[0], parts[1]] = len(ranks)
    return list(ranks)
