"""Whether a shared library is all there.

One that was cut short is mapped into memory all the same, and what is missing of it ends the
process that looks there (SIGBUS) without a word: it has to be found out before.
"""

from __future__ import annotations

import struct

HEAD = 65_536  # bytes from the start of a library, enough for its table of segments

_ELF64 = b"\x7fELF\x02\x01"  # little endian
_TABLE = struct.Struct("<32xQ14xHH")  # of segments: its place, the size of a row, the rows
_SEGMENT = struct.Struct("<I4xQ16xQ")  # kind, place, size in the file
_LOADED = 1


def is_cut_short(head: bytes, size: int) -> bool:
    """Whether a library of ``size`` bytes lacks some that its loader maps, by the first of them.

    Of ELF files of 64 bits; the loaders of others refuse them in words.
    """
    if not head.startswith(_ELF64):
        return False
    if len(head) < _TABLE.size:
        return True
    place, row, rows = _TABLE.unpack_from(head)
    if place + rows * row > size:
        return True
    if row < _SEGMENT.size or place + rows * row > len(head):
        return False  # no linker puts it there; what it says cannot be known from the head
    segments = [_SEGMENT.unpack_from(head, place + i * row) for i in range(rows)]
    return any(kind == _LOADED and start + length > size for kind, start, length in segments)
