"""Words are what ``str.split()`` gives: tried on every code point there is, surrogates included."""

from __future__ import annotations

import sys
from types import ModuleType

import exactbpe
import pytest
from strategies import WHITESPACE

EVERY_CODE_POINT = range(sys.maxunicode + 1)


def test_python_has_the_29_code_points_of_the_specification() -> None:
    assert "".join(chr(c) for c in EVERY_CODE_POINT if chr(c).isspace()) == WHITESPACE
    assert len(WHITESPACE) == 29


def test_encode_on_every_code_point(engine: ModuleType) -> None:
    wrong = []
    for plane in range(17):
        text = "".join(f"x{chr(c)}y" for c in EVERY_CODE_POINT[plane << 16 : (plane + 1) << 16])
        if engine.encode(text, []) != [character for word in text.split() for character in word]:
            wrong.append(plane)
    assert not wrong, f"wrong in these planes: {wrong}"


def test_train_on_every_code_point() -> None:
    """Whitespace that were dropped, and did not split, would put x and y together more than twice."""
    texts = (f"x{chr(c)}y" for c in EVERY_CODE_POINT)
    assert exactbpe.train(texts, 10**30, 3) == []


@pytest.mark.parametrize("c", WHITESPACE, ids=[f"U+{ord(c):04X}" for c in WHITESPACE])
def test_whitespace_splits_in_every_call(engine: ModuleType, c: str) -> None:
    assert engine.train([f"{c}x{c}{c}y{c}"], 9) == []
    assert engine.train([f"ab{c}ab", f"{c}", f"b{c}a"], 9) == [["a", "b"]]
    assert engine.encode(f"{c}x{c}xy{c}{c}y{c}", [["x", "y"], ["x", c], [c, "y"]]) == ["x", "xy", "y"]
    assert engine.encode(c, [[c, c]]) == []
    assert engine.bpe_merges([f"x{c}"], 9) == [f"x{c}"]  # taken as it is


ORDINARY = (
    "\0\x08\x0e\x1b!\x7f\x84\x86\x9f\xa1\u1681\u180e\u1fff"
    "\u200b\u200d\u2027\u202a\u2060\u3001\ufeff\ud800\udfff"
)


@pytest.mark.parametrize("c", ORDINARY, ids=[f"U+{ord(c):04X}" for c in ORDINARY])
def test_its_neighbours_are_ordinary_characters(engine: ModuleType, c: str) -> None:
    assert engine.encode(f"x{c}y", []) == ["x", c, "y"]
    assert engine.train([f"{c}{c}"], 9) == [[c, c]]
    assert engine.encode(f"{c}{c}y", [[c, c]]) == [c + c, "y"]
