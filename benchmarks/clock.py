"""Inside a measured process: time one piece of work, and report it in one line of JSON."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def job() -> Any:
    """What this process is to do: the JSON object that the harness gave as its argument."""
    return json.loads(sys.argv[1])


def timed(work: Callable[[], T], limit: float) -> tuple[T, float, int]:
    """The result of ``work``, its seconds, and the peak memory of the process in bytes so far.

    After ``limit`` seconds the alarm ends the process, whatever native code it is in; the harness reports
    that as a time-out. Only the work counts against the limit, not the preparations.
    """
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return result, seconds, peak_memory()


def peak_memory() -> int:
    """The most memory that this process has held, in bytes.

    Linux hands the ``ru_maxrss`` of a parent down to the program it starts (500 MB in the harness show up
    as 500 MB here), so the kernel's own mark for this program, ``VmHWM``, is asked first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def digest(value: object) -> str:
    """A fingerprint of ``value``: SHA-256 of its JSON, or of its bytes."""
    data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()


def report(seconds: float, peak: int, fingerprint: str, **more: object) -> None:
    """Print the one line that the harness reads."""
    print(json.dumps({"seconds": seconds, "peak": peak, "digest": fingerprint, **more}))
