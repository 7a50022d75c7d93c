"""Names that an object does not have are refused, on reading and on writing.

Python lets ``joint.toque = 500`` make a new attribute, and the torque stays what it was. Classes
that derive from ``Guarded`` take only what they declare:

- a property with a setter is set, one without is refused with what to do instead;
- a name annotated in the class is set; annotated as ``Final``, once;
- a name with an underscore in front is the class's own affair;
- anything else is an ``UnknownAttributeError`` that names the nearest known one.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pliant.errors import UnknownAttributeError
from pliant.part import suggest


class Guarded:
    """Base of what is read and written by attribute while a model runs, and of results."""

    _instead: ClassVar[Mapping[str, str]] = {}
    """What to do rather than set a name; under "" what is said of any other read-only one."""
    _at_any_time: ClassVar[frozenset[str]] = frozenset()
    """Names that may be set again and again: a controller does so in every step."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._at_any_time = frozenset(settable_names(cls))

    def _called(self) -> str:
        """How messages name the object."""
        return type(self).__name__

    # type checkers are to see the declared names only
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # only for what lookup has not found, or whose property raised an AttributeError
            known = getattr(type(self), name, None)
            if isinstance(known, property) and known.fget is not None:
                return known.fget(self)  # raises again what it raised before
            if name.startswith("_"):
                raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
            raise UnknownAttributeError.at(self._called(), self._unknown(name, public_names(self)))

        def __setattr__(self, name: str, value: Any) -> None:
            cls = type(self)
            if name[0] == "_" or name in cls._at_any_time:
                object.__setattr__(self, name, value)
                return
            known, declared = getattr(cls, name, None), _annotation(cls, name)
            if declared is not None and name not in vars(self):  # once
                object.__setattr__(self, name, value)
                return
            if callable(known):
                message = f"'{name}' is called, not set; write .{name}(...)"
                raise UnknownAttributeError.at(self._called(), self._instead.get(name, message))
            if known is None and declared is None:
                here = set(dir(self))
                names = [name for name in settable_names(cls) if name in here]
                raise UnknownAttributeError.at(self._called(), self._unknown(name, names))
            raise UnknownAttributeError.at(self._called(), self._read_only(name))

    def _unknown(self, name: str, known: list[str]) -> str:
        expected = [*known, *self._instead]
        near = difflib.get_close_matches(name, expected, n=1, cutoff=0.6)
        meant = name if name in self._instead else near[0] if near else ""
        if meant and meant in self._instead and meant not in public_names(self):
            return f"has no '{name}'; {self._instead[meant]}"
        return f"has no '{name}'; " + (suggest(name, known) if known else "nothing here can be set")

    def _read_only(self, name: str) -> str:
        remedy = self._instead.get(name) or self._instead.get("")
        if not remedy:
            names = settable_names(type(self))
            remedy = f"what can be set: {', '.join(names)}" if names else "nothing here can be set"
        return f"'{name}' can be read, not set; {remedy}"


def public_names(thing: object) -> list[str]:
    """What can be read of an object or called on it."""
    return [name for name in dir(thing) if not name.startswith("_")]


def settable_names(cls: type) -> list[str]:
    """What can be set on an object of a class."""
    names = [name for name in dir(cls) if not name.startswith("_")]
    properties = [(name, getattr(cls, name)) for name in names]
    return [
        *(name for name, p in properties if isinstance(p, property) and p.fset is not None),
        *(name for name, text in _annotations(cls).items() if not text.startswith("Final")),
    ]


def _annotation(cls: type, name: str) -> str | None:
    return _annotations(cls).get(name)


def _annotations(cls: type) -> dict[str, str]:
    """Public names annotated in a class and those above it, with the text of the annotation."""
    found: dict[str, str] = {}
    for above in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(above).items():
            if not name.startswith("_"):
                found[name] = annotation if isinstance(annotation, str) else _text(annotation)
    return found


def _text(annotation: object) -> str:
    return str(annotation).removeprefix("typing.").removeprefix("typing_extensions.")
