"""`crest cues`: recordings on disk, and what their label can be read from before any network."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.recordings import DEFAULT_FLAGS, RecordingFlags
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# With fewer recordings of a class, a reader that one is left out for has hardly seen it. our choice: docs/choices.md#cues
_LEAST = 2
_LEAST_OF_NUMBERS = 4


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
    from crest.lab.cli.own_windows import own_windows

    words_aside(json)
    if hop is not None and window is None:
        raise ValueError("hop must come with --window: without it, whole recordings are looked at")
    with console.status("reading the recordings"):
        options = recordings.options(window=window, hop=hop)
        windows, lengths, assumed = own_windows(table, recordings.signals, options, whole=window is None)
    numbers = windows.extra["recording"]
    groups = numbers if leave_out == "recording" and len(set(numbers.tolist())) < len(windows) else None
    is_class = classes or bool(windows.classes)
    if groups is not None and (few := _too_few(groups, windows.y, is_class)):
        assumed.append(f"windows are left out one by one, and not whole recordings: {few}")
        groups = None
    names = windows.classes
    y = [names[int(one)] for one in windows.y] if names else torch.from_numpy(windows.y)
    with console.status(f"reading the label from {len(windows)} windows"):
        found = cues(
            torch.from_numpy(windows.x),
            y,
            None if recordings.condition is None else windows.extra["condition"].tolist(),
            groups=groups,
            mask=lengths if window is None else None,
            classes=is_class,
            seed=seed,
        )
    found = dataclasses.replace(found, notes=(*found.notes, *assumed))
    if json:
        print_json(found.to_dict())
    else:
        told = in_options_of(cues_in_recordings, str(found), begins=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def _too_few(
    groups: "npt.NDArray[np.int64]", y: "npt.NDArray[np.floating[Any]]", classes: bool
) -> str | None:
    """Why recordings cannot be left out as a whole, if they cannot."""
    pairs = {(float(label), int(group)) for label, group in zip(y, groups, strict=True)}
    if not classes:
        count = len(set(groups.tolist()))
        return f"there are {count} recordings" if count < _LEAST_OF_NUMBERS else None
    counts = [sum(label == one for label, _ in pairs) for one in {label for label, _ in pairs}]
    return "a class has one recording" if min(counts) < _LEAST else None
