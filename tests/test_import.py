"""``import exactbpe`` is light: it loads the package and the standard library, nothing else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
import exactbpe
print(*(set(sys.modules) - before))
"""


def test_it_loads_no_third_party_module() -> None:
    command = [sys.executable, "-c", PROGRAM]
    modules = subprocess.check_output(command, text=True, timeout=60).split()
    loaded = {name.partition(".")[0] for name in modules}
    assert "exactbpe" in loaded
    assert loaded - sys.stdlib_module_names == {"exactbpe"}


def test_the_public_names_are_there() -> None:
    program = "from exactbpe import BPEError, bpe_merges, encode, solve, train"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
