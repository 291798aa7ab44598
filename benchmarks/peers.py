"""The peers live in an environment of their own, so that neither the package nor its tests depend on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.places import PEERS, REQUIREMENTS, ROOT


def python_of_peers() -> Path:
    """The Python of `.venv-bench`, made with the pinned peers when it is missing or the pins have changed."""
    python = PEERS / "bin" / "python"
    stamp = PEERS / ".requirements"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"installing the peers into {PEERS.name} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        install: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            REQUIREMENTS,
        ]
        subprocess.run(install, check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def versions(names: list[str]) -> str:
    """``exactbpe`` and the peers ``names`` with their versions, as one line of text."""
    code = (
        "import sys, importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in sys.argv[1:]))"
    )
    lines = [_output(Path(sys.executable), code, ["exactbpe"])]
    if names:
        lines.append(_output(python_of_peers(), code, names))
    return ", ".join(lines)


def _output(python: Path, code: str, arguments: list[str]) -> str:
    done = subprocess.run(
        [python, "-c", code, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
