"""The two engines every test may ask for, and how hard hypothesis tries.

``pytest --hypothesis-profile=thorough`` looks much longer than the default does.
"""

from __future__ import annotations

import os
from types import ModuleType

import exactbpe
import exactbpe.reference
import pytest
from hypothesis import settings

CI = "CI" in os.environ  # there, every run tries the same examples

settings.register_profile("default", deadline=None, max_examples=100, derandomize=CI)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile("default")


@pytest.fixture(scope="session", params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> ModuleType:
    """A module with ``train``, ``encode``, ``solve``, ``bpe_merges`` and ``BPEError``."""
    return exactbpe if request.param == "native" else exactbpe.reference
