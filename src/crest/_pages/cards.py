"""Model cards: what an audit and a repair found as one piece of Markdown, to be kept beside the weights.

Needs nothing beyond torch and NumPy.
"""

import importlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch

from crest._base.callers import warn_of_replacing
from crest._base.files import whole_file


class Section(NamedTuple):
    """A heading and the Markdown under it."""

    heading: str
    body: str


@runtime_checkable
class Carded(Protocol):
    """What can have a place on a card: an audit or a repair."""

    def card_sections(self) -> list[Section]:
        """Its part of a card, in order."""


def card(
    of: Sequence[Carded], *, title: str, about: str = "", date: str = "", path: str | Path | None = None
) -> str:
    """The card as Markdown, also written to a file if a path is given.

    Args:
        of: what is on it, in order.
        title: its heading.
        about: what the model is, in your words: Markdown.
        date: as you write it; the card has none by default, so that the same finding gives the same card.
        path: a file that ends in .md; a warning tells if one is replaced.

    Example:
        >>> card([], title="Pump model").splitlines()[0]
        '# Pump model'
    """
    place = None if path is None else Path(path)
    if place is not None and place.suffix.lower() != ".md":
        raise ValueError(f"path must end in .md, got {str(path)!r}")
    sections = [section for one in of for section in one.card_sections()]
    sections.append(Section("Versions", bullets([*_versions(), *([f"date: {date}"] if date else [])])))
    pieces = [f"# {plain(title)}", *([about.strip()] if about.strip() else [])]
    pieces += [f"## {section.heading}\n\n{section.body}" for section in sections]
    made = "\n\n".join(pieces) + "\n"
    if place is not None:
        warn_of_replacing(place)
        with whole_file(place) as file:
            file.write(made.encode())
    return made


def _versions() -> list[str]:
    """What the numbers were made with."""
    return [
        # By its name: the package imports what imports this module.
        f"crest {importlib.import_module('crest').__version__}",
        f"torch {torch.__version__}",
        f"numpy {np.__version__}",
        f"Python {platform.python_version()}",
    ]


def bullets(lines: Sequence[str]) -> str:
    r"""A list.

    Example:
        >>> bullets(["one", "two"])
        '- one\n- two'
    """
    return "\n".join(f"- {plain(line)}" for line in lines)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table with numbers to the right.

    Example:
        >>> print(markdown_table(["condition", "error"], [["a|b", "0.1"]]))
        | condition | error |
        | --- | ---: |
        | a\|b | 0.1 |
    """
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(
        "| "
        + " | ".join(cell if number == 1 else plain(cell).replace("|", "\\|") for cell in map(str, line))
        + " |"
        for number, line in enumerate(lines)
    )


def plain(text: str) -> str:
    r"""Text in one line, in which nothing begins a tag, a link or an emphasis.

    Example:
        >>> print(plain("<b> [x](y)"))
        \<b> \[x\](y)
    """
    line = " ".join(str(text).split())
    for letter in "\\`*[]<":
        line = line.replace(letter, f"\\{letter}")
    return line
