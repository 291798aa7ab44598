"""Makes a failing case smaller: what can be left out while it still fails is left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

Case = dict[str, Any]


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float) -> Case:
    """The smallest failing case that is found in the time."""
    deadline = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for name in case:
            for smaller in smaller_values(case[name]):
                if time.monotonic() > deadline:
                    return case
                if fails({**case, name: smaller}):
                    case = {**case, name: smaller}
                    found = True
                    break
    return case


def smaller_values(value: Any) -> Iterator[Any]:
    """Values a little simpler than this one, the simplest first."""
    if isinstance(value, dict):
        yield from (dict(items) for items in shorter([*value.items()]))
        for key in value:
            for smaller in shorter(key):
                if smaller and smaller not in value:
                    yield {smaller if other == key else other: n for other, n in value.items()}
        for key in value:
            if value[key] > 1:
                yield {**value, key: 1}
                yield {**value, key: value[key] // 2}
    elif isinstance(value, (str, bytes)):
        yield from shorter(value)
    elif isinstance(value, list):
        yield from shorter(value)
        for i, element in enumerate(value):
            if isinstance(element, str):
                yield from ([*value[:i], smaller, *value[i + 1 :]] for smaller in shorter(element))
    elif isinstance(value, int) and value > 1:
        yield from (1, value // 2, value - 1)


def shorter(value: Any) -> Iterator[Any]:
    """The sequence without a part of it: first large parts, then single elements."""
    size = len(value)
    while size > 0:
        for start in range(0, len(value), size):
            yield value[:start] + value[start + size :]
        size //= 2
