"""The history of a watch as it is printed."""

from collections.abc import Sequence

from crest._audit.watch_row import WatchedEpoch

_SHOWN = 10
_HEADINGS = {
    "transient": "transient",
    "background": "background",
    "interaction": "both",
    "moved": "moved",
    "error": "error",
    "expected_error": "expected",
    "core_credit": "on core",
    "cie": "CiE@1",
    "precision": "Prec@|E|",
    "ecm": "ECM",
    "chance": "chance",
}
"""Columns of the printed history, by the names of `WatchedEpoch.to_dict`."""


def table_of(head: str, history: Sequence[WatchedEpoch]) -> str:
    """A line for each of the last rows, under a head.

    Example:
        >>> table_of("Watch of 64 trajectories", [])
        'Watch of 64 trajectories, no epoch yet'
    """
    if not history:
        return f"{head}, no epoch yet"
    names = [name for name in _HEADINGS if any(name in row.to_dict("") for row in history)]
    shown = history[-_SHOWN:]
    if len(shown) < len(history):
        head += f", the last {len(shown)} of {len(history)} rows"
    lines = [head, _line("epoch", [_HEADINGS[name] for name in names], names, "verdict")]
    for row in shown:
        numbers = row.to_dict("")
        cells = [f"{numbers[name]:.3f}" if name in numbers else "" for name in names]
        lines.append(_line(str(row.epoch), cells, names, row.verdict))
    return "\n".join(lines)


def _line(epoch: str, cells: list[str], names: list[str], verdict: str) -> str:
    widths = [max(len(_HEADINGS[name]), 5) for name in names]
    columns = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([f"  {epoch:>5}", *columns, verdict])
