"""One JSON request in, one line of JSON out."""

from __future__ import annotations

from exactbpe.encoding import encode
from exactbpe.reference import answer
from exactbpe.training import train


def solve(input_str: str) -> str:
    """Answer one request, a JSON object, with one line of JSON.

    ``{"task": "train", "corpus": [...], "vocab_size": n, "min_frequency": m}`` gives
    ``{"merges": [...]}`` (``min_frequency`` may be absent), and
    ``{"task": "encode", "text": "...", "merges": [...]}`` gives ``{"tokens": [...]}``. Other keys are
    ignored, as are whitespace and a byte order mark around the request.

    Raises:
        TypeError: ``input_str`` is not a ``str``, or a field has the wrong type.
        BPEError: the request is not JSON, not an object, has no known task, or misses a field.

    >>> solve('{"task": "encode", "text": "aaa", "merges": [["a", "a"]]}')
    '{"tokens": ["aa", "a"]}'
    """
    return answer(input_str, train, encode)
