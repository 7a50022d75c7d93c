"""YAML with line numbers, and without surprises: duplicate keys are found, numbers are exact.

ruamel.yaml parses the text into nodes; they are made into dicts, lists, arrays and scalars here,
because the line of every key is wanted and only plain values are. Long lists of numbers are cut
out and read by ``json`` before the parser sees them: it takes 30 us a number, json 0.1 us.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pliant.inert import inert
from pliant.part import Location, path, show

# Beside its lists of numbers, which json reads: the parser takes 0.5 us a character, 65 us a mark.
_MOST_CHARACTERS = 4_000_000
_MOST_MARKS = 200_000  # colons, commas, brackets, lines
_MOST_VALUES = 300_000  # with those that aliases repeat
_DEEPEST = 30  # mappings and lists within one another; a model file has 10
_MOST_OPEN = 200  # brackets, those in texts and comments too
_LONGEST_NUMBER = 400  # characters; 1e308 has 309 digits

# ---------------------------------------------------------------------------------- reading


class UnreadableError(Exception):
    """Text that is no YAML document; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass
class Document:
    """A YAML document as plain values, with the line of every key and list item."""

    value: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    faults: list[tuple[int, Location, str]] = field(default_factory=list)
    unreadable: set[Location] = field(default_factory=set)  # values of which nothing else is said


def read(text: str) -> Document:
    """The document in a text; duplicate keys and the like are listed in its ``faults``.

    >>> document = read("a: 1\\nb: {c: [1, 2.5e3]}\\na: 2\\n")
    >>> document.value, document.lines[("b", "c")]
    ({'a': 1, 'b': {'c': [1, 2500.0]}}, 2)
    >>> document.faults
    [(3, ('a',), "duplicate key 'a', already on line 1; rename or remove one of them")]
    """
    numbers = _NumberLists(text)
    _check_size(numbers.text)
    try:
        root = YAML(typ="safe", pure=True).compose(numbers.text)
    except RecursionError:
        raise UnreadableError(1, _TOO_DEEP) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise UnreadableError(line, _reason(error, line, text)) from None
    except (YAMLError, ValueError) as error:  # a character or directive that YAML does not allow
        reason = inert(str(error), 100)
        raise UnreadableError(1, f"not readable as YAML: {reason}") from None
    builder = _Builder(numbers, limit=_MOST_VALUES)
    if root is not None:
        builder.document.value = builder.build(root, ())
    return builder.document


_TOO_DEEP = (
    f"lists or mappings lie more than {_DEEPEST} deep in one another, as in no model file; check "
    "the brackets and the indentation"
)


def _check_size(text: str) -> None:
    """Raises an UnreadableError if to parse a text would take minutes."""
    if text.startswith("%"):
        raise UnreadableError(1, "begins with a directive (%); leave it out, the file is YAML 1.2")
    if len(text) > _MOST_CHARACTERS:
        raise UnreadableError(
            1,
            f"has {len(text):,} characters beside its lists of numbers; at most "
            f"{_MOST_CHARACTERS:,} are read",
        )
    codes = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
    opened = np.isin(codes, (ord("["), ord("{"))).astype(np.int32)
    if np.cumsum(opened - np.isin(codes, (ord("]"), ord("}")))).max(initial=0) > _MOST_OPEN:
        raise UnreadableError(1, _TOO_DEEP)
    marks = sum(text.count(mark) for mark in ":,[{\n")
    if marks > _MOST_MARKS:
        raise UnreadableError(
            1,
            f"has {marks:,} colons, commas, brackets and lines beside its lists of numbers; at "
            f"most {_MOST_MARKS:,} are read",
        )


def _reason(error: MarkedYAMLError, line: int, text: str) -> str:
    problem = inert((error.problem or "syntax error").replace("\n", " "))
    if "single document" in (error.context or ""):
        return "a second document begins here; keep one model a file"
    reason = f"not readable as YAML: {problem}"
    if "\\t" in problem:
        return f"{reason}; indent with blanks instead of tabs"
    if line >= len(text.rstrip().splitlines()):
        return f"{reason}; the file seems cut off here, restore its end"
    return f"{reason}; check indentation, colons and brackets here and above"


