"""Arrays in files that grow: NumPy's `.npy` format, version 1.0.

The format is documented in `numpy.lib.format`: a magic string, the length of a header, and the header, a
Python literal padded with spaces. The padding leaves room to write the true length at the end.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

HEADER_BYTES = 128


class NpyWriter:
    """Writes a one-dimensional array of unknown length, piece by piece."""

    def __init__(self, path: Path, dtype: str) -> None:
        order = "<" if sys.byteorder == "little" else ">"
        self._descr = order + dtype
        self._bytes = 0
        self._file = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))

    def write(self, values: bytes | bytearray | memoryview) -> None:
        """Append values, as bytes in this machine's order."""
        self._file.write(values)
        self._bytes += memoryview(values).nbytes

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if error is None:
                length = self._bytes // int(self._descr[2:])
                header = repr({"descr": self._descr, "fortran_order": False, "shape": (length,)})
                self._file.seek(0)
                self._file.write(b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little"))
                self._file.write(header.encode().ljust(HEADER_BYTES - 11) + b"\n")
