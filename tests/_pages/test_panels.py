"""What a first screen is made of."""

from crest._pages.panels import FindingLine, FirstScreen, PanelBar


def test_a_finding_alone_is_a_first_screen() -> None:
    screen = FirstScreen(findings=(FindingLine(mark="good", word="events", sentence="It reads the events."),))
    assert (screen.left, screen.right, screen.below, screen.models) == ((), (), (), ())
    assert PanelBar(value=1.0).low is None
