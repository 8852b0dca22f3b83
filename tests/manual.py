"""What the tests of README and manual share: pages, their blocks, the commands and the anchors on them."""

import re
import shlex
from pathlib import Path

from places import DOCS, ROOT

PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(
            page
            for folder in ("", "user/", "evidence/", "lab/", "reference/", "tutorials/")
            for page in DOCS.glob(f"{folder}*.md")
        ),
    ]
)


def name(page: Path) -> str:
    """A page by its path in the tree."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def shell_lines(page: Path) -> list[str]:
    """The lines that a page shows to be typed, without comments: shell blocks, indented blocks, and those after a prompt in console blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"(?<=\n\n)((?: {4}.+\n)+)", text)
    prompted = [
        f"{line}\n"
        for block in blocks(page, "console")
        for line in re.findall(r"^\$ (.+)$", block, re.MULTILINE)
    ]
    shown = "".join([*blocks(page, "shell"), *indented, *prompted])
    return [
        line for line in (re.split(r"\s{2,}#|\s# ", one)[0].strip() for one in shown.splitlines()) if line
    ]


def commands(page: Path, program: str) -> list[list[str]]:
    """The commands of a program that a page names, typed or in the text, each as its words."""
    inline = re.findall(r"`([^`\n]+)`", page.read_text())
    lines = [*shell_lines(page), *inline]
    return [shlex.split(line) for line in lines if re.match(rf"(\.venv/bin/)?{program}( |$)", line)]


def anchors(page: Path) -> set[str]:
    """What a link may name after # on a page: its headings as GitHub writes them, and anchors beside table rows."""
    text = page.read_text()
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles} | set(
        re.findall(r'<a id="([\w-]+)"></a>', text)
    )


# -- the words that a reader reads


def prose(text: str) -> str:
    """A page without code blocks, what is generated between markers, pictures and comments. A link is its text.

    Tables that were written by hand stay.
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- (?!docs )([\w ]+) start -->.*?<!-- \1 end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|<a id=.*?</a>", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+", "", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def words_in(text: str) -> list[str]:
    """What stands between spaces and holds a letter or a digit."""
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(text: str) -> list[str]:
    """The sentences of a page. One ends with . ! ? or :, or with its heading, list item, table cell or paragraph.

    Code in a line is one word.
    """
    text = re.sub(r"`[^`]+`", "code", prose(text))
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)  # list items
    text = re.sub(r"^(#+ .*)$", r"\n\1\n", text, flags=re.MULTILINE)
    text = re.sub(r"\\\||(?<!\\)\|", lambda found: " " if found[0] != "|" else "\n\n", text)  # cells
    parts = re.split(r"\n\s*\n|(?<=[.!?:])[\"')*]*\s", text)
    return [" ".join(part.split()) for part in parts if words_in(part)]


def shown_after(page: Path, number: int) -> list[str]:
    """The lines of output that a page shows behind a Python block, before its next block or heading."""
    parts = re.split(r"^```python\n.*?^```\n", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    behind = re.split(r"^#+ |^```", parts[number + 1], flags=re.MULTILINE)[0]
    indented = re.findall(r"(?<=\n\n)((?: {4}.*\n)+)", "\n" + behind)
    lines = [line.strip() for line in "".join(indented).splitlines()]
    return [line for line in lines if line and line != "..."]


def without_numbers(line: str) -> str:
    """A line as it is on any machine: digits and the space between columns may differ."""
    return " ".join(re.sub(r"\d+(?:\.\d+)?", "0", line).split())
