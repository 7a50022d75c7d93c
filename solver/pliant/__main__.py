"""``python -m pliant``, where the command itself is not on the path."""

from pliant.cli import main

main()