class _NumberLists:
    """Lists of nothing but numbers, cut out of a text and replaced by words.

    Line ends inside a list are put back behind its word, so that line numbers stay.
    """

    # a minus only in front of a digit: "- [1, 2]" on the next line is an item of another list;
    # nothing is asked of its end, so that no run is walked through twice
    _RUN = re.compile(r"(?<![\w\"'\]\[])\[[\[\]0-9eE+.,\s]*(?:-(?=[0-9])[\[\]0-9eE+.,\s]*)*")
    _SHORT = 20  # characters; shorter lists are left to the parser

    def __init__(self, text: str) -> None:
        self._word = "numbers"
        while self._word in text:
            self._word += "-"
        self._token = re.compile(re.escape(self._word) + r"(\d+);")
        self._values: list[Any] = []
        self._originals: list[str] = []
        pieces, end = [], 0
        for run in self._RUN.finditer(text):
            original = self._balanced(run.group())
            if len(original) < self._SHORT:
                continue
            try:
                value = json.loads(original)
            except (ValueError, RecursionError):
                continue  # notations that only YAML knows, such as .5 and +1
            pieces += [text[end : run.start()], f"{self._word}{len(self._values)};"]
            pieces += ["\n" * original.count("\n")]
            end = run.start() + len(original)
            self._values.append(_array_if_regular(value))
            self._originals.append(original)
        self.text = "".join([*pieces, text[end:]])

    @staticmethod
    def _balanced(run: str) -> str:
        """The part of a run up to the bracket that closes its first one."""
        depth = 0
        for bracket in re.finditer(r"[\[\]]", run):
            depth += 1 if bracket.group() == "[" else -1
            if depth == 0:
                return run[: bracket.end()]
        return ""

    def value(self, text: str) -> Any:
        """The list that a plain word stands for, or the text with its words put back."""
        whole = self._token.fullmatch(text)
        if whole:
            return self._values[int(whole.group(1))]
        return self.restore(text)

    def restore(self, text: str) -> str:
        return self._token.sub(lambda match: self._originals[int(match.group(1))], text)


def _array_if_regular(value: list[Any]) -> Any:
    try:
        result = np.asarray(value)
    except ValueError:
        return value
    return result if result.dtype.kind in "if" else value


_SCALARS = "tag:yaml.org,2002:"
_TEXT_TAGS = ("str", "timestamp", "value", "merge")


class _Builder:
    """Nodes of ruamel.yaml made into plain values."""

    def __init__(self, numbers: _NumberLists, limit: int) -> None:
        self.document = Document()
        self._numbers = numbers
        self._left = limit
        self._open: list[Node] = []

    def build(self, node: Node, location: Location) -> Any:
        line = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise UnreadableError(line, "aliases (*name) make the file explode; write it out")
        if isinstance(node, ScalarNode):
            return self._scalar(node, location)
        if len(self._open) >= _DEEPEST:
            raise UnreadableError(line, _TOO_DEEP)
        if str(node.tag).removeprefix(_SCALARS) not in ("map", "seq"):
            self._fault(line, location, f"unknown tag {show(str(node.tag))}; remove it")
        if any(node is outer for outer in self._open):
            raise UnreadableError(
                line, f"{path(location)} contains itself by an alias; write it out"
            )
        self._open.append(node)
        value = (
            self._mapping(node, location)
            if isinstance(node, MappingNode)
            else self._sequence(node, location)
        )
        self._open.pop()
        return value

    def _mapping(self, node: MappingNode, location: Location) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        first_lines: dict[Any, int] = {}
        merged: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self._fault(line, location, "a key must be a single word; check the brackets")
                continue
            if str(key_node.tag).endswith(":merge") and isinstance(
                value_node, (MappingNode, SequenceNode)
            ):
                merged |= self._merge(value_node, location)
                continue
            key = self._scalar(key_node, location)
            place = (*location, key if isinstance(key, (str, int)) else str(key))
            if isinstance(key, np.ndarray):
                self._fault(line, location, "a key must be a single word; check the brackets")
            elif key in result:
                message = f"duplicate key {show(key)}, already on line {first_lines[key]}"
                self._fault(line, place, f"{message}; rename or remove one of them")
            else:
                first_lines[key] = self.document.lines[place] = line
                result[key] = self.build(value_node, place)
        return {**merged, **result}

    def _merge(self, node: Node, location: Location) -> dict[Any, Any]:
        """The mappings behind ``<<``; earlier ones win."""
        merged: dict[Any, Any] = {}
        for item in node.value if isinstance(node, SequenceNode) else [node]:
            if isinstance(item, MappingNode):
                merged = {**self.build(item, location), **merged}
        return merged

    def _sequence(self, node: Node, location: Location) -> list[Any]:
        result = []
        for i, item in enumerate(node.value):
            place = (*location, i)
            self.document.lines[place] = item.start_mark.line + 1
            result.append(self.build(item, place))
        return result

    def _scalar(self, node: ScalarNode, location: Location) -> Any:
        tag, text = str(node.tag).removeprefix(_SCALARS), node.value
        if tag in ("int", "float"):
            return self._number(node, location, is_whole=tag == "int")
        if tag == "bool":
            return text.lower() == "true"
        if tag == "null":
            return None
        if tag not in _TEXT_TAGS:
            line = node.start_mark.line + 1
            self._fault(line, location, f"unknown tag {show(str(node.tag))}; remove it")
        return self._numbers.restore(text) if node.style else self._numbers.value(text)

    def _number(self, node: ScalarNode, location: Location, *, is_whole: bool) -> float | str:
        text = str(node.value)
        if len(text) > _LONGEST_NUMBER:
            what = f"is a number of {len(text):,} characters; at most {_LONGEST_NUMBER} are read"
            self._unreadable(node, location, f"{show(text, 30)} {what}")
            return text
        try:
            value = _int(text) if is_whole else _float(text)
        except ValueError:
            kind = "whole number" if is_whole else "number"
            self._unreadable(node, location, f"{show(text)} is no {kind}; remove its tag")
            return text
        if math.isinf(value) and ".inf" not in text.lower():
            self._unreadable(node, location, f"{text} is too large; give a number below 1e308")
            return text
        return value

    def _unreadable(self, node: ScalarNode, location: Location, message: str) -> None:
        """A fault that makes whatever else is found about the value pointless."""
        self._fault(node.start_mark.line + 1, location, message)
        self.document.unreadable.add(location)

    def _fault(self, line: int, location: Location, message: str) -> None:
        self.document.faults.append((line, location, message))


