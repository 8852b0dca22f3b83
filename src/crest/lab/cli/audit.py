"""`crest audit`: a trained model and recordings on disk, and what the predictions follow."""

# ruff: noqa: PLC0415

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.output import replacing, require_output
from crest.lab.cli.own_model import own_model, takes_channels_first, valid_steps_for, with_weights
from crest.lab.cli.recordings import DEFAULT_FLAGS, RecordingFlags
from crest.lab.cli.wording import Behind, in_options_of

PAGE = Path("audit.html")


def audit_model(
    model: str,
    /,
    *,
    data: Annotated[Path, Behind("table"), Behind("batches")],
    window: int | None = None,
    hop: int | None = None,
    recordings: RecordingFlags = DEFAULT_FLAGS,
    parts: Annotated[list[Literal["train", "id", "ood"]] | None, Parameter(consume_multiple=True)] = None,
    where: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    weights: Path | None = None,
    channels_first: Annotated[bool | None, Parameter(negative="--no-channels-first")] = None,
    features: str | None = None,
    no_features: bool = False,
    head: str | None = None,
    invariant: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    id_error: float | None = None,
    intervals_over: Annotated[Literal["recording", "window"], Behind("groups")] = "recording",
    unsafe_pickle: bool = False,
    trajectories: int = 128,
    output: Path = PAGE,
    out: Annotated[Path | None, Parameter(show=False)] = None,
    json: bool = False,
) -> None:
    """What does the prediction of a trained model follow? Write a page that says so.

    Parameters
    ----------
    model
        Function that makes the model, as file.py:function or package.module:function. It takes no arguments and returns
        a torch.nn.Module. crest runs the file, so use only code that you trust.
    data
        A table (.csv or .parquet) with a row for each recording.
    window
        Samples per window: the length that the model was trained on. Default: the window of --settings, else whole recordings. If recordings
        differ in length, the shorter ones are padded with zeros, and the model's forward must take lengths or mask.
    hop
        Samples from one window to the next. Default: the window.
    parts
        With --split: which rows to look at. Default: id, or ood if no row is id.
    where
        Rows of the table to look at, as column=value, such as speed=900. Repeat it for more values or columns. Default: all rows.
    weights
        File with the model's weights, as .safetensors. The weights that `Repaired.save` wrote work too. Leave it out if the function
        returns a trained model.
    channels_first
        Whether the model takes (B, C, T). By default both layouts are tried.
    features
        Name of the module that gives the features. By default it is found.
    no_features
        Do not look inside the model for its features and its pooling.
    head
        Name of the module that reads the pooled vector. By default it is found.
    invariant
        What the prediction must not depend on: offset, drift, tones, gain, colour, rate, surroundings. Default: offset, drift
        and tones.
    id_error
        Error of the model on held-out data like the training data, if the table has other data. The audit then says what to do if the model fails here.
    intervals_over
        What the bootstrap of the intervals resamples: whole recordings, whole groups of --group, or single windows. Windows of one recording
        are alike, so intervals over windows may be too narrow.
    unsafe_pickle
        Also load weights from a pickle made by torch.save, restricted to tensors (weights_only).
    trajectories
        How many windows to look at.
    output
        Where to write the page, as .html.
    out
        Old name of --output, until version 0.3.
    json
        Print what was found as JSON.
    """
    import torch

    from crest._audit import audit
    from crest._audit.recorded import in_table_labels
    from crest._base.arguments import require
    from crest._base.recorded import table_labels
    from crest.exchange import ExchangeSettings
    from crest.lab.cli.own_windows import own_windows

    words_aside(json)
    require("trajectories", trajectories, "be a whole number, 2 or more")
    if no_features and (features is not None or head is not None):
        raise ValueError(
            "no_features must come without --features and --head, which name the pooling interface"
        )
    window = recordings.length(window)
    if hop is not None and window is None:
        raise ValueError("hop must come with --window: without a window, each recording is one")
    if out is not None:
        console.print("--out is deprecated and will be removed in version 0.3: use --output", markup=False)
        output = out
    require_output("output", output, [".html"])
    with console.status("making the model"):
        made = own_model(model)
        if weights is not None:
            made = with_weights(made, weights, unsafe_pickle)
    with console.status("reading the recordings"):
        options = recordings.options(window=window, hop=hop)
        windows, lengths, assumed, names, rate = own_windows(
            data,
            recordings.signals,
            options,
            whole=window is None,
            parts=parts or ("id",),
            where=where or (),
        )
    # Windows of all recordings, and not of the first ones alone.
    rows = torch.linspace(0, len(windows) - 1, min(trajectories, len(windows))).round().long()
    x = torch.from_numpy(windows.x)[rows]
    y = torch.from_numpy(windows.y)[rows].to(torch.int64 if windows.classes else torch.float32)
    mask = valid_steps_for(made, lengths)
    mask = None if mask is None else mask[rows]
    channels_first = takes_channels_first(made, x[:2], None if mask is None else mask[:2], channels_first)
    conditions = windows[rows.numpy()].conditions
    together = windows.extra["recording" if options.group is None else "group"][rows.numpy()].tolist()
    groups = _groups(together, intervals_over, assumed, options.group)
    with console.status(f"running the model on {len(x)} windows"):
        found = audit(
            made,
            (x.mT.contiguous() if channels_first else x, y, mask),
            channels_first=channels_first,
            conditions=conditions,
            groups=groups,
            id_error=id_error,
            events=None if windows.events is None else torch.from_numpy(windows.events)[rows],
            features=False if no_features else features,
            head=head,
            invariant=invariant,
            exchange=ExchangeSettings(trajectories=max(len(x), 2)),
        ).named(
            channels=windows.channels,
            classes=windows.classes or None,
            trajectories=[names[row] for row in rows.tolist()],
            sample_rate=rate,
        )
    found = in_table_labels(found, table_labels(windows)[rows])
    assumed += _told_of_rows(len(x), len(windows), where or ())
    assumed += (
        [] if weights is not None else [f"no --weights: the model has the weights that {model} gives it"]
    )
    found = dataclasses.replace(found, notes=(*found.notes, *assumed), brought=len(windows))
    if json:
        print_json(found.to_dict())
    else:
        # Before it is wrapped: an option is longer, or shorter, than the argument that it stands for.
        told: dict[str, Any] = {
            name: tuple(in_options_of(audit_model, one, begins=False) for one in getattr(found, name))
            for name in ("reasons", "advice", "notes")
        }
        console.print(str(dataclasses.replace(found, **told)), markup=False, highlight=False, soft_wrap=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as replaced:
        place = found.to_html(output, title=f"Audit of {model}")
    console.print(
        f"Page, with an explorer of where the model reads: {place}{replaced}", markup=False, soft_wrap=True
    )


def _told_of_rows(looked_at: int, there: int, where: Sequence[str]) -> list[str]:
    """Which windows were looked at, if not all."""
    told = [f"rows of the table: {', '.join(where)}"] if where else []
    if looked_at < there:
        told.append(
            f"{looked_at} of {there} windows were looked at, spread evenly over the recordings. Pass --trajectories {there} "
            "to look at all"
        )
    return told


def _groups(
    together: list[int] | list[str], drawn: str, assumed: list[str], column: str | None
) -> list[int] | list[str] | None:
    """The recording or group of each window, which the bootstrap draws as a whole; None if windows are drawn one by one.

    Args:
        together: of each window that is looked at.
        drawn: what was asked for.
        assumed: what was done is added to these.
        column: of the groups; None if they are recordings.
    """
    of = "" if column is None else f" of {column!r}"
    what = "recording" if column is None else "group"
    count = len(set(together))
    if drawn == "window" or count == len(together):
        return None
    if count < 2:
        assumed.append(
            f"intervals are over windows, because all windows are from one {what}{of}: they may be too narrow"
        )
        return None
    assumed.append(
        f"intervals are over {count} {what}s{of}, because windows of one {what} are alike. Pass --intervals-over window to change that"
    )
    return together
