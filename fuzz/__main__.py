"""Compare the package with slow and simple programs until the time is up or a difference is found.

python -m fuzz --seconds 1200          every kind of case, another seed every time
python -m fuzz --seed 5 --only learn   one kind, the same cases again
python -m fuzz real                    the trainer on 1 MB of each language, against a slow recount
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from typing import Any

from fuzz import real
from fuzz.kinds import HAS_ENCODE_FILE, HAS_MEMORY_LIMIT, KINDS
from fuzz.shrink import Case, shrink

SHRINK_SECONDS = 60


def main() -> int:
    arguments = parser().parse_args()
    if arguments.what == "real":
        return real.main()
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    missing = [
        name for name, there in (("memory limits", HAS_MEMORY_LIMIT), ("files", HAS_ENCODE_FILE)) if not there
    ]
    print(
        f"seed {seed}, {arguments.seconds:g} seconds" + (f", without {missing}" if missing else ""),
        flush=True,
    )
    names = [name for name in KINDS if arguments.only in (None, name)]
    done: Counter[str] = Counter()
    start = told = time.monotonic()
    number = arguments.first
    while (now := time.monotonic()) - start < arguments.seconds and number < arguments.last:
        rng = random.Random(f"{seed} {number}")
        name = rng.choices(names, [KINDS[name].share for name in names])[0]
        if not passes(name, KINDS[name].draw(rng), f"--seed {seed} --first {number}", arguments.only):
            return 1
        done[name] += 1
        number += 1
        if now - told > 10:
            told = now
            print(f"{now - start:6.0f} s  {summary(done)}", flush=True)
    print(f"no difference in {time.monotonic() - start:.0f} s: {summary(done)}")
    return 0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        "python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("what", nargs="?", choices=["random", "real"], default="random")
    result.add_argument("--seconds", type=float, default=60, help="stop after this time (60)")
    result.add_argument("--seed", type=int, help="of all cases; drawn anew if not given")
    result.add_argument("--only", choices=[*KINDS], help="one kind of cases")
    result.add_argument("--first", type=int, default=0, metavar="N", help="begin with this case")
    result.add_argument("--last", type=int, default=10**12, metavar="N", help="end before this case")
    return result


def passes(name: str, case: Case, place: str, only: str | None) -> bool:
    """Check one case; at a difference print what is needed to see it again."""
    message = failure(name, case)
    if message is None:
        return True
    again = f"python -m fuzz {place}" + (f" --only {only!r}" if only else "")
    print(f"\nDIFFERENCE in {name!r}: {message}\nsee it again with: {again}", flush=True)
    print(f"making it smaller, for {SHRINK_SECONDS} seconds at most ...", flush=True)
    smallest = shrink(case, lambda smaller: failure(name, smaller) is not None, SHRINK_SECONDS)
    print(failure(name, smallest))
    for field, value in smallest.items():
        print(f"  {field} = {shown(value)}")
    return False


def failure(name: str, case: Case) -> str | None:
    try:
        KINDS[name].check(case)
    except KeyboardInterrupt:
        raise
    except AssertionError as difference:
        return str(difference) or traceback.format_exc()
    except BaseException:  # a panic is none of `Exception`
        return traceback.format_exc()
    return None


def shown(value: Any) -> str:
    spelled = ascii(value)
    return spelled if len(spelled) < 5_000 else f"{spelled[:5_000]} ... ({len(spelled)} characters)"


def summary(done: Counter[str]) -> str:
    return f"{done.total()} cases (" + ", ".join(f"{name} {n}" for name, n in sorted(done.items())) + ")"


if __name__ == "__main__":
    sys.exit(main())
