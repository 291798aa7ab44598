"""When rounds and one merge at a time come to the same: the check, whose reason is in docs/formats.md.

Other programs merge one occurrence of the best pair and look again. They agree with rounds on every text
if every part of a rule is a character of the alphabet or made by an earlier rule, and no two rules make the
same string. Every trained list is so.
"""

from __future__ import annotations

from collections.abc import Sequence

from exactbpe.formats.losses import Losses
from exactbpe.formats.messages import shown, shown_rule
from exactbpe.tokenizer import Tokenizer


def note_order(tokenizer: Tokenizer, losses: Losses) -> None:
    """Note the first rule out of order."""
    if not tokenizer._core.in_order:
        fault = _fault(tokenizer.alphabet, tokenizer.merges)
        losses.add(f"{fault}, so programs that merge one occurrence at a time can give other tokens")


def rules_with_ids(tokenizer: Tokenizer) -> list[list[str]]:
    """The rules that other programs can load: those whose parts are in the vocabulary, each once.

    The others never apply, or a character they need has no id. If the rules are in order, these are all.
    """
    known = tokenizer.vocab
    rules = ((left, right) for left, right in tokenizer.merges if left in known and right in known)
    return [[left, right] for left, right in dict.fromkeys(rules)]


def _fault(alphabet: Sequence[str], merges: Sequence[Sequence[str]]) -> str:
    """The first rule out of order, and why."""
    made: dict[str, int] = dict.fromkeys(alphabet, -1)
    for index, (left, right) in enumerate(merges):
        rule = f"merges[{index}] = {shown_rule((left, right))}"
        for part in (left, right):
            if part not in made:
                source = "is not in the alphabet" if len(part) == 1 else "is made by no rule before it"
                return f"{rule}: {shown(part)} {source}"
        if left + right in made:
            return f"{rule} makes {shown(left + right)}, as merges[{made[left + right]}] does"
        made[left + right] = index
    raise AssertionError("there is a fault")
