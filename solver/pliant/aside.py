"""Files that come into being aside, and take their names only when they are whole and on the disk.

So a file of that name that was there before stays as it was until then, whatever happens.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pliant.errors import ModelError


@contextmanager
def replacing(path: Path, overwrite: bool = True) -> Iterator[io.FileIO]:
    """A new file that takes the place of ``path`` if nothing goes wrong, and else is gone."""
    try:
        if (missing := no_folder(path)) is not None:
            raise ModelError.at(str(path), missing)
        if path.is_dir():
            raise ModelError.at(str(path), "it is a folder; give the name of a file")
        real = path.resolve()
        aside = real.with_name(f".{real.name[:200]}.{secrets.token_hex(4)}")
        file = io.FileIO(aside, "x+")
        try:
            with file:
                yield file
                os.fsync(file.fileno())
            put_in_place(aside, path, overwrite)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:  # of links that lead to themselves
        raise cannot_write(path, error) from None


def put_in_place(aside: Path, path: Path, overwrite: bool = True) -> None:
    """Gives a file that is on the disk its name, and sees that the name is on the disk too."""
    if path.exists():
        if not overwrite:
            raise ModelError.at(str(path), "cannot be written: it was not there before, and is now")
        shutil.copymode(path, aside)
    path = path.resolve()  # what a link points at is replaced, not the link
    aside.replace(path)
    with suppress(OSError):  # not every system can
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_all(file: io.FileIO, data: bytes | memoryview) -> None:
    """An unbuffered file may take less than it is given."""
    view = memoryview(data).cast("B")
    while view:
        view = view[file.write(view) :]


def no_folder(path: Path) -> str | None:
    if path.absolute().parent.is_dir():
        return None
    return f"there is no folder {path.parent}; make it first"


def cannot_write(path: Path, error: Exception, what_is_left: str = "") -> ModelError:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ModelError.at(str(path), f"cannot be written: {text}{what_is_left}")
