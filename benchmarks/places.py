"""Where the benchmarks find and put things."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
REQUIREMENTS = ROOT / "benchmarks" / "requirements.txt"
PICTURES = ROOT / "docs"
PEERS = ROOT / ".venv-bench"
CACHE = ROOT / "target" / "benchmarks"


def cached(name: str) -> Path:
    """A place for ``name`` in the cache folder, which exists afterwards."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE / name
