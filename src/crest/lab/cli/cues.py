"""`crest cues`: recordings on disk, and what their label can be read from before any network."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.recordings import DEFAULT_FLAGS, RecordingFlags
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crest._cues import Cues


def cues_in_recordings(
    table: Annotated[Path, Behind("x")],
    /,
    *,
    window: int | None = None,
    hop: int | None = None,
    recordings: RecordingFlags = DEFAULT_FLAGS,
    classes: bool = False,
    leave_out: Annotated[Literal["recording", "window"], Behind("groups")] = "recording",
    seed: int = 0,
    json: bool = False,
) -> None:
    """Say what the label can be read from, before any network: offset, drift, tones, gain, colour, or what is brief.

    Parameters
    ----------
    table
        A table (.csv or .parquet) with a row for each recording.
    window
        Samples per window. Default: whole recordings, which may differ in length.
    hop
        Samples from one window to the next. Default: the window.
    classes
        The labels are classes, though they are numbers. Labels that are names are classes anyway.
    leave_out
        What is left out when a label is read: the whole recording, since its windows are alike, or only the window.
    seed
        Of the readers and of the intervals.
    json
        Print what was found as JSON.
    """
    import torch

    from crest._cues import cues
    from crest._cues.inputs import TooFewGroupsError
    from crest.lab.cli.own_windows import own_windows

    words_aside(json)
    if hop is not None and window is None:
        raise ValueError("hop must come with --window: without it, whole recordings are looked at")
    with console.status("reading the recordings"):
        options = recordings.options(window=window, hop=hop)
        windows, lengths, assumed = own_windows(table, recordings.signals, options, whole=window is None)
    numbers = windows.extra["recording"]
    groups = numbers if leave_out == "recording" and len(set(numbers.tolist())) < len(windows) else None
    names = windows.classes
    y = [names[int(one)] for one in windows.y] if names else torch.from_numpy(windows.y)

    def read(groups: "npt.NDArray[np.int64] | None") -> "Cues":
        return cues(
            torch.from_numpy(windows.x),
            y,
            None if recordings.condition is None else windows.extra["condition"].tolist(),
            groups=groups,
            mask=lengths if window is None else None,
            classes=classes or bool(names),
            seed=seed,
        )

    with console.status(f"reading the label from {len(windows)} windows"):
        try:
            found = read(groups)
        except TooFewGroupsError as few:
            why = str(few).replace("groups", "recordings", 1)
            assumed.append(f"windows are left out one by one, and not whole recordings: {why}")
            found = read(None)
    found = dataclasses.replace(found, notes=(*found.notes, *assumed))
    if json:
        print_json(found.to_dict())
    else:
        told = in_options_of(cues_in_recordings, str(found), begins=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)
