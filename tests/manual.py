"""What the tests of README and manual share: pages, their blocks, the commands and the anchors on them."""

import re
import shlex
from pathlib import Path

from places import DOCS, ROOT

PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(page for folder in ("", "reference/", "tutorials/") for page in DOCS.glob(f"{folder}*.md")),
    ]
)


def name(page: Path) -> str:
    """A page by its path in the tree."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def shell_lines(page: Path) -> list[str]:
    """The lines that a page shows to be typed: shell blocks, and indented blocks; comments are cut off."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"(?<=\n\n)((?: {4}.+\n)+)", text)
    shown = "".join([*blocks(page, "shell"), *indented])
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
