"""The README's first picture: a real signal, what a model follows in it, and its errors before and after the repair. Needs matplotlib."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crest._base.floats import Floats
from crest._pages.colours import colour
from crest.lab.evidence.shown import Chart
from crest.lab.report.pictures import INK
from crest.lab.systems.public_files import RecordingFileError
from crest.lab.systems.sisfall import SisfallSystem
from crest.recordings.trajectories import Trajectories

_AXIS = 1
"""The accelerometer's axis along the body, for most people: about -1 g upright, 0 g lying."""
# Activities of people who stand, lie down and get up; D14 lies from the start.
_LIES_DOWN = ("D12", "D13")
_HALF_WAY = -0.5


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FallSignals:
    """Two recordings (T,) of SisFall in g, along the body."""

    fall: Floats
    """A fall, of the bench."""
    lying: Floats
    """A person lies down and gets up, in the field."""
    sample_rate: float


def fall_signals() -> FallSignals | None:
    """The first fall of the bench and the first lying down of the field, so that none is picked by hand; None without recordings."""
    try:
        splits = SisfallSystem().splits(0)
    except RecordingFileError:
        return None
    return FallSignals(
        fall=_first(splits.train, splits.train.y == 1),
        lying=_first(splits.ood, np.isin(splits.ood.extra["activity"], _LIES_DOWN)),
        sample_rate=splits.train.sample_rate,
    )


def _first(part: Trajectories, rows: npt.NDArray[Any]) -> Floats:
    """The first of these rows in which the person stands at the beginning."""
    axis = part.x[:, :, _AXIS]
    upright = axis[:, : axis.shape[1] // 10].mean(1) < _HALF_WAY
    found: Floats = axis[np.flatnonzero(rows & upright)[0]]
    return found


def story_errors(chart: Chart) -> dict[str, tuple[float, float]]:
    """Bench and field error on SisFall as the model is, and repaired, of the chart of the field's errors."""
    (panel,) = (panel for panel in chart.panels if panel.title.startswith("SisFall"))
    sides = {series.name: series.y for series in panel.series}
    return {
        str(name): (sides["bench"][place], sides["field"][place])
        for place, name in enumerate(panel.series[0].x)
    }


def story(signals: FallSignals, errors: dict[str, tuple[float, float]]) -> Figure:
    """The picture."""
    figure = Figure(figsize=(8.8, 4.0), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.65, 1))
    above = figure.add_subplot(grid[0, 0])
    below = figure.add_subplot(grid[1, 0], sharex=above, sharey=above)
    _over_time(above, signals.fall, signals.sample_rate, "Bench: a fall. Only those who fell lie down.")
    _over_time(below, signals.lying, signals.sample_rate, "Field: no fall. People lie down, too.")
    at = int(np.abs(signals.fall - np.median(signals.fall)).argmax())
    above.annotate(
        "the fall",
        (at / signals.sample_rate, signals.fall[at] * 0.8),
        (-26, -2),
        textcoords="offset points",
        arrowprops={"arrowstyle": "->", "color": colour("event")},
        ha="right",
        fontsize=11,
        fontweight="bold",
        color=colour("event"),
    )
    above.tick_params(labelbottom=False)
    below.set_xlabel("seconds", fontsize=10)
    _bars(figure.add_subplot(grid[:, 1]), errors)
    return figure


def _over_time(axes: Axes, signal: Floats, rate: float, title: str) -> None:
    time = np.arange(len(signal)) / rate
    axes.plot(time, signal, color=INK, lw=1.2)
    width = int(rate)
    slow = np.convolve(np.pad(signal, width // 2, mode="edge"), np.ones(width) / width, "same")
    lies = slow[width // 2 : width // 2 + len(signal)] > _HALF_WAY
    axes.fill_between(time, 0, 1, where=lies, transform=axes.get_xaxis_transform(), color=colour("background"), alpha=0.16, lw=0)  # fmt: skip
    axes.text(
        time[lies].mean(),
        0.1,
        "lying: what the\nmodel follows",
        transform=axes.get_xaxis_transform(),
        ha="center",
        fontsize=11,
        fontweight="bold",
        color=colour("background"),
    )
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.set_ylabel("g along the body", fontsize=10)
    axes.set_xlim(0, time[-1])
    _plain_axes(axes)


def _bars(axes: Axes, errors: dict[str, tuple[float, float]]) -> None:
    for place, side in enumerate(("bench", "field")):
        for number, both in enumerate(errors.values()):
            value, x = both[place], number + 0.4 * (place - 0.5)
            axes.bar(x, value, 0.36, color=colour("ood" if place else "id"), label=None if number else side)
            axes.annotate(
                f"{value:.2f}", (x, value), (0, 3), textcoords="offset points", ha="center", fontsize=11, fontweight="bold"
            )  # fmt: skip
    axes.axhline(0.5, color=colour("reference"), ls=":", lw=1.2)
    axes.annotate(
        "a guess", (1.4, 0.5), (0, 3), textcoords="offset points", ha="right", fontsize=10, color=colour("reference")
    )  # fmt: skip
    axes.set_xticks(range(len(errors)), ["as trained", "after crest.repair"], fontsize=11)
    axes.set_title("Share of wrong predictions", loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.set_ylim(0, 0.58)
    axes.legend(frameon=False, fontsize=11, loc="upper right", bbox_to_anchor=(1.0, 0.82))
    _plain_axes(axes)


def _plain_axes(axes: Axes) -> None:
    axes.tick_params(axis="y", labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
