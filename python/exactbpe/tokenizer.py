"""A tokenizer: merges, compiled once, for any number of texts."""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

from exactbpe import _core
from exactbpe.counting import cores
from exactbpe.files import PathLike, not_utf8, read_lines, replacing
from exactbpe.npy import NpyWriter
from exactbpe.reference import BPEError, iterator, not_a_str, whole_number
from exactbpe.training import checked_prefix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What the cache of words may take, for each thread.
CACHE_BYTES = 3 << 23

# Ids of the 256 byte tokens come after the vocabulary of the merges, in this spelling.
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


# How much of a file one thread encodes in a step.
LINES_BLOCK = 1 << 20


class Span(NamedTuple):
    """A token and where it stands in its text, in code points: ``text[start:end] == token``."""

    token: str
    start: int
    end: int


class Tokenizer:
    """Splits texts into tokens by merges, as ids or strings. It never changes.

    Ids: the alphabet in code point order, then the merged symbols in the order learned (a symbol that two
    rules make has one id), then the tokens for unknown characters, if any.

    Args:
        merges: pairs of non-empty strings, trained or hand-made.
        alphabet: the characters that have an id; the characters that the merges mention if not given.
        unknown: what becomes of a character without an id: ``"error"`` refuses it, ``"bytes"`` gives an id
            to each of its UTF-8 bytes, any other string is a token for each such character.
        word_prefix: put before every word, so that `decode` can restore words and spaces.
        cache_bytes: memory for words seen before, for each thread; 0 for none. It changes no result.

    Raises:
        TypeError: an argument has the wrong type.
        BPEError: a rule is not a pair of non-empty strings, an element of ``alphabet`` is not one
            character, or the token for unknown characters is a symbol already.

    >>> tokenizer = Tokenizer([["l", "o"], ["lo", "w"]], "lowest")
    >>> tokenizer.tokenize("low slow")
    ['low', 's', 'low']
    >>> tokenizer.encode("low slow")
    [7, 3, 7]
    >>> tokenizer.decode([7, 3, 7])
    'lowslow'
    """

    def __init__(
        self,
        merges: Iterable[Sequence[str]],
        alphabet: Iterable[str] | None = None,
        *,
        unknown: str = "error",
        word_prefix: str = "",
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        _check_unknown(unknown)
        cache_bytes = max(0, min(whole_number("cache_bytes", cache_bytes), 1 << 40))
        chars = None if alphabet is None else _code_points(alphabet)
        rules = list(iterator("merges", merges))
        prefix = checked_prefix(word_prefix)
        core = _core.Tokenizer(rules, chars, _kind(unknown), prefix, cache_bytes)
        self._complete(core, unknown, prefix, cache_bytes)

    @classmethod
    def _of(cls, model: _core.Model, unknown: str, word_prefix: str) -> Tokenizer:
        """The tokenizer of a model that a file held."""
        _check_unknown(unknown)
        tokenizer = cls.__new__(cls)
        core = model.tokenizer(_kind(unknown), checked_prefix(word_prefix), CACHE_BYTES)
        tokenizer._complete(core, unknown, word_prefix, CACHE_BYTES)
        return tokenizer

    def _complete(self, core: _core.Tokenizer, unknown: str, word_prefix: str, cache_bytes: int) -> None:
        self._core = core
        self._unknown = unknown
        self._word_prefix = word_prefix
        self._cache_bytes = cache_bytes
        clash = [token for token in self._unknown_tokens if self._core.token_to_id(token) is not None]
        if clash:
            raise BPEError(f"the merges make {clash[0]!r}, which unknown={unknown!r} needs for itself")

    # ------------------------------------------------------------------------------------ encoding

    def tokenize(self, text: str) -> list[str]:
        """The tokens of ``text``; without a prefix they equal ``exactbpe.encode(text, merges)``.

        Raises:
            TypeError: ``text`` is not a ``str``.
        """
        return self._core.tokenize(text)

    def tokenize_batch(self, texts: Iterable[str], *, threads: int | None = None) -> list[list[str]]:
        """`tokenize` for each text, faster than a loop of it.

        Raises:
            TypeError: ``texts`` is no list or iterable of ``str``; the message says where it is not.

        >>> Tokenizer([["l", "o"], ["lo", "w"]]).tokenize_batch(["low", "", "lo wol"])
        [['low'], [], ['lo', 'w', 'o', 'l']]
        """
        return self._core.tokenize_batch(_texts(texts), cores(threads))

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of ``text``.

        Raises:
            TypeError: ``text`` is not a ``str``.
            BPEError: a character has no id and is to be refused; the message names it and its position.
        """
        return self._core.encode(text)

    def encode_array(self, text: str) -> NDArray[np.uint32]:
        """As `encode`, in a NumPy array of shape ``(tokens,)``."""
        return self.encode_batch([_text(text)], threads=1)[0]

    def encode_batch(
        self, texts: Iterable[str], *, threads: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of all texts in one flat array, and where those of each begin.

        Returns:
            ``ids`` of shape ``(tokens,)`` and ``offsets`` of shape ``(texts + 1,)``: the ids of text *i*
            are ``ids[offsets[i]:offsets[i + 1]]``.
        """
        import numpy as np

        ids, offsets = self._core.encode_batch(_texts(texts), cores(threads))
        return np.asarray(ids), np.asarray(offsets)

    def encode_file(
        self, path: PathLike, out: PathLike, offsets: PathLike | None = None, *, threads: int | None = None
    ) -> None:
        """Encode a UTF-8 file of any size to `.npy` files, in memory that does not grow with it.

        Args:
            path: the file; a line ends at U+000A and nowhere else.
            out: where the ids go, ``uint32`` of shape ``(tokens,)``; written whole or not at all.
            offsets: where the offsets go, ``int64`` of shape ``(lines + 1,)``: the ids of line *i* are
                ``ids[offsets[i]:offsets[i + 1]]``. Not written if not given.

        Raises:
            OSError: a file cannot be read or written.
            BPEError: the file is not valid UTF-8 (the message names the byte), or a character has no id and
                is to be refused (it names line and position).
        """
        threads = cores(threads)
        if offsets is not None and os.path.realpath(out) == os.path.realpath(offsets):
            raise BPEError(f"offsets must go to another file than the ids, but both are {os.fspath(out)}")
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(open(path, "rb"))
            outputs = [replacing(out), *([replacing(offsets)] if offsets is not None else [])]
            temporaries = [stack.enter_context(output) for output in outputs]
            writers = [
                stack.enter_context(NpyWriter(temporary, dtype))
                for temporary, dtype in zip(temporaries, ("u4", "i8"), strict=False)
            ]
            self._encode_lines(source, path, writers, threads)

    def _encode_lines(self, source: BinaryIO, name: PathLike, writers: list[NpyWriter], threads: int) -> None:
        import numpy as np

        tokens = lines = read = 0
        if len(writers) > 1:
            writers[1].write(np.zeros(1, np.int64).data)
        for block in read_lines(source, LINES_BLOCK * threads):
            try:
                ids, ends = self._core.encode_lines(block, threads, os.fspath(name), lines + 1)
            except UnicodeDecodeError as error:
                raise not_utf8(name, read + error.start) from None
            writers[0].write(np.asarray(ids).data)
            offsets = np.asarray(ends)[1:] + tokens
            if len(writers) > 1:
                writers[1].write(offsets.data)
            tokens, lines, read = int(offsets[-1]), lines + len(offsets), read + len(block)

    def spans(self, text: str) -> list[Span]:
        """The tokens of ``text`` with their places in it, in code points.

        Of a token that holds the prefix only the rest stands in the text; a token of nothing but prefix
        has an empty span.
        """
        import re  # it costs a quarter of the time that `import exactbpe` takes

        tokens = iter(self.tokenize(text))
        spans = []
        # In Python's `re`, too, whitespace is what `str.isspace()` says.
        for word in re.finditer(r"\S+", text):
            at = word.start() - len(self._word_prefix)
            while at < word.end():
                token = next(tokens)
                start, at = at, at + len(token)
                spans.append(Span(token, max(start, word.start()), max(at, word.start())))
        return spans

    def count(self, text: str) -> int:
        """How many ids ``text`` has, without making them; a character to be refused counts as one."""
        return self._core.count(text)

    def count_batch(self, texts: Iterable[str], *, threads: int | None = None) -> list[int]:
        """`count` for each text."""
        return self._core.count_batch(_texts(texts), cores(threads))

    # ------------------------------------------------------------------------------------ decoding

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids: their tokens, joined.

        Byte tokens that make no character (ids cut inside one) give U+FFFD. With a prefix, each one becomes
        a space but the first, so that ``decode(encode(text))`` is ``" ".join(text.split())`` for every text
        that does not hold the prefix itself.

        Raises:
            TypeError: an id is not a whole number.
            BPEError: an id is not in the vocabulary; the message names its place.
        """
        tokens = [self._token(index, id) for index, id in enumerate(ids)]
        text = self._join(tokens)
        if self._word_prefix:
            text = text.replace(self._word_prefix, " ").removeprefix(" ")
        return text

    def _token(self, index: int, id: int) -> str:
        number = whole_number(f"ids[{index}]", id)
        if not 0 <= number < self.vocab_size:
            raise BPEError(f"ids[{index}] is {number}, but ids go from 0 to {self.vocab_size - 1}")
        return self._tokens[number]

    def _join(self, tokens: list[str]) -> str:
        if self._unknown != "bytes":
            return "".join(tokens)
        spelled = bytearray()
        for token in tokens:
            byte = _BYTE.get(token)
            spelled += token.encode("utf-8", "surrogatepass") if byte is None else byte
        return spelled.decode("utf-8", "exactbpe.cut")

    # ------------------------------------------------------------------------------------ vocabulary

    @property
    def vocab_size(self) -> int:
        """How many ids there are."""
        return len(self._tokens)

    @cached_property
    def vocab(self) -> Mapping[str, int]:
        """The id of every token."""
        return MappingProxyType({token: id for id, token in enumerate(self._tokens)})

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, ``None`` if it has none."""
        return self.vocab.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of an id, ``None`` if there is none."""
        number = whole_number("id", id)
        return self._tokens[number] if 0 <= number < self.vocab_size else None

    @property
    def merges(self) -> list[list[str]]:
        """The rules, as they were given."""
        return self._core.merges()

    @property
    def alphabet(self) -> list[str]:
        """The characters that have an id, in code point order."""
        return self._core.alphabet()

    @property
    def unknown(self) -> str:
        """What becomes of a character without an id."""
        return self._unknown

    @property
    def word_prefix(self) -> str:
        """What is put before every word."""
        return self._word_prefix

    @property
    def _unknown_tokens(self) -> list[str]:
        return {"error": [], "bytes": BYTE_TOKENS}.get(self._unknown, [self._unknown])

    @cached_property
    def _tokens(self) -> list[str]:
        return self._core.vocabulary() + self._unknown_tokens

    # ------------------------------------------------------------------------------------ files

    def save(self, path: PathLike, format: str | None = None, *, lossy: bool = False) -> None:
        """Write a file, as a rule a `tokenizer.json` of Hugging Face tokenizers: `exactbpe.formats.save`."""
        from exactbpe import formats

        formats.save(self, path, format, lossy=lossy)

    @classmethod
    def load(cls, path: PathLike, format: str | None = None, **options: Any) -> Tokenizer:
        """Read a file of this package or of another program: `exactbpe.formats.load`."""
        from exactbpe import formats

        return formats.load(path, format, **options)

    # ------------------------------------------------------------------------------------ identity

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the output, in hexadecimal; the same on every machine."""
        import hashlib
        import json  # as in `spans`

        parts = [self.merges, self.alphabet, self._unknown, self._word_prefix]
        spelled = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Tokenizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self._unknown, self._word_prefix, self._cache_bytes)
        return (_make, (self.merges, self.alphabet, *options))

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: object) -> Tokenizer:
        return self

    def __repr__(self) -> str:
        unknown, fingerprint = self._unknown, self.fingerprint[:12]
        return f"<Tokenizer: vocab_size={self.vocab_size}, unknown={unknown!r}, {fingerprint}>"


