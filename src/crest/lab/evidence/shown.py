"""What a piece of evidence shows, as plain values: tables, charts and claims. The report decides how they look."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from crest._pages.panels import FirstScreen
from crest.lab.evidence.stats import Number, Paired

SeriesLook = Literal["line", "dashed", "points", "bars"]
Verdict = Literal["holds", "partly", "does not hold", "not measured"]


class Comparison(Number):
    """A cell that compares two settings: a relative change or a p. A trial does not show it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one colour.

    Args:
        name: its entry in the legend; series of the same name in several panels share one entry.
        x: numbers, or words for a bar chart.
        y: one value per x.
        spread: standard deviation of each value, drawn as a whisker; None for none.
        counts: how many seeds each value is a mean of; None where it is no mean. A single seed is a hollow point.
        look: what kind of marks stand for its points.
        colour: what the series stands for: a readout, a split, "event", "theory" and so on. The report has a
            colour for each of these words.
        hover: a text per point, shown beside x and y; None for none.
    """

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    counts: Sequence[int] | None = None
    look: SeriesLook = "line"
    colour: str = "other"
    hover: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("y", "spread", "counts", "hover"):
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
    """One pair of axes; `horizontal` puts the words of bars on the upright axis, the first at the top."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    log_x: bool = False
    log_y: bool = False
    horizontal: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels that belong together; `name` tells the chart apart from the others of its piece."""

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


BEYOND = "beyond the paper"
"""What stands in the place of the paper's number, if the paper says nothing of the kind."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper beside what was measured here; one that is not judged yet is not measured.

    Example:
        >>> claim = Claim(text="CREST errs less", paper="0.29")
        >>> claim.verdict, claim.judged("0.31", holds=False, partly=True).verdict
        ('not measured', 'partly')
    """

    text: str
    paper: str
    """The paper's number, or `BEYOND`."""
    measured: str = ""
    """What we measured; "" while runs are missing."""
    brief: str = ""
    """The same in few words, for a cell of a table; "" if `measured` is short itself."""
    verdict: Verdict = "not measured"
    bar: str = ""
    """The condition for "holds", in words; "" if the claim's text says it."""
    seeds: int | None = None
    p: float | None = None
    smallest_p: float | None = None
    """The smallest p that this many seeds can give."""

    def judged(
        self,
        measured: str,
        *,
        holds: bool,
        partly: bool,
        bar: str = "",
        seeds: int | None = None,
        test: Paired | None = None,
        brief: str = "",
    ) -> "Claim":
        """The claim with what was measured and the verdict on it.

        Args:
            measured: our numbers, in words.
            holds: whether the condition is met.
            partly: whether at least the direction is right. It counts only if the claim does not hold.
            bar: the condition for "holds", in words.
            seeds: how many seeds the numbers rest on, if there is no test.
            test: the comparison behind the claim; it brings its seeds and p.
            brief: our numbers in few words, for a cell of a table.
        """
        return dataclasses.replace(
            self,
            measured=measured,
            brief=brief,
            verdict="holds" if holds else "partly" if partly else "does not hold",
            bar=bar,
            seeds=seeds if test is None else test.seeds,
            p=None if test is None else test.p,
            smallest_p=None if test is None else test.smallest_p,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Help:
    """What becomes of the field error of a model in one place; all errors are means over seeds.

    Args:
        place: data and encoder, in words.
        real: whether the data are recordings.
        tied: whether a cue goes with the label on the bench. If none does, there is nothing to repair.
        first: whether the place stands on the first screen.
        unit: of the errors.
        plain: the model as it is.
        expert: what an expert does first; None if that was not tried.
        expert_is: what that is.
        repaired: what `crest.repair`, or its rule, picks.
        pick: what that is; "" where it differs from seed to seed.
    """

    place: str
    real: bool
    unit: str
    plain: float
    repaired: float
    expert: float | None = None
    expert_is: str = ""
    pick: str = ""
    tied: bool = True
    first: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """Everything that a piece shows; each note is a paragraph.

    A study of one's own has a headline, which says what it found, and a first screen, with which its page opens.
    """

    headline: str = ""
    first: FirstScreen | None = None
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[Help, ...] = ()


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

    @property
    def report_command(self) -> str:
        """What shows it again, from the records that are there."""
        return self.command.replace("crest run ", "crest report ", 1)
