"""The README's table and pictures, made from the records: `make pictures`. A test fails when they are stale."""

import dataclasses
import hashlib
import json
import re
import sys
from pathlib import Path

from PIL import Image

from crest.lab.evidence import CATALOG
from crest.lab.evidence.convergence import CONVERGENCE_EXPERIMENT
from crest.lab.evidence.cross import CROSS_EXPERIMENT
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.shown import Chart
from crest.lab.evidence.teaser import TEASER_EXPERIMENT
from crest.lab.report.formats import table_markdown
from crest.lab.report.pictures import picture
from crest.lab.runs.store import Store

TABLE = "main table"
FAILURES = "failures"
PICTURES: dict[str, tuple[Experiment, str]] = {
    "docs/teaser.png": (TEASER_EXPERIMENT, "teaser"),
    "docs/cross.png": (CROSS_EXPERIMENT, "cross"),
    "docs/convergence.png": (CONVERGENCE_EXPERIMENT, "convergence"),
}
"""The experiment and the name of the chart that each file shows."""
MADE_FROM = "Made from"
"""The picture's metadata entry that identifies the values it shows. Pixels cannot: they differ between machines."""


def chart_digest(chart: Chart) -> str:
    """Sixteen hexadecimal digits that identify the values of a chart."""
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


def with_results(readme: str, store: Store) -> str:
    """The README with the main table and the list of what does not hold as the records have them."""
    table = table_markdown(MAIN_EXPERIMENT.piece(store).shown.tables[0])
    claims = [claim for one in CATALOG.values() for claim in one.piece(store).shown.claims]
    failures = [f"- {claim.text}: {claim.measured}." for claim in claims if claim.verdict == "does not hold"]
    return _between(_between(readme, TABLE, table.strip()), FAILURES, "\n".join(failures))


def _between(text: str, name: str, new: str) -> str:
    """The text with what stands between two markers replaced."""
    start, end = f"<!-- {name} start -->", f"<!-- {name} end -->"
    if start not in text or end not in text:
        raise ValueError(f"readme must have the lines {start} and {end}")
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{start}\n{new}\n{end}", text)


def stale(root: Path, store: Store) -> list[str]:
    """The files that no longer show the records: README.md, and pictures."""
    readme = (root / "README.md").read_text()
    old = [] if with_results(readme, store) == readme else ["README.md"]
    return old + [
        file for file, chart in charts(store).items() if _made_from(root / file) != chart_digest(chart)
    ]


def _made_from(path: Path) -> str | None:
    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(MADE_FROM)


def write(root: Path, store: Store) -> None:
    """Write the table and the pictures anew."""
    readme = root / "README.md"
    readme.write_text(with_results(readme.read_text(), store))
    for file, chart in charts(store).items():
        picture(chart).savefig(root / file, dpi=110, metadata={MADE_FROM: chart_digest(chart)})


if __name__ == "__main__":
    here = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    write(here, Store(here / "results"))
