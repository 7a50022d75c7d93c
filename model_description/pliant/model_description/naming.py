"""Names that an FMU may have, from names that an author may give.

An author's name is any printable text without dots and brackets. FMI's structured names are
ASCII: ``node.hand.pad.r[1]``, with anything that is not an identifier in quotes,
``joint.'hand-1'.q``. Flat names are identifiers, ``node_hand_pad_r_1``. Letters beyond ASCII
become their nearest relatives; names that fall together by that get a number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from pliant.channels import base_of

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_IDENTIFIER = re.compile(r"[^A-Za-z0-9_]+")
_ESCAPED = str.maketrans({"'": r"\'", '"': r"\"", "\\": r"\\"})
_LONGEST_IDENTIFIER = 64
# device names that Windows keeps for itself, whatever follows the dot
_RESERVED = {"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))}
# letters that Unicode does not take apart, and the one sign of ASCII that FMI's names cannot have
_SPELLED = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "`": "'"}
)


def ascii_text(text: str) -> str:
    """Text in ASCII, readable as far as that goes.

    >>> ascii_text("größe 日")
    'grosse u65E5'
    """
    parts = unicodedata.normalize("NFKD", text.translate(_SPELLED))
    kept = [c for c in parts if not unicodedata.combining(c)]
    return "".join(c if c.isascii() else f"u{ord(c):04X}" for c in kept or parts)


def quoted(word: str) -> str:
    """A part of a structured name.

    >>> quoted("elbow"), quoted("hand-1"), quoted("Ann's")
    ('elbow', "'hand-1'", "'Ann\\\\'s'")
    """
    return word if _IDENTIFIER.fullmatch(word) else f"'{word.translate(_ESCAPED)}'"


def structured_names(paths: Iterable[str]) -> dict[str, str]:
    """FMI's structured name of every path; different paths have different names.

    >>> structured_names(["joint.Zähler.q[2]"])
    {'joint.Zähler.q[2]': 'joint.Zahler.q[2]'}
    """
    paths = list(paths)
    words = dict.fromkeys(word for path in paths for word in base_of(path).split("."))
    safe: dict[str, str] = {}
    taken: set[str] = set()
    for word in sorted(words, key=lambda word: ascii_text(word) != word):  # plain ones stay
        safe[word] = _unused(ascii_text(word), taken)
        taken.add(safe[word])

    def name(path: str) -> str:
        base = base_of(path)
        return ".".join(quoted(safe[word]) for word in base.split(".")) + path[len(base) :]

    return {path: name(path) for path in paths}


def flat_names(paths: Iterable[str]) -> dict[str, str]:
    """An identifier for every path; different paths have different names.

    >>> flat_names(["joint.elbow.q", "node.hand.pad.r[3]"])
    {'joint.elbow.q': 'joint_elbow_q', 'node.hand.pad.r[3]': 'node_hand_pad_r_3'}
    """
    vectors: dict[str, list[str]] = {}
    for path in paths:
        base = base_of(path)
        vectors.setdefault(base, []).append(path[len(base) :].strip("[]"))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for base, indices in vectors.items():
        suffixes = [f"_{index}" if index else "" for index in indices]
        stem = _NOT_IDENTIFIER.sub("_", ascii_text(base))
        number = 1
        while any(f"{_with(stem, number)}{suffix}" in taken for suffix in suffixes):
            number += 1
        for index, suffix in zip(indices, suffixes, strict=True):
            name = f"{_with(stem, number)}{suffix}"
            taken.add(name)
            names[f"{base}[{index}]" if index else base] = name
    return names


def model_identifier(name: str) -> str:
    """A C identifier, and part of file names, from the name of a model.

    >>> model_identifier("7-joint arm"), model_identifier("Roboter für Größe")
    ('m_7_joint_arm', 'Roboter_fur_Grosse')
    """
    word = _NOT_IDENTIFIER.sub("_", ascii_text(name)).strip("_")
    if not word or word[0].isdigit() or word.lower() in _RESERVED:
        word = f"m_{word}"
    return word[:_LONGEST_IDENTIFIER]


NAMINGS: dict[str, Callable[[Iterable[str]], dict[str, str]]] = {
    "structured": structured_names,
    "flat": flat_names,
}


def _unused(word: str, taken: set[str]) -> str:
    candidate, number = word, 1
    while candidate in taken:
        number += 1
        candidate = f"{word} {number}"
    return candidate


def _with(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}_{number}"
