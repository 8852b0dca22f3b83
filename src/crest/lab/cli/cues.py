"""`crest cues`: recordings on disk, and what their label can be read from before any network."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.recordings import DEFAULT_FLAGS, RecordingFlags
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from crest._cues import Cues


def cues_in_recordings(
    table: Annotated[Path, Behind("x")],
    /,
    *,
    window: int | None = None,
    hop: int | None = None,
    recordings: RecordingFlags = DEFAULT_FLAGS,
    where: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    leave_out: Annotated[Literal["recording", "window"] | None, Behind("groups")] = None,
    parts: Annotated[list[Literal["train", "id", "ood"]] | None, Parameter(consume_multiple=True)] = None,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Say what the label can be read from, before any network: offset, drift, tones, gain, colour, or what is brief.

    Parameters
    ----------
    table
        A table (.csv or .parquet) with a row for each recording.
    window
        Samples per window. Default: the window of --settings, else whole recordings, which may differ in length.
    hop
        Samples from one window to the next. Default: the window.
    where
        Rows of the table to look at, as column=value, such as speed=900. Repeat it for more values or columns. Default: all rows.
    leave_out
        What is left out when a label is predicted: the whole recording, because its windows are alike, or only the window. By
        default the recording, or the group of --group.
    parts
        With --split: which rows to look at. Default: train.
    seed
        Seed of the readers and of the intervals.
    json
        Print what was found as JSON.
    """
    import torch

    from crest._base.recorded import table_labels
    from crest._cues import cues
    from crest._cues.cues import BOTH_SIDES
    from crest._cues.inputs import TooFewGroupsError, emptied_level, targets_of
    from crest.exchange.groups import groups_of
    from crest.lab.cli.own_windows import own_windows

    words_aside(json)
    window = recordings.length(window)
    if hop is not None and window is None:
        raise ValueError("hop must come with --window: without a window, each recording is one")
    with console.status("reading the recordings"):
        options = recordings.options(window=window, hop=hop)
        if options.group is not None and leave_out is not None:
            raise ValueError("leave_out must be left out with --group, which says what stays together")
        windows, lengths, assumed, *_ = own_windows(
            table,
            recordings.signals,
            options,
            whole=window is None,
            parts=parts or ("train",),
            where=where or (),
        )
    groups, together = None, "recordings" if options.group is None else f"groups of {options.group!r}"
    if leave_out != "window":
        numbers = windows.extra["recording" if options.group is None else "group"]
        groups = numbers if len(set(numbers.tolist())) < len(windows) else None
    names = windows.classes
    y = [names[int(one)] for one in windows.y] if names else table_labels(windows)

    conditions = windows.conditions

    def read(groups: "npt.NDArray[Any] | None") -> "Cues":
        return cues(
            torch.from_numpy(windows.x),
            y,
            conditions,
            groups=groups,
            mask=lengths if window is None else None,
            classes=bool(names),
            seed=seed,
        )

    with console.status(f"reading the label from {len(windows)} windows"):
        try:
            found = read(groups)
            why = None
            if groups is not None and leave_out is None:
                why = emptied_level(groups_of(groups, len(windows)), targets_of(y, len(windows), bool(names)))
        except TooFewGroupsError as few:
            why = str(few)
        if why is not None:
            why = why.replace("groups", together, 1)
            assumed.append(f"single windows are left out, not whole {together}: {why}. {BOTH_SIDES}")
            found = read(None)
    if where:
        assumed.append(f"rows of the table: {', '.join(where)}")
    found = dataclasses.replace(found, notes=(*found.notes, *assumed))
    if json:
        print_json(found.to_dict())
    else:
        told = in_options_of(cues_in_recordings, str(found), begins=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)
