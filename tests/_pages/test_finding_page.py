"""A page of a finding without trajectories."""

from crest._pages.finding_page import PageSection, finding_page
from crest._pages.panels import FindingLine, FirstScreen


def test_text_is_text_and_empty_sections_are_left_out() -> None:
    first = FirstScreen(findings=(FindingLine(mark="bad", word="<b>", sentence="A <i>finding</i>."),))
    sections = [
        PageSection("Why", ("Because <u>so</u>.",)),
        PageSection("Nothing"),
        PageSection("Numbers", (), ("name", "value"), (("<a>", "1"),)),
    ]
    text = finding_page(first, sections, title="T", intro="One.\n\nTwo.", notes=["A note."])
    for evil in ("<i>finding", "<u>so", "<a>"):
        assert evil not in text
    assert "Nothing" not in text
    assert (
        text.index("A &lt;i&gt;finding")
        < text.index("<p>One.</p>")
        < text.index("Because")
        < text.index("A note.")
    )
    # Without plotly it is small.
    assert len(text) < 60_000
