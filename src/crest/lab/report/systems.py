"""A picture of a system: channels, events and cue of a few trajectories of rising label. Needs matplotlib."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crest._base.arguments import require
from crest.recordings.trajectories import Trajectories

_SIGNAL = "#0072B2"
_EVENT = "#F0E442"
_CORE = "#E69F00"
_QUIET = "#666666"


def system_figure(data: Trajectories, rows: int = 4, steps: int | None = None) -> Figure:
    """A grid of signals: one row per trajectory, labels rising downwards, one column per channel.

    Args:
        data: trajectories to choose from; the chosen ones spread evenly over the labels.
        rows: how many.
        steps: how much of each to show; all of it by default.
    """
    require("rows", rows, f"be a whole number in [1, {len(data)}]")
    order = np.argsort(data.y)
    chosen = order[np.linspace(0, len(order) - 1, rows).round().astype(int)]
    steps = data.x.shape[1] if steps is None else min(steps, data.x.shape[1])
    time = np.arange(steps, dtype=np.float64)
    width = len(data.channels)
    figure = Figure(figsize=(max(8.0, 3.4 * width), 1.5 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, width, squeeze=False, sharex=True, sharey="col")
    for row, index in enumerate(chosen):
        for column, name in enumerate(data.channels):
            panel = axes[row, column]
            if data.events is not None:
                _shade(panel, data.events[index, :steps], time, _EVENT)
            if "core" in data.extra:
                _shade(panel, data.extra["core"][index, :steps], time, _CORE)
            panel.plot(time, data.x[index, :steps, column], color=_SIGNAL, lw=0.7)
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(colors=_QUIET, labelsize=8)
            if row == 0:
                panel.set_title(name, loc="left", fontsize=10, parse_math=False)
        cue = "" if data.proxy is None else f"\ncue {data.proxy[index]:+.2f}"
        axes[row, 0].set_ylabel(f"y {data.y[index]:+.2f}{cue}", fontsize=9, color=_QUIET)
    for panel in axes[-1]:
        panel.set_xlabel(f"step, {data.sample_rate:g} per unit of time", fontsize=9, color=_QUIET)
    shaded = "" if data.events is None else "; events shaded"
    shaded += ", their core darker" if "core" in data.extra else ""
    figure.suptitle(f"{data.source}{shaded}", x=0.01, ha="left", fontsize=11, parse_math=False)
    return figure


def _shade(panel: Axes, events: npt.NDArray[np.bool_], time: npt.NDArray[np.float64], colour: str) -> None:
    band = panel.get_xaxis_transform()
    where = events.tolist()
    panel.fill_between(time, 0, 1, where=where, transform=band, step="mid", color=colour, alpha=0.7, lw=0)
