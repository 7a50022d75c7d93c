"""What all author's objects have in common: strict keys, our own messages, equality, assignment.

pydantic checks types and keys. Its errors never reach the author: they are put into the words of
``ModelError`` here, together with what a part finds about itself in ``_findings``.
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError
from typing_extensions import Self

from pliant.documented import document
from pliant.errors import ModelError, Problem, UnknownAttributeError
from pliant.inert import inert
from pliant.synonyms import meaning

Location = tuple[str | int, ...]
Finding = tuple[Location, str]  # place relative to the part, message


# Likeness of words takes time in proportion to the product of their lengths.
_LONGEST_WORD = 100
_MOST_COMPARED = 2000
_MOST_ALIKE = 100  # names that are compared letter by letter


def path(location: Iterable[str | int]) -> str:
    """The place of an element as it is written in messages.

    >>> path(("bodies", "boom", "beam", "stations", 2, "EI"))
    'bodies.boom.beam.stations[2].EI'
    """
    text = ""
    for item in location:
        word = f"[{item}]" if isinstance(item, int) else inert(str(item))
        text += f".{word}" if text and not isinstance(item, int) else word
    return text


def show(value: object, width: int = 60) -> str:
    """A value as it appears in a message: the author's notation, shortened."""
    if isinstance(value, np.ndarray) and value.size > 36:
        return f"an array of {' x '.join(map(str, value.shape))}"
    try:
        text = repr(_listed(value))
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    except RecursionError:
        return f"a {type(value).__name__} that contains itself, or is nested deeply"
    return text if len(text) <= width else text[: width - 3] + "..."


def _listed(value: object) -> object:
    """Arrays as lists, also inside lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def suggest(word: object, known: Iterable[str]) -> str:
    """``did you mean 'mass'?; known: ...`` for a word that is not among the known ones."""
    names = list(dict.fromkeys(known))
    word = str(word)[:_LONGEST_WORD]
    near = [name for name in names if name.lower() == word.lower()]
    synonym = meaning(word, names)
    near = near or ([synonym] if synonym else [])
    if not near:
        few = [name[:_LONGEST_WORD] for name in names[:_MOST_COMPARED]]
        if len(few) > _MOST_ALIKE:  # those that begin or end like it
            few = [n for n in few if n[:1] == word[:1] or n[-2:] == word[-2:]][:_MOST_ALIKE]
        near = difflib.get_close_matches(word, few, n=1, cutoff=0.6)
    if not near:  # 'rw1' for base.rw1
        near = [name for name in names if name.rpartition(".")[2] == word]
    if not near:  # 'ei' for EI, 'masss' for mass_per_length
        start = word.lower()[:3]
        near = [name for name in names if name.lower()[:3] == start]
    hint = f"did you mean '{inert(near[0], 60)}'? " if near else ""
    if not names:
        return "there are none here"
    listed = ", ".join(inert(name, 60) for name in names[:20]) + (
        ", ..." if len(names) > 20 else ""
    )
    return f"{hint}known: {listed}"


def fail(message: str) -> PydanticCustomError:
    """An error in our own words, to be raised inside a field's validator."""
    return PydanticCustomError("pliant", "{message}", {"message": message})


class Part(BaseModel):
    """Base of the author's objects: unknown keys are refused, assignments are checked."""

    model_config = ConfigDict(
        extra="forbid",
        validate_assignment=True,
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
    )

    def __init__(self, /, *given: object, **data: Any) -> None:
        if given:
            cls = type(self)
            first = next(iter(cls.model_fields))
            raise TypeError(f"{cls.__name__} takes its fields by name: {cls.__name__}({first}=...)")
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise model_error(error, type(self)) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        document(cls)

    # Tells pydantic that nested parts need not be built through __init__; otherwise the first
    # faulty part would end the search for problems in the others.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """A part out of plain data: dicts, lists, numbers and text. Raises a ModelError with all
        that is wrong with them."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise model_error(error, cls) from None

    if not TYPE_CHECKING:  # type checkers are to see the declared names only

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)  # pydantic's, for private ones
            except AttributeError as error:
                if name.startswith("_") or isinstance(error, UnknownAttributeError):
                    raise
                cls = type(self)
                if hasattr(cls, name):  # the name is known, and what it stands for failed
                    raise
                hint = suggest(name, [*cls.model_fields, *_own_names(cls)])
                raise UnknownAttributeError.at(cls.__name__, f"has no '{name}'; {hint}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        cls = type(self)
        if not name.startswith("_") and name not in cls.model_fields:
            raise UnknownAttributeError.at(
                f"{cls.__name__}.{name}", f"unknown key; {suggest(name, cls.model_fields)}"
            )
        before = dict(self.__dict__)
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            self.__dict__.update(before)
            raise model_error(error, cls) from None

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, k), getattr(other, k)) for k in type(self).model_fields)

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from pliant.notebook import part_table

        return part_table(self)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self._given())

    @model_validator(mode="after")
    def _check(self) -> Self:
        findings = list(self._findings())
        if findings:
            raise PydanticCustomError("pliant_findings", "findings", {"findings": findings})
        return self

    def _findings(self) -> Iterator[Finding]:
        """Problems among the fields of this part alone."""
        return iter(())

    def plain(self) -> dict[str, Any]:
        """Fields that differ from their defaults, as dicts, lists, arrays, numbers and text."""
        return {name: _plain(getattr(self, name)) for name in self._given()}

    def _given(self) -> Iterator[str]:
        fields = type(self).model_fields.items()
        for name, field in sorted(fields, key=lambda item: not item[1].is_required()):
            default = field.get_default(call_default_factory=True)
            if field.is_required() or not _same(getattr(self, name), default):
                yield name


