"""The Rust core. Everything here is called with checked arguments by the modules beside it."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Literal, final

__all__ = [
    "Array",
    "Learner",
    "Model",
    "TextCounter",
    "Tokenizer",
    "WordCounts",
    "__version__",
    "merge_counts_files",
    "recovered_pairs",
]

__version__: str

@final
class WordCounts:
    """A table of words; any thread may use it at any time."""

    def __new__(cls) -> WordCounts: ...
    def add_words(self, words: Iterator[str], name: str) -> None: ...
    def add_word(self, word: str, count: int) -> None: ...
    def merge(self, other: WordCounts) -> None: ...
    def get(self, word: str) -> int: ...
    def __len__(self) -> int: ...
    @property
    def total(self) -> int: ...
    def equals(self, other: WordCounts) -> bool: ...
    def most_common(self, n: int) -> list[tuple[str, int]]: ...
    def save(self, path: PathLike[str] | str) -> None: ...
    @staticmethod
    def load(path: PathLike[str] | str) -> WordCounts: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(file: bytes) -> WordCounts: ...

def merge_counts_files(paths: Sequence[PathLike[str] | str], output: PathLike[str] | str) -> None: ...

@final
class TextCounter:
    """Counts texts and streams block by block."""

    def __new__(cls, threads: int) -> TextCounter: ...
    def add_texts(self, texts: Iterator[str], name: str) -> None: ...
    def add_utf8(self, block: bytes) -> int | None:
        """Give the offset in the stream of the first byte that is not UTF-8, if there is one."""

    def add_block_of(self, path: PathLike[str] | str, offset: int) -> tuple[int, int | None]:
        """Count the next bytes of a stream, a file that all threads read; give their number, and what
        ``add_utf8`` gives."""

    def end_stream(self) -> int | None: ...
    @property
    def block(self) -> int:
        """A good size for ``add_utf8``, in bytes."""

    @property
    def memory(self) -> int: ...
    def take(self) -> WordCounts:
        """Give the counts of all that was added, and start again; the word at the end of a block is kept."""

@final
class Learner:
    """Learning under way."""

    def __new__(
        cls,
        counts: WordCounts,
        vocab_size: int,
        max_merges: int,
        min_frequency: int | None,
        word_prefix: str,
        initial_merges: list[list[str]] | list[tuple[str, str]],
        threads: int,
        memory_limit: int,
    ) -> Learner: ...
    def step(self, seconds: float) -> Literal["vocab_size", "min_frequency", "no_pairs"] | None:
        """Work for about so long; say why learning has ended once it has."""

    @property
    def learned(self) -> int: ...
    @property
    def max_merges(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def merges(self) -> list[list[str]]: ...
    def frequencies(self) -> list[int]: ...
    def ties(self) -> list[int | None]: ...
    def alphabet(self) -> list[str]: ...

@final
class Tokenizer:
    """Compiled merges. Ids of unknown characters come after the vocabulary."""

    def __new__(
        cls,
        merges: list[list[str]] | list[tuple[str, str]],
        alphabet: list[int] | None,
        unknown: Literal["error", "bytes", "token"],
        word_prefix: str,
        cache_bytes: int,
    ) -> Tokenizer: ...
    @property
    def in_order(self) -> bool:
        """Whether each rule makes a new symbol, of characters or what rules before it made."""

    def vocabulary(self) -> list[str]: ...
    def alphabet(self) -> list[str]: ...
    def merges(self) -> list[list[str]]: ...
    def token_to_id(self, token: str) -> int | None: ...
    def tokenize(self, text: str) -> list[str]: ...
    def tokenize_batch(self, texts: list[str], threads: int) -> list[list[str]]: ...
    def encode(self, text: str) -> list[int]: ...
    def count(self, text: str) -> int: ...
    def encode_batch(self, texts: list[str], threads: int) -> tuple[Array, Array]: ...
    def count_batch(self, texts: list[str], threads: int) -> list[int]: ...
    def encode_lines(self, block: bytes, threads: int, name: str, first_line: int) -> tuple[Array, Array]:
        """As ``encode_batch``, for the lines of UTF-8 bytes, of which each ends with a line feed.

        ``name`` and ``first_line`` stand for the block in messages.
        """

@final
class Array:
    """Numbers that NumPy takes as they are: ``uint32`` ids or ``int64`` offsets."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

def recovered_pairs(strings: list[str]) -> tuple[list[tuple[str, str]], list[str] | None]:
    """The pair that makes each string, best rank first; if there is none for one, what is left of that."""

@final
class Model:
    """The vocabulary and merges of a file, if they are such as training gives; else nothing is given, and the
    general reader has to decide."""

    @staticmethod
    def of_document(document: bytes) -> Model | None:
        """Read a ``tokenizer.json``."""

    @staticmethod
    def of_merges(merges: bytes, vocab: bytes) -> Model | None:
        """Read a ``merges.txt`` and its ``vocab.json``."""

    @staticmethod
    def of_codes(codes: bytes, counted: bool) -> Model | None:
        """Read codes with each rule for the inside and for the end of words; with a count behind, or not."""

    @property
    def rest(self) -> bytes:
        """The document without vocabulary and merges."""

    @property
    def others(self) -> list[str]:
        """The tokens behind what the merges make, in the order of their ids."""

    def tokenizer(
        self, unknown: Literal["error", "bytes", "token"], word_prefix: str, cache_bytes: int
    ) -> Tokenizer:
        """Take the tokenizer out; this can be done once."""
