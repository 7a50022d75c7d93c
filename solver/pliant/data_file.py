"""Writing the kernel data file: named sections of int32 and float64 behind a checksum.

The layout is described where it is read, in ``solver/kernel/data_file.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
_HEADER = struct.Struct("<8sIIQQ")
_ROW = struct.Struct("<32sIIQQ")


def pack(sections: Mapping[str, NDArray[np.float64] | NDArray[np.int32]]) -> bytes:
    """The bytes of a kernel data file with these sections.

    >>> blob = pack({"gravity": np.array([0.0, 0.0, -9.81])})
    >>> blob[:6], len(blob)
    (b'pliant', 112)
    """
    table, body = b"", b""
    start = _HEADER.size + _ROW.size * len(sections)
    for name, values in sections.items():
        kind = 0 if values.dtype == np.int32 else 1
        data = np.ascontiguousarray(values, "<i4" if kind == 0 else "<f8").tobytes()
        table += _ROW.pack(name.encode("ascii"), kind, 0, start + len(body), values.size)
        body += data + b"\0" * (-len(data) % 8)
    rest = table + body
    size = _HEADER.size + len(rest)
    return _HEADER.pack(b"pliant", FORMAT, len(sections), size, fnv1a(rest)) + rest


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash, as the kernel computes it."""
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return value
