"""Writing the kernel data file: named sections of int32, float64 and bytes behind a checksum.

The layout is described where it is read, in ``solver/kernel/data_file.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
# A limit that is none: beyond all that is held against it, and a number that the kernel takes.
NO_LIMIT = 1e60
Section: TypeAlias = NDArray[np.int32] | NDArray[np.float64] | NDArray[np.uint8]

_HEADER = struct.Struct("<8sIIQQ")
_NAME_SIZE = 32
_ROW = struct.Struct(f"<{_NAME_SIZE}sIIQQ")
# the number of each type in the file, and how it is stored
_TYPES: dict[np.dtype[Any], tuple[int, str]] = {
    np.dtype(np.int32): (0, "<i4"),
    np.dtype(np.float64): (1, "<f8"),
    np.dtype(np.uint8): (2, "u1"),
}


def pack(sections: Mapping[str, Section]) -> bytes:
    """The bytes of a kernel data file with these sections.

    >>> blob = pack({"gravity": np.array([0.0, 0.0, -9.81])})
    >>> blob[:6], len(blob)
    (b'pliant', 112)
    """
    rows, parts = [], []
    offset = _HEADER.size + _ROW.size * len(sections)
    for name, values in sections.items():
        key = name.encode("ascii")
        if len(key) > _NAME_SIZE:
            raise ValueError(f"section name {name!r} is longer than {_NAME_SIZE} characters")
        if values.dtype not in _TYPES:
            raise TypeError(f"section {name!r}: the file has no type for {values.dtype}")
        kind, stored = _TYPES[values.dtype]
        data = np.ascontiguousarray(values, stored).tobytes()
        rows.append(_ROW.pack(key, kind, 0, offset, values.size))
        parts.append(data + b"\0" * (-len(data) % 8))
        offset += len(parts[-1])
    rest = b"".join(rows + parts)
    size = _HEADER.size + len(rest)
    return _HEADER.pack(b"pliant", FORMAT, len(sections), size, fnv1a(rest)) + rest


def text_section(text: str) -> NDArray[np.uint8]:
    """Text as a section of bytes, UTF-8.

    >>> text_section("ab").tolist()
    [97, 98]
    """
    return np.frombuffer(text.encode("utf-8"), np.uint8)


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash, as the kernel computes it."""
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return value
