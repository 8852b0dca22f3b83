"""The tutorials run: their notebooks print what they show, and are those of their pages."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pooch
import pytest
from PIL import Image

from places import DOCS, ROOT

sys.path.append(str(DOCS / "extensions"))

import notebooks

FOLDER = DOCS / "tutorials"
STEMS = re.findall(r"^tutorials/(\w+)$", (DOCS / "index.md").read_text(), flags=re.MULTILINE)
# Where the recordings of the tutorial on ECG may be; it looks in the same places.
PLACES = [os.environ.get("CREST_DATA"), pooch.os_cache("crest"), ROOT.parent / "shared" / "data"]
HAS_ECG = any((Path(place) / "mitbih" / "119.hea").exists() for place in PLACES if place)
NUMBER = re.compile(r"-?\d+\.\d+")
PAGE = """# One

[As a notebook](one.ipynb), to run.

Some *text*.

```python
a = 2
print("a", 1 / 3)
```

```text
a 0.3
```

More.

```python
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.plot([a, 3])
plt.show()
```

![A line](one_1.png)

The end.
"""


def code_of(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in made["cells"] if cell["cell_type"] == "code"]


# -- the seven that there are


def test_there_are_seven_and_the_manual_has_them_all() -> None:
    assert len(STEMS) == 7
    assert {page.stem for page in FOLDER.glob("*.md")} == set(STEMS)
    assert {page.stem for page in FOLDER.glob("*.ipynb")} == set(STEMS)


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_prints_and_draws_what_it_shows(
    stem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its words, and its numbers as far as another machine's rounding leaves them."""
    if stem == "ecg" and not HAS_ECG:
        pytest.skip("no MIT-BIH files in CREST_DATA, the cache folder or ../shared/data/mitbih")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_of(json.loads((FOLDER / f"{stem}.ipynb").read_text())):
        shown = {output["output_type"]: output for output in cell["outputs"]}
        printed, drawn = notebooks.run_cell("".join(cell["source"]), space)
        said = "".join(shown["stream"]["text"]) if "stream" in shown else ""
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", said)
        numbers = [[float(one) for one in NUMBER.findall(text)] for text in (printed, said)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.1)
        assert len(drawn) == ("display_data" in shown)


@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_is_that_of_its_page(stem: str) -> None:
    """Fails after a page has changed: `make notebooks`."""
    page = FOLDER / f"{stem}.md"
    assert notebooks.as_text(notebooks.notebook(page)) == page.with_suffix(".ipynb").read_text()
    assert f"({stem}.ipynb)" in page.read_text()


@pytest.mark.parametrize("stem", STEMS)
def test_pictures_were_drawn_by_the_code_in_front_of_them(stem: str) -> None:
    """Fails after code has changed: `make notebooks`."""
    codes: list[str] = []
    pictures = []
    for cell in notebooks.cells((FOLDER / f"{stem}.md").read_text()):
        codes += [cell.text + "\n"] if cell.is_code else []
        if cell.picture:
            pictures.append(cell.picture)
            with Image.open(FOLDER / cell.picture) as image:
                assert image.info[notebooks.MADE_FROM] == notebooks.made_from(codes)
    assert pictures
    assert sorted(pictures) == sorted(path.name for path in FOLDER.glob(f"{stem}_?.png"))


# -- how one is made


@pytest.fixture
def page(tmp_path: Path) -> Path:
    place = tmp_path / "one.md"
    place.write_text(PAGE)
    return place


def test_a_page_gets_what_it_prints_and_draws_and_its_notebook(page: Path) -> None:
    notebooks.write(page)
    assert page.read_text() == PAGE.replace("a 0.3\n", f"a {1 / 3}\n")
    made = json.loads(page.with_suffix(".ipynb").read_text())
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert [cell["cell_type"] for cell in made["cells"]] == [
        "markdown",
        "code",
        "markdown",
        "code",
        "markdown",
    ]
    assert len({cell["id"] for cell in made["cells"]}) == 5
    first, second = code_of(made)
    assert "".join(first["source"]) == 'a = 2\nprint("a", 1 / 3)'
    assert first["outputs"] == [{"output_type": "stream", "name": "stdout", "text": [f"a {1 / 3}\n"]}]
    assert second["outputs"][0]["data"]["image/png"].startswith("iVBOR")
    assert "As a notebook" not in page.with_suffix(".ipynb").read_text()
    assert made == notebooks.notebook(page)


@pytest.mark.parametrize("without", ["```text\na 0.3\n```\n\n", "![A line](one_1.png)\n\n"])
def test_output_without_a_place_on_the_page_is_told(without: str, page: Path) -> None:
    page.write_text(PAGE.replace(without, ""))
    with pytest.raises(ValueError, match=r"one\.md must have a text block where code prints"):
        notebooks.write(page)
    assert not page.with_suffix(".ipynb").exists()
