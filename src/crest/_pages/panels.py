"""What the first screen of a page holds, as plain values: a finding, and the pictures that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from crest._base.fragment import FindingMark


@dataclass(frozen=True, kw_only=True)
class FindingLine:
    """One finding: a colour, a word, a sentence, and what to do."""

    mark: FindingMark
    """Green, amber or red."""
    word: str
    """The verdict in a word, since a colour alone is not seen by everybody."""
    sentence: str
    todo: str = ""
    """What to do; "" for nothing."""
    of: str = ""
    """The model, if there are several."""


@dataclass(frozen=True, kw_only=True)
class PanelBar:
    """A number with its interval; all of them in the unit of the panel."""

    value: float
    low: float | None = None
    high: float | None = None
    above: bool = False
    """Whether it is on the wrong side of the limit."""


@dataclass(frozen=True, kw_only=True)
class BarRow:
    """The bars of one thing, one for each model; None if a model has none."""

    name: str
    bars: tuple[PanelBar | None, ...]
    note: str = ""
    """A word beside the name, such as "declared"."""
    strong: bool = False
    """Whether it is the row that decides."""
    faint: bool = False
    """Whether it is shown beside those that decide."""


@dataclass(frozen=True, kw_only=True)
class BarPanel:
    """Bars that start at 0, with a line for the number that they are compared with."""

    title: str
    rows: tuple[BarRow, ...]
    models: tuple[str, ...]
    """The model of each bar of a row."""
    unit: str = ""
    line: float | None = None
    """Where the line is."""
    line_name: str = ""
    caption: str = ""
    """What is to be seen, in words."""
    least: float = 0.0
    """The axis goes at least so far."""
    change: bool = True
    """Whether the bars of a row are before and after."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One trajectory: where it is, and what it is called."""

    x: float
    y: float
    group: int = 0
    """Its place among the panel's groups."""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class ScatterView:
    """The dots of one model on one kind of signals."""

    title: str
    dots: tuple[Dot, ...]
    note: str = ""
    """Such as the error."""
    model: int = 1
    """The place of its model among those of the screen, whose colour the dots have unless they are coloured by group."""


@dataclass(frozen=True, kw_only=True)
class ScatterPanel:
    """Predicted against true: on the line all is right."""

    title: str
    views: tuple[ScatterView, ...]
    """Two for each model: on own signals, and on exchanged ones."""
    groups: tuple[str, ...] = ()
    """Names of the groups that colours stand for; none if all dots have one."""
    group_title: str = ""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class MatrixCell:
    """A cell of a matrix."""

    text: str
    shade: float = 0.0
    """From 0 to 1: how strongly it is coloured."""
    note: str = ""
    """A smaller text below."""
    good: bool = False
    """Whether its colour is the one of what is right."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """One table with shaded cells."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]
    across: str = ""
    """What the columns are."""


@dataclass(frozen=True, kw_only=True)
class MatrixPanel:
    """Tables with shaded cells, one for each model or kind of signals."""

    title: str
    matrices: tuple[Matrix, ...]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Strand:
    """One line over time."""

    name: str
    values: Sequence[float]
    kind: str
    """Its look: "own" or "swapped", or "own-slow" or "swapped-slow" for what is slow in these."""


@dataclass(frozen=True, kw_only=True)
class TracePanel:
    """Lines over time in one picture, with some of the steps shaded."""

    title: str
    strands: tuple[Strand, ...]
    step: float
    """How long a step is, in the unit of time."""
    unit: str
    """Of time: "s", or "steps"."""
    shaded: Sequence[bool] = ()
    """Of each step, whether it is shaded; none shades nothing."""
    shaded_name: str = ""
    """What shaded steps are."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line of one model."""

    model: str
    """Its name; "" if there is no other."""
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class CurveView:
    """How far predictions move along one thing that is done to the signals."""

    title: str
    ticks: tuple[str, ...]
    """What is done, at places of the same distance."""
    curves: tuple[Curve, ...]
    note: str = ""
    line: float | None = None
    """Where a line is, if there is one."""


@dataclass(frozen=True, kw_only=True)
class CurvePanel:
    """Response curves, each on a scale that starts at 0."""

    title: str
    views: tuple[CurveView, ...]
    unit: str
    line_name: str = ""
    caption: str = ""


AnyPanel: TypeAlias = BarPanel | ScatterPanel | MatrixPanel | TracePanel | CurvePanel
"""One picture of the first screen."""


@dataclass(frozen=True, kw_only=True)
class FirstScreen:
    """What a page opens with: it tells the finding in ten seconds, also without a script and without colours."""

    findings: tuple[FindingLine, ...]
    """One, or one for each model."""
    left: tuple[AnyPanel, ...] = ()
    """Pictures that stand below each other at the left, on a phone first."""
    right: tuple[AnyPanel, ...] = ()
    """Pictures beside them."""
    below: tuple[AnyPanel, ...] = ()
    """Pictures that need the whole width."""
    models: tuple[str, ...] = field(default=())
    """Names of the models, for the key of their colours; none if there is one."""
