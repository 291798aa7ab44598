"""When rounds and one merge at a time come to the same: the check, whose reason is in docs/formats.md.

Other programs merge one occurrence of the best pair and look again. They agree with rounds on every text
if every part of a rule is a character of the alphabet or made by an earlier rule, and no two rules make the
same string. Every trained list is so.
"""

from __future__ import annotations

from itertools import chain, repeat
from operator import lt

from exactbpe.formats.losses import Losses
from exactbpe.tokenizer import Tokenizer


def rules_in_order(tokenizer: Tokenizer, losses: Losses) -> list[list[str]]:
    """The rules, found to be in order; where losses are accepted, those of them whose parts have ids."""
    merges = tokenizer.merges
    fault = find_fault(tokenizer.alphabet, merges)
    if fault is None:
        return merges
    losses.add(f"{fault}, so programs that merge one occurrence at a time can give other tokens")
    known = tokenizer.vocab
    rules = dict.fromkeys((left, right) for left, right in merges if left in known and right in known)
    return [[left, right] for left, right in rules]


def find_fault(alphabet: list[str], merges: list[list[str]]) -> str | None:
    """The first rule that is out of order, and why."""
    n = len(merges)
    made = dict.fromkeys(alphabet, -1)
    made.update({left + right: index for index, (left, right) in enumerate(merges)})
    parts = chain.from_iterable(merges)
    users = chain.from_iterable(zip(range(n), range(n), strict=True))
    if len(made) == len(alphabet) + n and all(map(lt, map(made.get, parts, repeat(n)), users)):
        return None
    return _explained(alphabet, merges)


def _explained(alphabet: list[str], merges: list[list[str]]) -> str:
    made: dict[str, int] = dict.fromkeys(alphabet, -1)
    for index, (left, right) in enumerate(merges):
        rule = f"merges[{index}] = {[left, right]!a}"
        for part in (left, right):
            if part not in made:
                source = "is not in the alphabet" if len(part) == 1 else "is made by no rule before it"
                return f"{rule}: {part!a} {source}"
        if left + right in made:
            return f"{rule} makes {left + right!a}, as merges[{made[left + right]}] does"
        made[left + right] = index
    raise AssertionError("there is a fault")
