"""`crest audit`: somebody's trained model and recordings on disk, and what its answer follows."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.output import require_output
from crest.lab.cli.recordings import time_column
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    from torch import Tensor, nn

PAGE = Path("audit.html")


def audit_model(
    model: str,
    /,
    *,
    data: Annotated[Path, Behind("table")],
    window: int,
    label: str = "label",
    weights: Path | None = None,
    signals: Annotated[Path | None, Behind("folder")] = None,
    sample_rate: float | None = None,
    hop: int | None = None,
    condition: str | None = None,
    events: str | None = None,
    key: str | None = None,
    columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    time: str | None = None,
    no_time: bool = False,
    resample: float | None = None,
    channels_first: Annotated[bool | None, Parameter(negative="--no-channels-first")] = None,
    classes: bool = False,
    features: str | None = None,
    no_features: bool = False,
    head: str | None = None,
    unsafe_pickle: bool = False,
    trajectories: int = 256,
    out: Path = PAGE,
    json: bool = False,
) -> None:
    """Does a trained model read the events or the background? Write a page that says so.

    Parameters
    ----------
    model
        Where the model is made, as file.py:function or package.module:function. The function takes nothing and returns
        a torch.nn.Module; the file is run, so it must be yours.
    data
        A table (.csv or .parquet) with a row for each recording.
    window
        Samples per window: the length that the model was trained on.
    label
        Column of the table with the target.
    weights
        Weights of the model as .safetensors. Left out if the function returns a trained model.
    signals
        Folder with the signals. Default: the table's own.
    sample_rate
        Samples per second. Default: as the files say, if they do; the audit does not depend on it.
    hop
        Samples from one window to the next. Default: the window.
    condition
        Column with the operating condition; errors are then shown by condition.
    events
        Column with the event steps, where somebody knows them.
    key
        Which array of .npz and .mat files, where they hold several.
    columns
        Columns of the signals that are channels, by name or by number from 0. Default: all but the time.
    time
        Column of the signals with the time, by name or by number. Default: found out.
    no_time
        The signals have no time column.
    resample
        Samples per second that all recordings are brought to.
    channels_first
        Whether the model takes (B, C, T). Default: tried out.
    classes
        The labels are classes: whole numbers from 0. Labels that are names are classes anyway.
    features
        Name of the module that gives the features. Default: found.
    no_features
        Do not look at the pooling interface.
    head
        Name of the module that reads the pooled vector. Default: found.
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

    from crest.auditing import audit
    from crest.checks.arguments import require
    from crest.systems.recordings.gathering import Wanted, gathered_recordings
    from crest.systems.recordings.loading import joined

    words_aside(json)
    require("trajectories", trajectories, "be a whole number, 1 or more")
    if no_features and (features is not None or head is not None):
        raise ValueError(
            "no_features must come without --features and --head, which name the pooling interface"
        )
    require_output("out", out, [".html"])
    with console.status("making the model"):
        made = _made(model)
        if weights is not None:
            _fill(made, weights, unsafe_pickle)
    with console.status("reading the recordings"):
        wanted = Wanted(
            table=data, folder=signals, window=window, hop=hop, sample_rate=sample_rate, label=label, condition=condition,
            events=events, key=key, columns=columns, time=time_column(time, no_time), resample=resample,
        )  # fmt: skip
        found_there = gathered_recordings(wanted)
        # Nothing below asks for the rate, so nobody need know it.
        windows = joined(dataclasses.replace(found_there, rate=found_there.rate or 1.0, silent=[]))
    # Windows of all recordings, and not of the first ones alone.
    rows = torch.linspace(0, len(windows) - 1, min(trajectories, len(windows))).round().long()
    x = torch.from_numpy(windows.x)[rows]
    if classes and (windows.y != windows.y.round()).any():
        raise ValueError(
            f"label must be a column of classes with --classes, whole numbers from 0, got {float(windows.y.min()):g} to "
            f"{float(windows.y.max()):g} in {label!r}"
        )
    y = torch.from_numpy(windows.y)[rows].to(torch.int64 if classes or windows.classes else torch.float32)
    first = _channels_first(made, x) if channels_first is None else channels_first
    with console.status(f"asking the model about {len(x)} windows"):
        found = audit(
            made,
            (x.mT.contiguous() if first else x, y),
            channels_first=first,
            channels=windows.channels,
            conditions=None if condition is None else windows.extra["condition"][rows.numpy()].tolist(),
            events=None if windows.events is None else torch.from_numpy(windows.events)[rows],
            features=False if no_features else features,
            head=head,
            trajectories=max(len(x), 2),
        )
    if json:
        print_json(found.to_dict())
    else:
        told = in_options_of(audit_model, str(found), begins=False)
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    place = found.to_html(out, title=f"Audit of {model}")
    console.print(f"Page, with an explorer of where the model reads: {place}", markup=False, soft_wrap=True)


def _made(source: str) -> "nn.Module":
    """The model that the function at file.py:function or module:function makes."""
    from torch import nn

    from crest.lab.own_code import in_one_sentence, own_code, own_function

    function = own_function("model", own_code("model", source, Path()))
    if isinstance(function, nn.Module):
        return function.eval()
    made = in_one_sentence("model must be made without an error", function)
    if not isinstance(made, nn.Module):
        raise ValueError(
            f"model must name a function that returns a torch.nn.Module, got {type(made).__name__}"
        )
    return made.eval()


def _fill(model: "nn.Module", path: Path, unsafe_pickle: bool) -> None:
    try:
        model.load_state_dict(_weights(path, unsafe_pickle), strict=True)
    except RuntimeError as error:
        words = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise ValueError(
            f"weights must be those of the model, got others in {str(path)!r}: {words}"
        ) from error


def _weights(path: Path, unsafe_pickle: bool) -> "dict[str, Tensor]":
    """The weights on disk; a pickle only where somebody asks for it, and then tensors alone."""
    import safetensors
    import safetensors.torch
    import torch

    if not path.is_file():
        raise ValueError(f"weights must be a file that exists, got {str(path)!r}")
    if path.suffix != ".safetensors":
        if not unsafe_pickle:
            raise ValueError(
                f"weights must be .safetensors, got {str(path)!r}: a pickle can run code. Convert it where you trust it, "
                "safetensors.torch.save_model(model, 'w.safetensors'), or pass --unsafe-pickle, which loads tensors alone"
            )
        try:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # a file that is no pickle fails in any way
            raise ValueError(
                f"weights must be a state dict of tensors, got {str(path)!r}: {error}"
            ) from error
        if not isinstance(loaded, dict):
            raise ValueError(f"weights must be a state dict, got {type(loaded).__name__} in {str(path)!r}")
        return loaded
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"weights must be a whole safetensors file, got {str(path)!r}: {error}") from error


def _channels_first(model: "nn.Module", x: "Tensor") -> bool:
    """Whether the model takes (B, C, T): the layout in which it answers; the recordings' own if it takes both."""
    import torch

    def refusal(inputs: "Tensor") -> str | None:
        """What the model says against these inputs, its first line; None if it answers."""
        try:
            with torch.no_grad():
                model(inputs)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            return (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None

    last, first = refusal(x[:2]), refusal(x[:2].mT.contiguous())
    if last is not None and first is not None:
        raise ValueError(
            f"model must take windows (B, T, C) = {tuple(x[:2].shape)} or (B, C, T) = {tuple(x[:2].mT.shape)}, it takes neither: "
            f"{last}{'' if first == last else f'; {first}'}"
        )
    return first is None and last is not None
