"""FMU archives that anybody may have made: opened only if nothing in them can do harm.

An archive is refused as a whole, with everything that is wrong with it, before a byte of it is
unpacked: names that lead out of a folder or mean different files on different systems, links,
encryption, entries that share their bytes, and sizes that no FMU has. What is read or unpacked
afterwards is bounded by the sizes that were judged, whatever the compressed streams say.
"""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pliant.errors import ModelError, Problem
from pliant.inert import inert

# The directory of an archive is held in memory, 600 bytes an entry.
LARGEST_DIRECTORY = 4_000_000  # bytes
MOST_ENTRIES = 20_000
# Beyond so many bytes unpacked an FMU must also be worth it: none is a hundred times its archive.
SMALL = 100_000_000
LARGEST_RATIO = 100
LARGEST_UNPACKED = 1_000_000_000  # bytes: what a temporary folder should be able to hold
LONGEST_NAME = 250  # characters; file systems hold 255 bytes in a component

_PIECE = 1 << 20  # bytes unpacked at once
_LOCAL_HEADER = 30  # bytes before the name of an entry
_SHOWN = 8  # problems of an archive that are told one by one

# what reading a damaged archive raises
UNREADABLE = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    EOFError,
    RuntimeError,
    ValueError,  # also UnicodeDecodeError
    OverflowError,
)