def _int(text: str) -> int | float:
    digits = text.replace("_", "").lower()
    value = int(digits, 0) if digits.lstrip("+-")[:2] in ("0x", "0o", "0b") else int(digits)
    try:
        float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return value


def _float(text: str) -> float:
    digits = text.replace("_", "").lower()
    if digits.endswith(".inf"):
        return -math.inf if digits.startswith("-") else math.inf
    return math.nan if digits.endswith(".nan") else float(digits)


# ---------------------------------------------------------------------------------- writing

_WIDTH = 88
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_RESERVED = {"true", "false", "null"}


def write(value: dict[str, Any]) -> str:
    """The YAML text of plain values: short ones on a line, numbers so that they read back exactly.

    >>> print(write({"a": {"b": np.array([1.0, 0.1]), "c": "x y"}, "d": True}), end="")
    a:
      b: [1.0, 0.1]
      c: "x y"
    d: true
    """
    lines: list[str] = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(f"{_text(key)}:")
            lines += [line for k, v in item.items() for line in _entry(k, v, 2)]
        else:
            lines += _entry(key, item, 0)
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any, indent: int) -> list[str]:
    """Lines of ``key: value``."""
    head = " " * indent + _text(key) + ":"
    if isinstance(value, np.ndarray):
        return _array(head, value, indent)
    is_scalar = not isinstance(value, (dict, list)) or not value
    line = f"{head} {_flow(value)}" if is_scalar or _leaves(value) < _WIDTH else ""
    if is_scalar or 0 < len(line) <= _WIDTH:
        return [line]
    return [head, *_block(value, indent + 2)]


def _leaves(value: Any) -> int:
    """The number of scalars in a value: a lower bound of its length as text."""
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    if isinstance(value, list):
        return sum(map(_leaves, value))
    return value.size if isinstance(value, np.ndarray) else 1


def _block(value: dict[str, Any] | list[Any], indent: int) -> list[str]:
    if isinstance(value, dict):
        return [line for k, v in value.items() for line in _entry(k, v, indent)]
    lines = []
    for item in value:
        is_mapping = isinstance(item, dict)
        line = "" if is_mapping and _leaves(item) > _WIDTH else " " * indent + f"- {_flow(item)}"
        if is_mapping and not 0 < len(line) <= _WIDTH:
            first, *others = _block(item, indent + 2)
            lines += [" " * indent + "- " + first.lstrip(), *others]
        else:
            lines.append(line)
    return lines


def _array(head: str, value: np.ndarray[Any, Any], indent: int) -> list[str]:
    if value.ndim < 2 or value.size < _WIDTH:
        line = f"{head} {_flow(value)}"
        if value.ndim < 2 or len(line) <= _WIDTH or value.size == 0:
            return [line]
    rows = [" " * (indent + 2) + _flow(row) for row in value]
    return [f"{head} [", *(f"{row}," for row in rows[:-1]), rows[-1] + "]"]


def _flow(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _flow_numbers(value.tolist())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else _flow_numbers(value)


def _flow_numbers(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow_numbers, value)) + "]"
    # infinity only occurs where null may be written: no limit, or rigid
    return repr(value) if math.isfinite(value) else "null"


def _text(value: str) -> str:
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _RESERVED
    return value if is_plain else json.dumps(value, ensure_ascii=False)