def _own_names(cls: type[Part]) -> list[str]:
    """Public properties and methods of ours, without pydantic's."""
    ours = [above for above in cls.__mro__ if above.__module__.startswith("pliant.")]
    names = (name for above in ours for name in vars(above))
    return [name for name in names if not name.startswith(("_", "model_"))]


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.plain()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        # to the bit: -0.0 is not 0.0, and what is written must be read back as it was
        return type(a) is type(b) and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def model_error(error: ValidationError, cls: type[Part]) -> ModelError:
    """pydantic's findings as a ModelError; the part's class stands for its unknown name."""
    return ModelError(
        Problem(path((cls.__name__, *location)), message)
        for location, message in findings_of(error, cls)
    )


def findings_of(error: ValidationError, cls: type[Part]) -> list[Finding]:
    """Every finding of a failed validation of ``cls``, in our words."""
    findings: list[Finding] = []
    for details in error.errors(include_url=False):
        location: Location = tuple(item for item in details["loc"] if item != "[key]")
        if details["type"] == "pliant_findings":
            inner: list[Finding] = details["ctx"]["findings"]
            findings += [((*location, *place), message) for place, message in inner]
        else:
            findings.append((location, _message(details, location, cls)))
    return findings


def _message(details: ErrorDetails, location: Location, cls: type[Part]) -> str:
    kind, value = details["type"], details["input"]
    owner = _part_at(cls, location[:-1])
    if kind == "missing" and owner is not None:
        description = owner.model_fields[str(location[-1])].description or ""
        first = " ".join(description.split("\n\n")[0].split())
        return f"missing; give {_uncapitalised(first)}" if first else "missing; it must be given"
    if kind == "extra_forbidden" and owner is not None:
        return f"unknown key; {suggest(location[-1], owner.model_fields)}"
    if kind in ("model_type", "model_attributes_type", "dict_type", "dataclass_type"):
        part = _part_at(cls, location)
        keys = f" with the keys {', '.join(part.model_fields)}" if part and kind[0] == "m" else ""
        return f"{show(value)} is not a mapping; give a mapping{keys}"
    if kind == "invalid_key":
        return f"{show(location[-1])} is not text; write the key in quotes"
    if kind in ("list_type", "tuple_type"):
        return f"{show(value)} is not a list; write [..., ...]"
    return f"{show(value)}: {details['msg']}" if kind != "pliant" else details["msg"]


def _uncapitalised(text: str) -> str:
    text = text.rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _part_at(cls: type[Part], location: Location) -> type[Part] | None:
    """The class of the part that stands at a location under ``cls``."""
    here: type[Part] | None = cls
    remaining = list(location)
    while remaining and here is not None:
        field = here.model_fields.get(str(remaining.pop(0)))
        if field is None:
            return None
        here, is_container = _part_in(field.annotation)
        if is_container and remaining:
            remaining.pop(0)  # the key or index inside the mapping or list
        elif is_container:
            return None
    return here


def _part_in(annotation: Any) -> tuple[type[Part] | None, bool]:
    """The part class inside ``X``, ``X | None``, ``dict[str, X]`` or ``list[X]``."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return (annotation, False) if issubclass(annotation, Part) else (None, False)
    is_container = typing.get_origin(annotation) in (dict, list, tuple)
    for argument in typing.get_args(annotation):
        part, inner = _part_in(argument)
        if part is not None:
            return part, is_container or inner
    return None, is_container
