"""What a piece of evidence shows, as plain values: tables, charts and claims. How they look is elsewhere."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

Verdict = Literal["holds", "partly", "does not hold", "not measured"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one colour.

    Args:
        name: what the legend calls it; series of one name in several panels share their entry.
        x: numbers, or words for a bar chart.
        y: one value per x.
        spread: standard deviation of each value, drawn as a bar; None for none.
        look: how it is drawn.
        colour: a key of `crest.lab.report.colours.COLOURS`.
        hover: a text per point, shown beside x and y; None for none.
    """

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    look: Literal["line", "dashed", "points", "bars"] = "line"
    colour: str = "other"
    hover: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("y", "spread", "hover"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.x):
                raise ValueError(f"{name} must have one value per x, {len(self.x)}, got {len(values)}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mark:
    """A reference line across a panel at one value of x or y, or a shaded band from one to another."""

    name: str
    axis: Literal["x", "y"]
    at: float
    to: float | None = None
    """The other end, for a band."""
    colour: str = "reference"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels side by side; `name` is the stem of its file."""

    name: str
    caption: str
    panels: tuple[Panel, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as text; the first column is words, the others are mostly numbers."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"rows must have {len(self.header)} cells as the header has, got {row}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper beside what was measured here."""

    text: str
    paper: str
    """The paper's number."""
    measured: str
    """Ours; "" while runs are missing."""
    verdict: Verdict
    bar: str = ""
    """What "holds" asks for, in words; "" where the claim says it itself."""
    seeds: int | None = None
    p: float | None = None
    smallest_p: float | None = None
    """The smallest p that this many seeds can give."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """All that a piece shows; `notes` are paragraphs."""

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of evidence on the page.

    Args:
        name: of its experiment.
        evidence: the paper's table or figure.
        summary: what it asks, in one line.
        found: records that are there.
        declared: runs that it needs.
        command: what makes it again.
        shown: tables, charts and claims.
    """

    name: str
    evidence: str
    summary: str
    found: int
    declared: int
    command: str
    shown: Shown
