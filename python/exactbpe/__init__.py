"""Byte-pair encoding, exactly and fast: one specified answer for any input, thread count and machine.

>>> import exactbpe
>>> merges = exactbpe.train(["low lower lowest newest widest"], 15)
>>> exactbpe.encode("lowest", merges)
['low', 'est']
"""

from exactbpe import reference
from exactbpe._core import __version__
from exactbpe.counting import WordCounts, count_files, merge_counts
from exactbpe.encoding import encode
from exactbpe.json_requests import solve
from exactbpe.progress import Progress
from exactbpe.reference import BPEError
from exactbpe.tokenizer import Span, Tokenizer
from exactbpe.training import Learned, bpe_merges, learn, train

__all__ = [
    "BPEError",
    "Learned",
    "Progress",
    "Span",
    "Tokenizer",
    "WordCounts",
    "__version__",
    "bpe_merges",
    "count_files",
    "encode",
    "learn",
    "merge_counts",
    "reference",
    "solve",
    "train",
]
