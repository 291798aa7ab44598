"""What a file holds, as a message shows it: escaped, and never longer than a line."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 60


def shown(value: object) -> str:
    """A token, or whatever stands in its place."""
    if isinstance(value, (str, bytes)):
        return ascii(value[:_LONGEST])
    return str(value)[:_LONGEST]


def shown_rule(rule: Sequence[str]) -> str:
    """The two parts of a rule."""
    return ascii([part[:_LONGEST] for part in rule])
