"""`crest audit`: somebody's trained model and recordings on disk, and what its answer follows."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.output import require_output
from crest.lab.cli.own_model import fill_weights, own_model, takes_channels_first, valid_steps_for
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
    weights: Path | None = None,
    channels_first: Annotated[bool | None, Parameter(negative="--no-channels-first")] = None,
    classes: bool = False,
    class_names: Annotated[list[str] | None, Parameter(consume_multiple=True), Behind("classes")] = None,
    features: str | None = None,
    no_features: bool = False,
    head: str | None = None,
    invariant: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    unsafe_pickle: bool = False,
    trajectories: int = 128,
    out: Path = PAGE,
    json: bool = False,
) -> None:
    """What does the prediction of a trained model follow? Write a page that says so.

    Parameters
    ----------
    model
        Where the model is made, as file.py:function or package.module:function. The function takes nothing and returns
        a torch.nn.Module; the file is run, so it must be yours.
    data
        A table (.csv or .parquet) with a row for each recording.
    window
        Samples per window: the length that the model was trained on. Default: whole recordings. Where these differ in
        length, zeros are put behind the shorter ones, and the model's forward must take lengths or mask.
    hop
        Samples from one window to the next. Default: the window.
    weights
        Weights of the model as .safetensors. Left out if the function returns a trained model.
    channels_first
        Whether the model takes (B, C, T). Default: tried out.
    classes
        The labels are classes: whole numbers from 0. Labels that are names are classes anyway.
    class_names
        Names of the classes in the order of the model's outputs. Default: by alphabet.
    features
        Name of the module that gives the features. Default: found.
    no_features
        Do not look at the pooling interface.
    head
        Name of the module that reads the pooled vector. Default: found.
    invariant
        What the prediction must not depend on: offset, drift, tones, gain, colour, rate, surroundings. Default: offset, drift
        and tones.
    unsafe_pickle
        Also load weights from a pickle made by torch.save, restricted to tensors (weights_only).
    trajectories
        How many windows are looked at.
    out
        The page, as .html.
    json
        Print what was found as JSON.
    """
    import torch

    from crest._audit import audit
    from crest._base.arguments import require
    from crest.exchange import ExchangeSettings
    from crest.lab.cli.own_windows import own_windows

    words_aside(json)
    require("trajectories", trajectories, "be a whole number, 2 or more")
    if no_features and (features is not None or head is not None):
        raise ValueError(
            "no_features must come without --features and --head, which name the pooling interface"
        )
    if hop is not None and window is None:
        raise ValueError("hop must come with --window: without it, whole recordings are looked at")
    if class_names is not None and len(set(class_names)) < max(2, len(class_names)):
        raise ValueError(
            f"class_names must be different names with spaces between, two or more, got {' '.join(class_names)!r}"
        )
    require_output("out", out, [".html"])
    with console.status("making the model"):
        made = own_model(model)
        if weights is not None:
            fill_weights(made, weights, unsafe_pickle)
    with console.status("reading the recordings"):
        options = recordings.options(window=window, hop=hop, classes=class_names)
        windows, lengths, assumed = own_windows(data, recordings.signals, options, whole=window is None)
    # Windows of all recordings, and not of the first ones alone.
    rows = torch.linspace(0, len(windows) - 1, min(trajectories, len(windows))).round().long()
    x = torch.from_numpy(windows.x)[rows]
    if classes and (windows.y != windows.y.round()).any():
        raise ValueError(
            f"label must be a column of classes with --classes, whole numbers from 0, got {float(windows.y.min()):g} to "
            f"{float(windows.y.max()):g} in {recordings.label!r}"
        )
    y = torch.from_numpy(windows.y)[rows].to(torch.int64 if classes or windows.classes else torch.float32)
    mask = valid_steps_for(made, lengths)
    mask = None if mask is None else mask[rows]
    channels_first = takes_channels_first(made, x[:2], None if mask is None else mask[:2], channels_first)
    with console.status(f"asking the model about {len(x)} windows"):
        found = audit(
            made,
            (x.mT.contiguous() if channels_first else x, y, mask),
            channels_first=channels_first,
            conditions=None
            if recordings.condition is None
            else windows.extra["condition"][rows.numpy()].tolist(),
            events=None if windows.events is None else torch.from_numpy(windows.events)[rows],
            features=False if no_features else features,
            head=head,
            invariant=invariant,
            exchange=ExchangeSettings(trajectories=max(len(x), 2)),
        ).named(channels=windows.channels, classes=windows.classes or None)
    if weights is None:
        assumed.append(f"no --weights were given: the model is as {model} makes it")
    found = dataclasses.replace(found, notes=(*found.notes, *assumed))
    if json:
        print_json(found.to_dict())
    else:
        told = in_options_of(audit_model, str(found), begins=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    place = found.to_html(out, title=f"Audit of {model}")
    console.print(f"Page, with an explorer of where the model reads: {place}", markup=False, soft_wrap=True)