_surrogate_pass = codecs.lookup_error("surrogatepass")


def _replace_cut(error: UnicodeError) -> tuple[str | bytes, int]:
    """A lone surrogate passes; bytes that make no character, where ids were cut inside one, become U+FFFD."""
    try:
        return _surrogate_pass(error)
    except UnicodeDecodeError as still_wrong:
        return "\ufffd", still_wrong.end


codecs.register_error("exactbpe.cut", _replace_cut)


def _check_unknown(unknown: str) -> None:
    if not isinstance(unknown, str):
        raise not_a_str("unknown", unknown)
    if not unknown:
        raise BPEError('unknown must be "error", "bytes" or a token, not an empty string')


def _kind(unknown: str) -> Literal["error", "bytes", "token"]:
    return "error" if unknown == "error" else "bytes" if unknown == "bytes" else "token"


_BYTE = {token: bytes([byte]) for byte, token in enumerate(BYTE_TOKENS)}


def _make(
    merges: list[list[str]], alphabet: list[str], unknown: str, word_prefix: str, cache_bytes: int
) -> Tokenizer:
    return Tokenizer(merges, alphabet, unknown=unknown, word_prefix=word_prefix, cache_bytes=cache_bytes)


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise not_a_str("text", text)
    return text


def _texts(texts: Iterable[str]) -> list[str]:
    return texts if isinstance(texts, list) else list(iterator("texts", texts))


def _code_points(alphabet: Iterable[str]) -> list[int]:
    if not hasattr(alphabet, "__iter__"):
        raise TypeError(f"alphabet must be a str or a list of characters, not {type(alphabet).__name__}")
    code_points = set()
    for index, char in enumerate(alphabet):
        if not isinstance(char, str):
            raise not_a_str(f"alphabet[{index}]", char)
        if len(char) != 1:
            raise BPEError(f"alphabet[{index}] must be one character, not {char!r}")
        code_points.add(ord(char))
    return sorted(code_points)
