"""What hypothesis draws from for files: tokenizers whose rules are in order, and texts for them."""

from __future__ import annotations

import functools
from itertools import pairwise

from exactbpe import Tokenizer, reference
from hypothesis import strategies as st
from strategies import ALPHABETS, merges, texts

# A file of UTF-8 holds no lone surrogate.
ALPHABETS_IN_FILES = [
    alphabet for alphabet in ALPHABETS if not any("\ud800" <= c <= "\udfff" for c in alphabet)
]

CODE_POINTS = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]

Rules = list[list[str]]


# Strategies are checked when they are first drawn from: kept, they are so once an alphabet.
short_texts = functools.cache(functools.partial(texts, max_words=3))
any_merges = functools.cache(merges)


@functools.cache
def rules_in_order(alphabet: str) -> st.SearchStrategy[Rules]:
    """Trained lists, and others whose parts are characters or older results, each string made once."""
    trained = short_texts(alphabet).map(lambda text: reference.train([text], 40))
    return st.one_of(
        trained, st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=15).map(_in_order(alphabet))
    )


def _in_order(alphabet: str):  # type: ignore[no-untyped-def]
    def rules(choices: list[tuple[int, int]]) -> Rules:
        symbols, made = list(alphabet), []
        for i, j in choices:
            left, right = symbols[i % len(symbols)], symbols[j % len(symbols)]
            if left + right not in symbols and len(left + right) <= 8:
                symbols.append(left + right)
                made.append([left, right])
        return made

    return rules


def chained(leaving_out: str = "") -> Tokenizer:
    """Every character up to U+3100, and some of the others, as left and as right part of a rule."""
    some = [c for c in CODE_POINTS if (c < "\u3100" or ord(c) % 257 == 0) and c not in leaving_out]
    return Tokenizer([*map(list, pairwise(some)), [some[-1], some[0]]], some)


def long_parts(leaving_out: str) -> Rules:
    """Every character but some, as left and as right part of rules, twenty at a time."""
    held = "".join(c for c in CODE_POINTS if c not in leaving_out)
    return [[held[i : i + 20], held[i : i + 20]] for i in range(0, len(held), 20)]


@st.composite
def tokenizers_and_texts(draw: st.DrawFn, *, other: str = "xé\u3042😀") -> tuple[Tokenizer, list[str]]:
    """A tokenizer that a file can hold, and texts of its alphabet; unknown characters too, unless refused."""
    alphabet = draw(st.sampled_from(ALPHABETS_IN_FILES))
    unknown = draw(st.sampled_from(["error", "bytes", "<unk>", "?"]))
    word_prefix = draw(st.sampled_from(["", "", "▁", "<w>", alphabet[0]]))
    known = sorted({*alphabet, *word_prefix})
    tokenizer = Tokenizer(draw(rules_in_order(alphabet)), known, unknown=unknown, word_prefix=word_prefix)
    written = "".join(known) if unknown == "error" else alphabet + word_prefix + other
    return tokenizer, draw(st.lists(short_texts(written), min_size=1, max_size=3))
