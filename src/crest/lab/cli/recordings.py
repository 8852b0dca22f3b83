"""`crest recordings`: one's own recordings on disk, before anything is trained on them."""

# ruff: noqa: PLC0415

import dataclasses
import json as json_text
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from crest.lab.cli.console import console
from crest.lab.cli.wording import Behind, in_options_of

recordings_app = App(name="recordings", help="Look at your own recordings: a table and a folder of signals.")


@recordings_app.command(name="check")
def check_table(
    table: Path,
    /,
    *,
    signals: Annotated[Path | None, Behind("folder")] = None,
    window: int | None = None,
    hop: int | None = None,
    sample_rate: float | None = None,
    resample: float | None = None,
    file: str = "file",
    label: str = "label",
    classes: Annotated[bool | None, Parameter(negative="--no-classes")] = None,
    condition: str | None = None,
    events: str | None = None,
    proxy: str | None = None,
    key: str | None = None,
    columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    time: str | None = None,
    no_time: bool = False,
    ood: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    id_by: Literal["block", "recording"] = "block",
    id_fraction: float = 0.2,
    gap: float = 1.0,
    json: bool = False,
) -> None:
    """Say what a table of recordings holds, and what is wrong with it, row by row. Exit status 1 if something is.

    Parameters
    ----------
    table
        A .csv or .parquet file with a row for each recording.
    signals
        Folder with the signals. Default: the table's own.
    window
        Samples per window. Default: windows are not counted.
    hop
        Samples from one window to the next. Default: the window.
    sample_rate
        Samples per second of files that do not say it.
    resample
        Samples per second that all recordings are brought to.
    file
        Column with the path of the signal.
    label
        Column with the target: numbers, or names of classes.
    classes
        The labels are names, or with --no-classes numbers. Default: they are names if none is a number.
    condition
        Column with the operating condition.
    events
        Column with the event steps.
    proxy
        Column with the smooth cue.
    key
        Which array of .npz and .mat files, where they hold several.
    columns
        Columns of the signals that are channels, by name or by number from 0. Default: all but the time.
    time
        Column of the signals with the time, by name or by number. Default: found out.
    no_time
        The signals have no time column.
    ood
        Conditions that would be held out; the split is then tried.
    id_by
        Hold out blocks of each recording, or whole recordings.
    id_fraction
        Share that would be held out of the other conditions.
    gap
        Signal between training and held-out windows, in window lengths.
    json
        Print JSON.
    """
    from crest.recordings.gathering import Wanted, gathered_recordings
    from crest.recordings.inventory import Division, inventory

    if ood is not None and (condition is None or window is None):
        raise ValueError("ood must come with --condition and --window, which say what is divided")
    wanted = Wanted(
        table=table, folder=signals, window=1 if window is None else window, hop=hop, sample_rate=sample_rate,
        file=file, label=label, condition=condition, events=events, proxy=proxy, key=key, columns=columns,
        time=time_column(time, no_time), resample=resample, classes=classes,
    )  # fmt: skip
    division = (
        None if ood is None else Division(ood=tuple(ood), id_by=id_by, id_fraction=id_fraction, gap=gap)
    )
    found = inventory(gathered_recordings(wanted), division, cut=window is not None)
    found = dataclasses.replace(
        found,
        problems=[
            (line, in_options_of(check_table, reason, begins=line is None)) for line, reason in found.problems
        ],
        advice=[in_options_of(check_table, one) for one in found.advice],
        remarks=[in_options_of(check_table, one) for one in found.remarks],
    )
    if json:
        problems = [{found.place: line, "reason": reason} for line, reason in found.problems]
        told = {**found.about, "problems": problems, "advice": found.advice, "remarks": found.remarks}
        print(json_text.dumps(told, indent=2))
    else:
        for line in found.lines():
            console.print(line, markup=False)
    if found.problems:
        raise SystemExit(1)


def time_column(time: str | None, no_time: bool) -> str | bool:
    """What the options --time and --no-time say, in the words of `load_recordings`.

    Example:
        >>> time_column(None, no_time=False), time_column("clock", no_time=False), time_column(None, no_time=True)
        (True, 'clock', False)
    """
    if no_time and time is not None:
        raise ValueError(f"time must be left out with --no-time, got {time!r}")
    return (not no_time) if time is None else time
