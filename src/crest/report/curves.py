"""Errors over training, from the looks of records: has every readout converged?"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crest.experiments.record import Record

COLOURS = {"mean": "0.6", "attention": "C0", "scored_attention": "C2", "crest": "C3"}


def curves_figure(records: Sequence[Record]) -> Figure:
    """ID error (solid) and OOD error (dashed) over epochs: a row per system, a column per encoder.

    Args:
        records: of runs with looks (`observe_every`); several seeds are drawn as several lines.
    """
    seen = [record for record in records if record.looks]
    if not seen:
        raise ValueError("records must hold looks during training: those of `convergence` do (observe_every)")
    systems = list(dict.fromkeys(record.spec.system for record in seen))
    encoders = list(dict.fromkeys(record.spec.encoder for record in seen))
    figure = Figure(figsize=(3.2 * len(encoders), 2.6 * len(systems)), layout="constrained")
    axes = figure.subplots(len(systems), len(encoders), squeeze=False)
    for record in seen:
        row, column = systems.index(record.spec.system), encoders.index(record.spec.encoder)
        _draw(axes[row][column], record)
    for row, system in enumerate(systems):
        axes[row][0].set_ylabel(f"{system}: error")
    for column, encoder in enumerate(encoders):
        axes[0][column].set_title(encoder)
        axes[-1][column].set_xlabel("epochs")
    handles = dict(zip(*reversed(axes[0][0].get_legend_handles_labels()), strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False
    )
    return figure


def _draw(axes: Axes, record: Record) -> None:
    epochs = [look.epoch for look in record.looks]
    colour = COLOURS.get(record.spec.readout, "C4")
    axes.plot(
        epochs, [look.score.id for look in record.looks], color=colour, label=f"{record.spec.readout}, ID"
    )
    axes.plot(
        epochs,
        [look.score.ood for look in record.looks],
        "--",
        color=colour,
        label=f"{record.spec.readout}, OOD",
    )
    axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
