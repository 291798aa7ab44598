"""Hostile sizes. Nothing is timed: what takes the wrong algorithm minutes is noticed all the same."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator

import pytest
from exactbpe import bpe_merges, encode, reference, solve, train

MILLION = 1_000_000


def noise(alphabet: str, length: int, seed: int = 0) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def test_a_million_times_the_same_letter() -> None:
    doublings = [["a" * 2**k] * 2 for k in range(19)]  # as long as the next doubling occurs twice
    word = "a" * MILLION
    assert train([word], 1 + 19) == doublings
    assert bpe_merges([word], 19) == [left + right for left, right in doublings]
    binary = [2**k for k in reversed(range(20)) if MILLION & 2**k]
    assert [len(token) for token in encode(word, doublings)] == binary
    assert encode(word, doublings[1:]) == ["a"] * MILLION
    assert encode(word, [["a", "a"], ["aa", "a"]]) == ["aa"] * (MILLION // 2)


def test_a_million_letters_in_pairs() -> None:
    word = "ab" * (MILLION // 2)
    merges = train([word], 2 + 4)
    assert merges == [["a", "b"], ["ab", "ab"], ["abab"] * 2, ["abababab"] * 2]
    assert encode(word, merges) == ["ab" * 8] * (MILLION // 16)
    assert encode(word, [["b", "a"]]) == ["a", *["ba"] * (MILLION // 2 - 1), "b"]


def test_long_noise() -> None:
    word = noise("ab", 200_000)
    merges = train([word], 2 + 60)
    assert merges == reference.train([word], 2 + 60)
    for rules in (merges, merges[::-1]):
        assert encode(word, rules) == reference.encode(word, rules)
    assert "".join(encode(word, train([word], 5_000))) == word


def test_long_noise_trained_to_the_end() -> None:
    word = noise("ab", 3_000)
    merges = train([word], 10**30)
    assert merges[-1][0] + merges[-1][1] == word
    assert encode(word, merges) == [word]


def test_a_chain_of_ever_longer_symbols() -> None:
    """Every pair occurs once, so the smallest is always the first character with what follows it."""
    word = "".join(map(chr, range(0x4E00, 0x4E00 + 2_000)))
    chain = [[word[:i], word[i]] for i in range(1, len(word))]
    assert train([word], 10**30) == chain
    assert encode(word, chain) == [word]
    assert encode(word[1:], chain) == list(word[1:])


def test_a_hundred_thousand_distinct_characters_in_one_word() -> None:
    word = "".join(map(chr, range(0x20000, 0x20000 + 100_000)))
    assert train([word], 100_000) == []
    assert train([word], 100_003) == [[word[:1], word[1]], [word[:2], word[2]], [word[:3], word[3]]]
    assert train([word], 10**30, 2) == []
    assert encode(word, [[word[1], word[2]]]) == [word[0], word[1:3], *word[3:]]


def test_an_alphabet_of_ten_thousand() -> None:
    alphabet = "".join(map(chr, range(0x4E00, 0x4E00 + 10_000)))
    rng = random.Random(1)
    corpus = [
        " ".join(noise(alphabet[: rng.randint(2, 10_000)], 3, seed) for seed in range(9)) for _ in range(500)
    ]
    corpus.append(alphabet)
    merges = train(corpus, 10_000 + 30)
    assert len(merges) == 30
    assert merges == reference.train(corpus, 10_000 + 30)


def test_a_million_texts() -> None:
    assert train(itertools.repeat("ab", MILLION), 9, MILLION) == [["a", "b"]]
    assert train(itertools.repeat("ab", MILLION), 9, MILLION + 1) == []
    assert train(itertools.repeat("aaa", MILLION), 9, 2 * MILLION) == [["a", "a"]]
    assert bpe_merges(itertools.repeat("ab", MILLION), 9) == ["ab"]


def test_a_million_distinct_words_from_a_generator() -> None:
    def texts() -> Iterator[str]:
        for i in range(0, MILLION, 1000):
            yield " ".join(f"{n:06}" for n in range(i, i + 1000))

    # Any two digits stand together 50,000 times. Merging 00 takes from 01 and 10, but not from 11.
    assert train(texts(), 10 + 3) == [["0", "0"], ["1", "1"], ["2", "2"]]


def test_a_million_empty_texts_and_no_text() -> None:
    for corpus in ([], [""] * MILLION, itertools.repeat(" \u3000\x1c\n", MILLION), [" " * MILLION]):
        assert train(corpus, 10**30) == []
    assert bpe_merges([], 5) == bpe_merges([""] * MILLION, 5) == []
    assert encode("", []) == encode(" " * MILLION, [["a", "b"]]) == []


def test_one_character_words() -> None:
    assert train(["a b c " * 100_000], 10**30) == []
    assert encode("a " * MILLION, [["a", "a"]]) == ["a"] * MILLION


def test_many_rules() -> None:
    rules = [
        [left, right] for left, right in itertools.product(map(chr, range(0x4E00, 0x4E00 + 400)), repeat=2)
    ]
    random.Random(2).shuffle(rules)
    word = noise("".join(left for left, _ in rules[:50]), 500)
    assert encode(word, rules) == reference.encode(word, rules)
    assert encode(word, rules * 3) == encode(word, rules)


@pytest.mark.parametrize(
    "text", ["a" * 10_000, noise("ab", 10_000), noise("ab   ", 10_000)], ids=["run", "ab", "words"]
)
def test_long_parts(text: str) -> None:
    """The request of SPEC 4: 10,000 characters, 50 rules of up to 200 characters a part."""
    rng = random.Random(3)
    letters = "".join(text.split())
    rules = []
    for _ in range(25):
        length = rng.randint(2, 400)
        start, cut = (
            rng.randrange(len(letters) - length),
            rng.randint(max(1, length - 200), min(200, length - 1)),
        )
        whole = letters[start : start + length]
        rules.append([whole[:cut], whole[cut:]])
    rules += [["a" * 2**k] * 2 for k in range(8)] + [["a", "b"], ["b", "a"], ["ab", "ab"], ["b", "b"]]
    want = reference.encode(text, rules)
    assert encode(text, rules) == want
    request = {"task": "encode", "text": text, "merges": rules}
    assert json.loads(solve(json.dumps(request))) == {"tokens": want}


def test_the_training_request_of_the_specification() -> None:
    """SPEC 4: 200 texts with 5,000 characters in all, about 970 merges."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    corpus = [noise(letters + "    ", 25, seed) for seed in range(200)]
    request = {"task": "train", "corpus": corpus, "vocab_size": 1000}
    merges = json.loads(solve(json.dumps(request)))["merges"]
    assert len(merges) == 1000 - len(letters)
    assert merges == reference.train(corpus, 1000)
