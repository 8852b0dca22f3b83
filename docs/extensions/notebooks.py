"""Tutorials as notebooks: `make notebooks` runs the pages of docs/tutorials and writes what they print and draw.

A tutorial is a Markdown page. Its Python blocks go on from one to the next; a `text` block behind one is what it prints, and a picture
behind that is what it draws. From the page follow its pictures and a notebook of the same name, so nobody keeps two texts. This file
needs no Jupyter: a notebook is JSON.
"""

import base64
import contextlib
import hashlib
import io
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

CODE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<said>.*?)^```\n)?"
    r"(?:\n!\[(?P<shows>[^\]]*)\]\((?P<picture>[^)]+\.png)\)\n)?",
    flags=re.DOTALL | re.MULTILINE,
)
"""A block of Python with what it prints and draws."""
HERE = re.compile(r"^\[As a notebook\]\([^)]+\).*\n", flags=re.MULTILINE)
"""A page's link to its notebook, which the notebook itself leaves out."""
MADE_FROM = "Made from"
"""The picture's metadata entry that identifies the code it was drawn by. Pixels cannot: they differ between machines."""


class Cell(NamedTuple):
    """A part of a page: text, or code with what it prints and draws."""

    text: str
    is_code: bool = False
    said: str = ""
    picture: str = ""


def cells(page: str) -> list[Cell]:
    """The parts of a page, in their order."""
    found, end = [], 0
    for part in CODE.finditer(page):
        found += [Cell(page[end : part.start()])]
        found += [Cell(part["code"], True, part["said"] or "", part["picture"] or "")]
        end = part.end()
    stripped = [
        cell._replace(text=HERE.sub("", cell.text).strip("\n")) for cell in (*found, Cell(page[end:]))
    ]
    return [cell for cell in stripped if cell.text]


def notebook(page: Path) -> dict[str, Any]:
    """The notebook of a page, in Jupyter's format 4.5, with its outputs."""
    made = []
    for number, cell in enumerate(cells(page.read_text(encoding="utf-8"))):
        common = {"id": f"cell-{number}", "metadata": {}, "source": cell.text.splitlines(keepends=True)}
        if cell.is_code:
            outputs = [*_printed(cell.said), *_drawn(page.parent, cell.picture)]
            made.append({"cell_type": "code", "execution_count": None, **common, "outputs": outputs})
        else:
            made.append({"cell_type": "markdown", **common})
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": python, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _printed(said: str) -> list[dict[str, Any]]:
    lines = said.splitlines(keepends=True)
    return [{"output_type": "stream", "name": "stdout", "text": lines}] if said else []


def _drawn(folder: Path, picture: str) -> list[dict[str, Any]]:
    if not picture:
        return []
    content = base64.b64encode((folder / picture).read_bytes()).decode()
    return [{"output_type": "display_data", "data": {"image/png": content}, "metadata": {}}]


def as_text(made: dict[str, Any]) -> str:
    """A notebook as its file has it."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def run_cell(code: str, space: dict[str, Any]) -> tuple[str, list[Figure]]:
    """What a cell prints and draws, run in the names that earlier cells left."""
    plt.switch_backend("Agg")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        exec(compile(code, "a cell", "exec"), space)
    drawn = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    return printed.getvalue(), drawn


def made_from(codes: Sequence[str]) -> str:
    """Sixteen hexadecimal digits that identify the code up to a picture."""
    return hashlib.sha256("\n".join(codes).encode()).hexdigest()[:16]


def write(page: Path) -> None:
    """Run a page; write what it prints, its pictures and its notebook. The page says where outputs stand."""
    text = page.read_text(encoding="utf-8")
    space: dict[str, Any] = {"__name__": "__main__"}
    codes: list[str] = []

    def again(part: re.Match[str]) -> str:
        codes.append(part["code"])
        printed, drawn = run_cell(part["code"], space)
        if bool(printed) != (part["said"] is not None) or len(drawn) != (part["picture"] is not None):
            raise ValueError(
                f"{page.name} must have a text block where code prints and one picture where it draws, "
                f"got {printed!r} and {len(drawn)} pictures from\n{part['code']}"
            )
        for figure in drawn:
            said = {MADE_FROM: made_from(codes), "Software": None}
            figure.savefig(page.parent / part["picture"], dpi=90, metadata=said)
        said_before = part["said"]
        return (
            part[0]
            if said_before is None
            else part[0].replace(f"```text\n{said_before}", f"```text\n{printed}", 1)
        )

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = CODE.sub(again, text)
    page.write_text(text, encoding="utf-8")
    page.with_suffix(".ipynb").write_text(as_text(notebook(page)), encoding="utf-8")


if __name__ == "__main__":
    folder = Path(__file__).parents[1] / "tutorials"
    for one in sys.argv[1:] or sorted(place.stem for place in folder.glob("*.md")):
        write(folder / f"{one}.md")
