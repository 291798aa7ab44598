"""The real programs give our tokens: tokenizers, transformers, subword-nmt, sentencepiece, tiktoken.

Whatever one of our files says must come out of the program the file is for, and whatever we read of theirs
must come out of ours. The same on real text: tests/acceptance_formats.py.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from exactbpe import BPEError, Tokenizer, formats
from exactbpe.formats import SubwordNMT, sentencepiece_model, subword_nmt, tiktoken_ranks, tokenizer_json
from exactbpe.formats.given import Given
from exactbpe.formats.losses import Losses
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WHITESPACE
from strategies_formats import (
    ALPHABETS_IN_FILES,
    CODE_POINTS,
    any_merges,
    rules_in_order,
    short_texts,
    tokenizers_and_texts,
)
from test_formats_sentencepiece import NORMAL, UNKNOWN, model

os.environ["HF_HUB_OFFLINE"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import sentencepiece
    import tiktoken
    import tokenizers
    import transformers
    from subword_nmt.apply_bpe import BPE

PATH = Path("file")


def spelled(format: Any, tokenizer: Tokenizer, lossy: bool = False) -> str:
    return str(format.spell(tokenizer, PATH, Losses(PATH, lossy))[PATH], "utf-8")


def theirs(tokenizer: Tokenizer, lossy: bool = False) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(spelled(tokenizer_json, tokenizer, lossy))


# ---------------------------------------------------------------------------------------- tokenizers


@given(case=tokenizers_and_texts())
def test_tokenizers_gives_the_same_ids_and_texts(case: tuple[Tokenizer, list[str]]) -> None:
    ours, some = case
    their = theirs(ours)
    assert their.get_vocab() == ours.vocab
    for text, encoding in zip(some, their.encode_batch(some), strict=True):
        assert encoding.ids == ours.encode(text)
        assert their.decode(encoding.ids) == ours.decode(encoding.ids)


@given(
    case=st.sampled_from(ALPHABETS_IN_FILES).flatmap(
        lambda a: st.tuples(any_merges(a), st.lists(short_texts(a), min_size=3, max_size=5))
    )
)
def test_in_order_is_the_same_and_all_else_refused(case: tuple[list[tuple[str, str]], list[str]]) -> None:
    """The check on rules of every kind: trained, shuffled, repeated, with parts that no rule makes."""
    rules, some = case
    characters = {character for text in some for word in text.split() for character in word}
    ours = Tokenizer(rules, characters | {c for rule in rules for part in rule for c in part})
    if not ours._core.in_order:
        with pytest.raises(BPEError, match=r"merges\[\d+\]"):
            theirs(ours)
        assert theirs(ours, lossy=True).get_vocab() == ours.vocab
    else:
        assert [encoding.ids for encoding in theirs(ours).encode_batch(some)] == [*map(ours.encode, some)]


def test_the_difference_that_the_check_is_about() -> None:
    ours = Tokenizer([["ab", "a"], ["a", "b"]])
    loop = {"ab": ["ab"], "abab": ["ab", "ab"]}
    assert {word: ours.tokenize(word) for word in loop} == loop
    made = Tokenizer([["a", "b"], ["ab", "a"]])
    assert theirs(made).encode("abab").tokens == made.tokenize("abab")
    # What their heap makes of the rules out of order; their file needs an entry for each part.
    their = tokenizers.Tokenizer(
        tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2, "aba": 3}, [("ab", "a"), ("a", "b")])
    )
    assert their.encode("abab").tokens == ["aba", "b"]


def test_every_code_point_is_whitespace_or_not_as_here() -> None:
    characters = [c for c in CODE_POINTS if not c.isspace()]
    some = [c for c in characters if c < "\U00010000" or ord(c) % 1009 == 0 or c > "\U0010ff00"]
    for word_prefix in ("", "▁"):
        ours = Tokenizer([], some, word_prefix=word_prefix)
        their = theirs(ours)
        for text in (
            "".join(some + list(WHITESPACE)),
            " ".join(some),
            *(f"{c}a{c}{c}b{c}" for c in WHITESPACE),
        ):
            assert their.encode(text).ids == ours.encode(text)


def test_unknown_characters_are_refused_there_too() -> None:
    their = theirs(Tokenizer([["a", "b"]]))
    with pytest.raises(Exception, match="<a character without an id>"):
        their.encode("axb")


def test_a_whole_text_takes_no_longer_than_its_lines() -> None:
    ours = Tokenizer([["a", "b"]], word_prefix="▁", unknown="<unk>")
    text = " ab\n" * 50_000 + " " * 50_000
    assert theirs(ours).encode(text).ids == ours.encode(text)


def test_the_two_files_of_gpt2_there(tmp_path: Path) -> None:
    ours = Tokenizer([["é", "b"], ["éb", "c"], ["😀", "b"]], unknown="<unk>")
    formats.save(ours, tmp_path / "merges.txt")
    files = (str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    their = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files, unk_token="<unk>"))
    for word in ("ébc", "x😀béb", "bcébé"):
        assert their.encode(word).ids == ours.encode(word)


def test_a_tokenizer_that_tokenizers_trained(tmp_path: Path) -> None:
    rng = random.Random(3)
    text = " ".join("".join(rng.choices("abcdé你😀", k=rng.randint(1, 9))) for _ in range(500))
    their = tokenizers.Tokenizer(tokenizers.models.BPE())
    their.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=200, show_progress=False)
    their.train_from_iterator([text], trainer)
    path = tmp_path / "theirs.json"
    their.save(str(path))
    with pytest.raises(BPEError, match="WhitespaceSplit does not split at"):
        formats.load(path)
    with pytest.warns(formats.LossyWarning) as caught:
        ours = formats.load(path, lossy=True)
    assert [str(warning.message).split(": ", 1)[1].split(" ")[0] for warning in caught] == [
        "pre_tokenizer",
        "decoder",
        "unknown",
    ]
    assert ours.encode(text) == their.encode(text).ids
    # The same, said as this package says it, is read without a loss.
    for part in ("pre_tokenizer", "decoder"):
        setattr(their, part, getattr(theirs(ours), part))
    their.save(str(path))
    assert formats.load(path, unknown="error") == ours


# -------------------------------------------------------------------------------------- transformers


@settings(max_examples=25)
@given(case=tokenizers_and_texts())
def test_transformers_gives_the_same_ids_and_texts(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Tokenizer, list[str]]
) -> None:
    ours, some = case
    path = tmp_path_factory.mktemp("fast") / "tokenizer.json"
    formats.save(ours, path)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    assert fast.get_vocab() == ours.vocab
    assert fast(some)["input_ids"] == [*map(ours.encode, some)]
    for text in some:
        ids = ours.encode(text)
        assert fast.encode(text) == ids
        assert fast.decode(ids, clean_up_tokenization_spaces=False) == ours.decode(ids)


# --------------------------------------------------------------------------------------- subword-nmt


def real_bpe(codes: str) -> BPE:
    return BPE(io.StringIO(codes))


LINES = st.text("ab <\t\u3000\x85\x1c/w>", max_size=30) | st.text("ab ", max_size=40)


@given(
    rules=st.lists(
        st.lists(st.text("ab\u3000<", min_size=1, max_size=3), min_size=2, max_size=2), max_size=12
    ),
    marks=st.lists(st.sampled_from(["", "", "</w>"]), min_size=12, max_size=12),
    version=st.sampled_from([(0, 1), (0, 2)]),
    some=st.lists(LINES, min_size=1, max_size=6),
)
def test_codes_are_applied_as_by_subword_nmt(
    rules: list[list[str]], marks: list[str], version: tuple[int, int], some: list[str]
) -> None:
    pairs = [[left, right + mark] for (left, right), mark in zip(rules, marks, strict=False)]
    if version == (0, 1):
        pairs += [["a", "</w>"], ["b", "</w>"]]
    # An empty file has one empty rule, to the real program.
    pairs = pairs or [["x", "y"]]
    header = "#version: 0.2\n" if version == (0, 2) else ""
    their = real_bpe(header + "".join(f"{left} {right}\n" for left, right in pairs))
    ours = SubwordNMT(pairs, version)
    for line in some:
        for text in (line, line + "\n", " " + line + " \r\n"):
            assert ours.apply(text) == their.process_line(text)


@given(
    case=st.sampled_from(ALPHABETS_IN_FILES).flatmap(lambda a: st.tuples(rules_in_order(a), short_texts(a)))
)
def test_our_rules_as_codes(case: tuple[list[list[str]], str]) -> None:
    rules, text = case
    ours = Tokenizer([*rules, ["x", "y"]])
    line = " ".join(text.split())
    want = " ".join("@@ ".join(ours.tokenize(word)) for word in line.split())
    codes = spelled(subword_nmt, ours)
    assert real_bpe(codes).process_line(line) == want
    assert SubwordNMT([rule.split(" ") for rule in codes.split("\n")[1:-1]]).apply(line) == want


def test_the_command_line_of_subword_nmt(tmp_path: Path) -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdé你", k=rng.randint(1, 9))) for _ in range(300)]
    gaps = [*["", " ", "  ", "\t", "\n", " \n", "\r\n"] * 5, "\r", "\x0c", "\x1c", "\x85", "\u2028", "\u3000"]
    text = "".join(rng.choice(words) + rng.choice(gaps) for _ in range(5000))
    (tmp_path / "text").write_text(text, newline="")
    program = Path(sys.executable).with_name("subword-nmt")
    learn = [program, "learn-bpe", "-s", "200", "-i", tmp_path / "text", "-o", tmp_path / "codes"]
    apply = [program, "apply-bpe", "-c", tmp_path / "codes", "-i", tmp_path / "text", "-o", tmp_path / "out"]
    for command in (learn, apply):
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=60)
    ours = [sys.executable, "-m", "exactbpe", "encode", "--codes", tmp_path / "codes", tmp_path / "text"]
    done = subprocess.run(ours, check=True, stdout=subprocess.PIPE, timeout=60)
    assert done.stdout == (tmp_path / "out").read_bytes()


# ------------------------------------------------------------------------------------- sentencepiece


PIECES = st.lists(st.text("ab▁", min_size=2, max_size=6), unique=True, max_size=12)


@given(pieces=PIECES, some=st.lists(st.text("ab ", max_size=30), min_size=1))
def test_sentencepiece_or_a_refusal(pieces: list[str], some: list[str]) -> None:
    """Pieces in any order, most of them not what a trainer would give: what is read does the same.

    Not so for texts that hold ▁ themselves, which sentencepiece takes for spaces.
    """
    every = [*pieces, "a", "b", "▁"]
    data = model([("<unk>", 0.0, UNKNOWN), *((text, -float(i), NORMAL) for i, text in enumerate(every))])
    try:
        ours = sentencepiece_model.read(PATH, data, Losses(PATH, lossy=True), Given(unknown="error"))
    except BPEError:
        return
    their = sentencepiece.SentencePieceProcessor(model_proto=data)
    for text in some:
        assert ours.tokenize(text) == their.encode(text, out_type=str)


def test_a_trained_sentencepiece_model() -> None:
    rng = random.Random(6)
    words = ["".join(rng.choices("abcdeé你", k=rng.randint(1, 9))) for _ in range(400)]
    lines = [" ".join(rng.choices(words, k=9)) for _ in range(500)]
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        model_type="bpe",
        vocab_size=600,
        byte_fallback=True,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    ours = sentencepiece_model.read(PATH, file.getvalue(), Losses(PATH, lossy=True), Given())
    their = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    assert len(ours.merges) > 200
    for text in [*lines, "x é\u3042", " ".join(words)]:
        assert [ours.id_to_token(id) for id in ours.encode(text)] == their.encode(text, out_type=str)


# ------------------------------------------------------------------------------------------ tiktoken


def encoding(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding("test", pat_str=formats.WORD, mergeable_ranks=ranks, special_tokens={})


@given(
    case=st.sampled_from(["ab", "abc", "aé\u07ff", "a\0\x7f"]).flatmap(
        lambda a: st.tuples(rules_in_order(a), st.just(a), st.lists(short_texts(a), min_size=1, max_size=3))
    )
)
def test_tiktoken_gives_the_same_ids(case: tuple[list[list[str]], str, list[str]]) -> None:
    rules, alphabet, some = case
    ours = Tokenizer(rules, alphabet)
    try:
        data = tiktoken_ranks.spell(ours, PATH, Losses(PATH, lossy=False))[PATH]
    except BPEError as error:
        assert "of a word that is just this" in str(error)  # noqa: PT017 - most rules can be written
        return
    their = encoding(tiktoken_ranks._ranks(PATH, data))
    for text in some:
        assert their.encode_ordinary(text) == ours.encode(text)


@given(
    tokens=st.lists(st.text("ab", min_size=2, max_size=6), unique=True, max_size=12),
    some=st.lists(LINES, min_size=1),
)
def test_tiktoken_or_a_refusal(tokens: list[str], some: list[str]) -> None:
    """Ranks in any order; all bytes have one."""
    every = [*(bytes([byte]) for byte in range(256)), *(token.encode() for token in tokens)]
    ranks = {token: rank for rank, token in enumerate(every)}
    data = "".join(f"{tiktoken_ranks.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    try:
        ours = tiktoken_ranks.read(PATH, data.encode(), Losses(PATH, lossy=True), Given())
    except BPEError:
        return
    their = encoding(ranks)
    for text in some:
        want = [their.decode_single_token_bytes(id) for id in their.encode_ordinary(text)]
        got = [
            bytes([int(t[3:5], 16)]) if len(t) == 6 and t[0] == "<" else t.encode()
            for t in map(ours.id_to_token, ours.encode(text))
        ]
        assert got == want


def test_the_package_reads_nothing_of_theirs() -> None:
    program = "import sys, exactbpe.formats; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=60).split()
    assert not {"tokenizers", "transformers", "subword_nmt", "sentencepiece", "tiktoken"} & set(modules)
