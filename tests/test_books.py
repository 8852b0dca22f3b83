"""The manual is three books: how long they are, how long their sentences are, and which phrases they avoid."""

import ast
import re
from pathlib import Path

import pytest

from manual import name, prose, sentences, words_in
from places import DOCS, ROOT, SOURCE

README = ROOT / "README.md"
BOOKS = {
    "user": sorted([*DOCS.glob("user/*.md"), *DOCS.glob("tutorials/*.md")]),
    "evidence": sorted(DOCS.glob("evidence/*.md")),
    "lab": sorted(DOCS.glob("lab/*.md")),
}
LONGEST = {"user": 12_000, "evidence": 9_500, "lab": 6_000}
"""Words: what a reader can be asked to read. Together they are 500 more than all books may have."""
OLD_PHRASES = (
    r"says? otherwise",
    r"\blent\b",
    r"\blend(?:s|er|ers|ing)?\b",
    r"\bwhere nobody\b",
    r"\bsomebody\b",
    r"\banybody\b",
    r"\bwhoever\b",
    r"\bunless given\b",
    r"\bNot found is\b",
    r"\btakes them not\b",
    r"\bof their deviation\b",
    r"(?:\d|\bone|\bhalf|\bwhole) deviations?\b",
    r"\bthe answers? (?:moves?|follows?|still)\b",
    r"\bare others\b",
)
"""What the manual once said in other words than the field: see STYLE, Plain English."""


def length(pages: list[Path]) -> int:
    return sum(len(words_in(prose(page.read_text()))) for page in pages)


@pytest.mark.parametrize("book", BOOKS)
def test_a_book_is_short(book: str) -> None:
    assert BOOKS[book]
    assert length(BOOKS[book]) <= LONGEST[book]


def test_all_books_are_short() -> None:
    assert length([page for pages in BOOKS.values() for page in pages]) <= 27_000


def test_words_are_counted_as_said() -> None:
    text = (
        "# One\n<!-- no -->\n![no](no.png)\n\n| two | three |\n|---|---|\n\n[four five](no.md) - `six`\n\n    no output\n\n"
        "    no more\n\n```\nno\n```\n<!-- some name start -->\nno\n<!-- some name end -->\nseven\n"
    )
    assert [word.strip("|`") for word in words_in(prose(text))] == [
        *("One", "two", "three", "four", "five", "six", "seven")
    ]


def test_the_markers_of_the_manual_s_first_page_cut_nothing() -> None:
    assert "of" in words_in(prose("<!-- docs start -->\nof\n<!-- docs end -->\n"))


@pytest.mark.parametrize("page", [README, *BOOKS["user"]], ids=name)
def test_no_sentence_needs_a_second_breath(page: Path) -> None:
    assert [one for one in sentences(page.read_text()) if len(words_in(one)) > 30] == []


def test_sentences_are_counted_as_said() -> None:
    text = (
        "# A heading\nOne line\nand another. 0.5 of it: yes!\n\n- an `item with code`\n- `x = 1`: (it ends.) Here\n\n"
        "| a | b c |\n|---|---|\n| d | e |\n\n```\nno. code\n```\n"
    )
    assert sentences(text) == [
        *("# A heading", "One line and another.", "0.5 of it:", "yes!", "an code", "code:", "(it ends."),
        *("Here", "a", "b c", "d", "e"),
    ]


def old_phrases(text: str) -> list[str]:
    return [found for phrase in OLD_PHRASES for found in re.findall(phrase, text, re.IGNORECASE)]


@pytest.mark.parametrize("page", [README, *(page for pages in BOOKS.values() for page in pages)], ids=name)
def test_old_phrases_are_gone(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert old_phrases(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "channels_first= says otherwise",
        "one thing lent",
        "the lender",
        "by 0.5 deviations",
        "somebody's model",
    ],
)
def test_an_old_phrase_is_seen(text: str) -> None:
    assert old_phrases(text)


def test_no_message_of_the_package_has_an_old_phrase() -> None:
    """Every string of the code but the docstrings of private names."""
    seen, old = 0, set[str]()
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        hidden = {
            id(node.value)
            for owner in ast.walk(tree)
            if isinstance(owner, ast.FunctionDef | ast.ClassDef) and owner.name.startswith("_")
            for node in ast.walk(owner)
            if isinstance(node, ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
                seen += 1
                old.update({path.relative_to(SOURCE).as_posix()} if old_phrases(node.value) else ())
    assert seen > 1000
    assert not old
