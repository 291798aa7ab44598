"""``reference.py`` is one file for Python 3.8: it needs nothing of the package, and no package at all."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

from exactbpe import reference

FILE = Path(reference.__file__)


def test_it_parses_as_python_3_8() -> None:
    ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_it_imports_only_the_standard_library() -> None:
    imported = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "it imports from the package"
            imported.add(str(node.module).partition(".")[0])
    assert imported
    assert imported <= sys.stdlib_module_names


def test_it_answers_as_a_lone_file(tmp_path: Path) -> None:
    """``-I`` and ``-S`` hide the environment, the working directory and every installed package."""
    copy = shutil.copy(FILE, tmp_path / "alone.py")
    program = "import runpy, sys; print(runpy.run_path(sys.argv[1])['solve'](sys.argv[2]))"
    for request, answer in (
        (
            {"task": "train", "corpus": ["low low lower lowest"], "vocab_size": 9},
            {"merges": [["l", "o"], ["lo", "w"]]},
        ),
        ({"task": "encode", "text": "aaa b", "merges": [["a", "a"]]}, {"tokens": ["aa", "a", "b"]}),
    ):
        command = [sys.executable, "-I", "-S", "-W", "error", "-c", program, str(copy), json.dumps(request)]
        line = subprocess.check_output(command, cwd=tmp_path, text=True, timeout=60)
        assert line == json.dumps(answer) + "\n"
