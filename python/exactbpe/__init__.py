"""Byte-pair encoding, exactly and fast: one specified answer for any input, thread count and machine.

>>> import exactbpe
>>> merges = exactbpe.train(["low lower lowest newest widest"], 15)
>>> exactbpe.encode("lowest", merges)
['low', 'est']
"""

from exactbpe import reference
from exactbpe._core import __version__
from exactbpe.encoding import encode
from exactbpe.json_requests import solve
from exactbpe.reference import BPEError
from exactbpe.training import bpe_merges, train

__all__ = ["BPEError", "__version__", "bpe_merges", "encode", "reference", "solve", "train"]
