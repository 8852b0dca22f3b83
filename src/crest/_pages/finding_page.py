"""A page of a finding without trajectories: pictures, sentences and tables. It has no plotly, so it is small."""

from collections.abc import Sequence
from typing import NamedTuple

from crest._pages.environment import page_environment
from crest._pages.panels import FirstScreen


class PageSection(NamedTuple):
    """A part of the page below the pictures."""

    heading: str
    sentences: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    """Of a table; none for a section without one."""
    rows: tuple[tuple[str, ...], ...] = ()


def finding_page(
    first: FirstScreen,
    sections: Sequence[PageSection],
    *,
    title: str,
    intro: str = "",
    notes: Sequence[str] = (),
) -> str:
    """The page, as text.

    Args:
        first: what it opens with.
        sections: what stands below, in order; those without sentences and rows are left out.
        title: its heading.
        intro: a text below the pictures; an empty line begins a paragraph.
        notes: what was assumed, folded away.
    """
    return (
        page_environment()
        .get_template("finding.html.j2")
        .render(
            title=title,
            first=first,
            intro=intro.split("\n\n") if intro else [],
            sections=[one for one in sections if one.sentences or one.rows],
            notes=notes,
        )
    )
