"""Values that come into a page."""

from pathlib import Path

import crest._pages
from crest._pages.environment import page_environment


def test_text_is_escaped_and_data_cannot_end_its_script() -> None:
    template = page_environment().from_string("{{ text }}|{{ value | data }}")
    assert template.render(text="<b>", value={"a": "</script>"}) == '&lt;b&gt;|{"a":"\\u003c/script>"}'


def test_scripts_are_copied_as_they_are() -> None:
    text = page_environment().from_string("{{ include('explorer.js') }}").render()
    script = Path(crest._pages.__file__).parent / "templates" / "explorer.js"
    assert text.strip() == script.read_text().strip()


def test_plotly_is_the_small_script_with_its_licence() -> None:
    text = page_environment().from_string("{{ plotly }}").render()
    assert "plotly.js (basic - minified) v" in text[:200]
    assert len(text) < 1_300_000
    folder = Path(crest._pages.__file__).parent / "plotly"
    assert "MIT License" in (folder / "LICENSE").read_text()