class _Pieces(io.FileIO):
    """A file that gives no more at once than the directory of an archive may be long."""

    bounded = True  # until the directory is read

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.bounded:
            return super().read(size) or b""
        most = LARGEST_DIRECTORY + 1
        found = super().read(most if size is None or size < 0 else min(size, most)) or b""
        if len(found) == most:
            raise zipfile.BadZipFile(
                f"its directory is longer than {LARGEST_DIRECTORY // 1_000_000} MB"
            )
        return found


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive at a path. Raises a ModelError if it is none, or one that could do harm."""
    where = str(path)
    with ExitStack() as stack:
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise ModelError.at(where, "is no file, so no FMU")
            file = stack.enter_context(_Pieces(path))
            archive = stack.enter_context(zipfile.ZipFile(file))
            file.bounded = False
        except FileNotFoundError:
            raise ModelError.at(where, "no such file") from None
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.strerror:
                raise ModelError.at(where, f"cannot be read: {error.strerror}") from None
            raise ModelError.at(
                where, f"is no FMU, or a damaged one: {inert(str(error))}"
            ) from None
        problems = list(_problems(archive.infolist(), archive.start_dir))
        if problems:
            raise ModelError(_few(where, problems))
        yield archive


def _few(where: str, problems: Sequence[str]) -> list[Problem]:
    left = len(problems) - _SHOWN
    more = [f"... and {left} more of the kind"] if left > 0 else []
    return [Problem(where, text) for text in [*problems[:_SHOWN], *more]]


def _problems(entries: Sequence[zipfile.ZipInfo], end: int) -> Iterator[str]:
    """What makes an archive harmful; ``end`` is where its directory begins."""
    if len(entries) > MOST_ENTRIES:
        yield f"holds {len(entries)} files; an FMU has at most {MOST_ENTRIES}"
        return
    packed, unpacked = sum(e.compress_size for e in entries), sum(e.file_size for e in entries)
    if unpacked > LARGEST_UNPACKED:
        yield (
            f"unpacks to {unpacked / 1e6:,.0f} MB, more than {LARGEST_UNPACKED / 1e6:,.0f} MB that "
            "are unpacked here"
        )
    elif unpacked > max(SMALL, LARGEST_RATIO * packed):
        yield (
            f"unpacks to {unpacked / 1e6:,.0f} MB, {unpacked / max(packed, 1):,.0f} times what it "
            "takes packed, as no FMU does but a zip bomb"
        )
    if _share_bytes(entries, end):
        yield "its entries share their bytes, as in a zip bomb"
    yield from _name_problems(entries)
    for entry in entries:
        shown = inert(entry.orig_filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            what = "a link" if kind == stat.S_IFLNK else "no file"
            yield f"{shown} is {what}; an FMU holds files only"
        if entry.flag_bits & 1:
            yield f"{shown} is encrypted; an FMU is open to read"
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            yield f"{shown} is compressed by method {entry.compress_type}; FMI asks for deflate"


def _share_bytes(entries: Sequence[zipfile.ZipInfo], end: int) -> bool:
    """Whether an entry reaches into the next one, or into the directory."""
    if not entries:
        return False
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    starts = [*(entry.header_offset for entry in ordered[1:]), end]
    return any(
        entry.header_offset + _LOCAL_HEADER + entry.compress_size > start
        for entry, start in zip(ordered, starts, strict=True)
    )


def _name_problems(entries: Sequence[zipfile.ZipInfo]) -> Iterator[str]:
    seen: dict[str, str] = {}
    folders: set[str] = set()
    for entry in entries:
        name = entry.orig_filename
        shown = inert(name)
        fault = _name_fault(name)
        if fault:
            yield f"the path {shown} {fault}"
            continue
        alike = unicodedata.normalize("NFC", name.rstrip("/")).casefold()
        if alike in seen:
            same = seen[alike] == name
            other = "there twice" if same else f"also there as {inert(seen[alike])}"
            yield f"the path {shown} is {other}; which one counts is left to chance"
        seen.setdefault(alike, name)
        parts = alike.split("/")
        folders.update("/".join(parts[:i]) for i in range(1, len(parts)))
    for alike, name in seen.items():
        if alike in folders and not name.endswith("/"):
            yield f"the path {inert(name)} is a file and a folder"


def _name_fault(name: str) -> str | None:
    """Why a path could lead out of the folder that it is unpacked to, or mislead."""
    if "\0" in name or not name.isprintable():
        return "contains a character that does not print"
    if "\\" in name:
        return "contains a backslash; write slashes"
    if name.startswith("/") or ":" in name:
        return "begins at a root or drive; write it relative to the archive"
    parts = name.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has a part that is empty, . or ..; write it straight down from the archive"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return None


def read_entry(archive: zipfile.ZipFile, name: str, most: int, path: Path) -> bytes:
    """An entry of at most so many bytes. Raises a ModelError if it is longer or damaged."""
    entry = archive.getinfo(name)
    if entry.file_size > most:
        size = f"{entry.file_size / 1e6:,.0f} MB"
        raise ModelError.at(str(path), f"{name} has {size}; at most {most / 1e6:,.0f} MB are read")
    try:
        return b"".join(_pieces(archive, entry))
    except UNREADABLE as error:
        raise ModelError.at(
            str(path), f"is damaged: {name} cannot be unpacked: {inert(str(error))}"
        ) from None


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of an entry; read at once, a stream may unpack to more than it says it does."""
    with archive.open(entry) as stream:
        while piece := stream.read(_PIECE):
            yield piece


def first_bytes(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Of an entry, at most so many; none if it is damaged."""
    try:
        with archive.open(name) as stream:
            return stream.read(most)
    except UNREADABLE:
        return b""


def first_damaged(archive: zipfile.ZipFile) -> str | None:
    """The first entry that cannot be unpacked, None if all can."""
    for entry in archive.infolist():
        try:
            for _ in _pieces(archive, entry):
                pass
        except UNREADABLE:
            return entry.filename
    return None


def unpack(path: Path, folder: Path) -> None:
    """Unpacks an FMU. Raises a ModelError if it could do harm or is damaged."""
    with opened(path) as archive:
        for entry in archive.infolist():
            try:
                archive.extract(entry, folder)
            except UNREADABLE as error:
                reason = getattr(error, "strerror", None) or inert(str(error))
                raise ModelError.at(
                    str(path), f"{entry.filename} cannot be unpacked: {reason}"
                ) from None
