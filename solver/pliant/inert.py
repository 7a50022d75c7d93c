"""Text from outside, made harmless before it is shown.

Names and messages of files that anybody may have written reach terminals, tables and pictures.
A control character there moves the cursor or recolours the screen, a line end forges a message of
its own, a million letters drown all others.
"""

from __future__ import annotations

LONGEST = 200  # characters that are shown of a text


def inert(text: str, width: int = LONGEST) -> str:
    r"""The text on one line, with escapes for what does not print, cut at ``width``.

    >>> inert("elbow"), inert("\x1b[31mred\nvalid")
    ('elbow', '\\x1b[31mred\\nvalid')
    >>> inert("x" * 1000, 10)
    'xxxxxxx...'
    """
    if len(text) > width:
        text = text[: width - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def inert_lines(text: str, lines: int = 20) -> str:
    r"""The same for a text of several lines, of which so many are shown.

    >>> inert_lines("one\ntwo\x07")
    'one\ntwo\\x07'
    """
    found = text.splitlines()
    more = [f"... and {len(found) - lines} more lines"] if len(found) > lines else []
    return "\n".join([*(inert(line, 1000) for line in found[:lines]), *more])
