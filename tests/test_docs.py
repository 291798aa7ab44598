"""Every Python block of the documents and every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import exactbpe
import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(exactbpe.__path__, "exactbpe.")
    if not module.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(block, str(path), "exec"), names)


def test_the_readme_has_blocks_to_run() -> None:
    assert (ROOT / "README.md").read_text("utf-8").count("```python\n") >= 8


@pytest.mark.parametrize("name", ["exactbpe", *MODULES])
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_readme_names_every_file_of_the_package() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for path in (ROOT / "python" / "exactbpe").glob("*.py"):
        if not path.name.startswith("__"):
            assert path.name in readme


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_named_files_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / target).exists(), target
