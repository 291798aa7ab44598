"""What a file cannot say: refused, or named in a warning where the caller asked for that."""

from __future__ import annotations

from pathlib import Path

from exactbpe.reference import BPEError


class LossyWarning(UserWarning):
    """Something was left out or will come out otherwise; the message says what."""


class Losses:
    """The differences between a tokenizer and a file of it."""

    def __init__(self, path: Path, lossy: bool) -> None:
        self.path = path
        self.lossy = lossy
        self.differences: list[str] = []

    def add(self, difference: str) -> None:
        """Note a difference.

        Raises:
            BPEError: no differences are wanted.
        """
        if not self.lossy:
            raise BPEError(f"{self.path}: {difference} (lossy=True goes on and warns instead)")
        self.differences.append(f"{self.path}: {difference}")

    def add_prefix(self, word_prefix: str, what: str = "the file") -> None:
        """Note that a format has no place for the prefix, if there is one."""
        if word_prefix:
            self.add(f"{what} cannot hold word_prefix={word_prefix!a}: give it again when loading")
