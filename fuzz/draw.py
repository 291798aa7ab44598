"""Random words, corpora, texts and rules; everything follows from the generator that is given."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from exactbpe import reference

Counts = dict[str, int]
Rules = list[list[str]]

WHITESPACE = [char for char in map(chr, range(0x3001)) if char.isspace()]

ALPHABETS = [
    "a",
    "ab",
    "abc",
    "abcdefgh",
    "abcdefghijklmnopqrstuvwxyz",
    "a\0",
    "a\0\x7f\x80",
    "aé\u07ff\u0800\uffff\U00010000\U0010ffff",
    "\uff5e😀你好",
    "👩\u200d👧\ufeff\u200b",
    "\ud83d\ude00😀a",
]


def alphabet(rng: random.Random) -> str:
    """One character or ten thousand, mostly few."""
    if rng.random() < 0.7:
        return rng.choice(ALPHABETS)
    size = int(10 ** rng.uniform(0, 4))
    start = rng.choice([0x21, 0x100, 0x4E00, 0xD000, 0x1F300, 0x20000])
    chars = [chr(point) for point in range(start, start + size + 40)]
    return "".join(char for char in chars if not char.isspace())[:size]


def word(rng: random.Random, chars: str, length: int) -> str:
    """Noise, a run of one unit, or noise in which parts come again."""
    kind = rng.random()
    if kind < 0.5:
        return "".join(rng.choices(chars, k=length))
    unit = "".join(rng.choices(chars, k=rng.randint(1, 4)))
    if kind < 0.8:
        return (unit * length)[:length]
    units = [unit, unit[::-1], *rng.choices(chars, k=2)]
    return "".join(rng.choices(units, k=length))[:length]


def length(rng: random.Random, most: int) -> int:
    """All orders of magnitude alike, with a liking for the sizes at which something changes."""
    if rng.random() < 0.2:
        return min(most, rng.choice([1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 66, 128]))
    return max(1, int(most ** rng.random()))


def counts(rng: random.Random, symbols: int) -> Counts:
    """Words with counts, in all at most about so many symbols."""
    chars = alphabet(rng)
    longest = length(rng, symbols)
    weights = rng.choice(["one", "few", "zipf", "huge"])
    result: Counts = {}
    room = symbols
    while room > 0 and len(result) < 10_000:
        new = word(rng, chars, length(rng, min(longest, room)))
        room -= len(new) + 3
        result[new] = {
            "one": 1,
            "few": rng.randint(1, 4),
            "zipf": 1 + int(symbols / (1 + rng.expovariate(0.01))),
            "huge": rng.choice([1, 3 * 10**9, 2**32 - 1, 2**32, 2**44, rng.randint(1, 2**44)]),
        }[weights]
        if rng.random() < 0.01:
            break
    return result


def texts(rng: random.Random, words: Counts, most: int) -> list[str]:
    """Texts that hold the words, some of them several times, between whitespace of any kind."""
    some = [word for word, count in words.items() for _ in range(min(count, 3))][:most]
    rng.shuffle(some)
    spaced = [rng.choice(["", " ", "\n"])]
    for word in some:
        spaced += [word, "".join(rng.choices(WHITESPACE, k=rng.randint(1, 2)))]
    return cut(rng, "".join(spaced))


def cut(rng: random.Random, text: str) -> list[str]:
    """Cut a text before some of its whitespace."""
    places = [i for i, char in enumerate(text) if char.isspace()]
    chosen = sorted(rng.sample(places, min(len(places), length(rng, 30) - 1)))
    return [text[start:end] for start, end in pairwise([0, *chosen, len(text)])]


def rules(rng: random.Random, words: Counts, most: int) -> Rules:
    """Trained on the words, or made by hand: in any order, with repeats and several ways to a string."""
    chars = sorted(set().union(*words)) or ["a"]
    result: Rules = []
    if rng.random() < 0.5:
        some = rng.sample(sorted(words), min(len(words), 20))
        result += reference.train([word[:2000] for word in some], 10**6)[:most]
    if rng.random() < 0.7:
        strings = [*rng.choices(chars, k=4)]
        for _ in range(length(rng, most)):
            left, right = rng.choice(strings), rng.choice([*strings, rng.choice(chars)])
            result.append([left, right])
            if len(left + right) < 40:
                strings.append(left + right)
    if rng.random() < 0.3:
        whole = word(rng, "".join(chars[:5]), rng.randint(2, 12))
        result += [[whole[:i], whole[i:]] for i in range(1, len(whole))]
        result += [[left, right] for left, right in pairwise(whole)]
    if rng.random() < 0.3:
        result += rng.choices(result, k=3) if result else []
    order = rng.random()
    if order < 0.3:
        rng.shuffle(result)
    elif order < 0.4:
        result.reverse()
    elif order < 0.6 and result:
        for _ in range(3):
            i, j = rng.randrange(len(result)), rng.randrange(len(result))
            result[i], result[j] = result[j], result[i]
    return result[:most]


def counted(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())
