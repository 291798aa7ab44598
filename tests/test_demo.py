"""``make demo`` works on this machine's own standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "docs" / "demo.py"


def test_the_demo_runs_and_fits_one_screen() -> None:
    run = subprocess.run(
        [sys.executable, DEMO], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert " times" in run.stdout
    assert any(line.startswith("  decoded  for every_word") for line in lines)
