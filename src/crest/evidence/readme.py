"""The README's table and pictures, made from the records: `make pictures`. A test fails when they are stale."""

import dataclasses
import hashlib
import json
import re
import sys
from pathlib import Path

from PIL import Image

from crest.evidence.convergence import CONVERGENCE
from crest.evidence.cross import CROSS
from crest.evidence.experiment import Experiment
from crest.evidence.main import MAIN
from crest.evidence.teaser import TEASER
from crest.experiments.store import Store
from crest.report.formats import table_markdown
from crest.report.pictures import picture
from crest.report.shown import Chart

START, END = "<!-- main table start -->", "<!-- main table end -->"
PICTURES: dict[str, tuple[Experiment, str]] = {
    "docs/teaser.png": (TEASER, "teaser"),
    "docs/cross.png": (CROSS, "cross"),
    "docs/convergence.png": (CONVERGENCE, "convergence"),
}
"""Files, and the chart of each: an experiment's, by name."""
MADE_FROM = "Made from"
"""Entry of a picture that names the values it shows: pixels differ between machines."""


def digest(chart: Chart) -> str:
    """A name for the values of a chart."""
    return hashlib.sha256(json.dumps(dataclasses.asdict(chart)).encode()).hexdigest()[:16]


def charts(store: Store) -> dict[str, Chart]:
    """The charts of the pictures, by file."""
    found = {}
    for file, (experiment, name) in PICTURES.items():
        there = {chart.name: chart for chart in experiment.piece(store).shown.charts}
        if name not in there:
            raise ValueError(f"store must have the records of {experiment.name}: crest run {experiment.name}")
        found[file] = there[name]
    return found


def with_table(readme: str, store: Store) -> str:
    """The README with the main table as the records have it."""
    table = table_markdown(MAIN.piece(store).shown.tables[0])
    if START not in readme or END not in readme:
        raise ValueError(f"readme must have the lines {START} and {END}")
    pattern = re.compile(re.escape(START) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{START}\n{table.strip()}\n{END}", readme)


def stale(root: Path, store: Store) -> list[str]:
    """What no longer shows the records: the README's table, or pictures."""
    readme = (root / "README.md").read_text()
    old = [] if with_table(readme, store) == readme else ["README.md"]
    return old + [file for file, chart in charts(store).items() if _made_from(root / file) != digest(chart)]


def _made_from(path: Path) -> str | None:
    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(MADE_FROM)


def write(root: Path, store: Store) -> None:
    """Write the table and the pictures anew."""
    readme = root / "README.md"
    readme.write_text(with_table(readme.read_text(), store))
    for file, chart in charts(store).items():
        picture(chart).savefig(root / file, dpi=110, metadata={MADE_FROM: digest(chart)})


if __name__ == "__main__":
    here = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    write(here, Store(here / "results"))
