"""The user's model for the command line: made by a function of theirs, with weights on disk, in its layout."""

# ruff: noqa: PLC0415

import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


def own_model(source: str) -> "nn.Module":
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


def with_weights(model: "nn.Module", path: Path, unsafe_pickle: bool) -> "nn.Module":
    """The model with the weights on disk; a ValueError tells why they are not its own.

    Those of a repaired model say how it was built: it is a copy of the model, with that front and that pooling.
    """
    from crest._repair.saving import built_as_saved, is_repaired

    if path.suffix == ".safetensors" and is_repaired(path):
        try:
            return built_as_saved(path, model)[0]
        except ValueError as error:
            raise ValueError(
                f"weights must be those of the model after its repair, got {str(path)!r}: {error}. If the repair had fronts of your own, "
                "let the function of the model return crest.Repaired.load(folder, model, fronts={...}).model, without weights here"
            ) from error
    try:
        model.load_state_dict(_weights(path, unsafe_pickle), strict=True)
    except RuntimeError as error:
        words = "; ".join(line.strip() for line in str(error).splitlines()[1:4])
        raise ValueError(
            f"weights must be those of the model, got others in {str(path)!r}: {words}"
        ) from error
    return model


def _weights(path: Path, unsafe_pickle: bool) -> "dict[str, Tensor]":
    """The weights on disk; a pickle only where somebody asks for it, and then tensors alone."""
    import safetensors
    import safetensors.torch

    if not path.is_file():
        raise ValueError(f"weights must be a file that exists, got {str(path)!r}")
    if path.suffix != ".safetensors":
        if not unsafe_pickle:
            raise ValueError(
                f"weights must be .safetensors, got {str(path)!r}: a pickle can run code. If you trust it, convert it: "
                "safetensors.torch.save_model(model, 'w.safetensors'), or pass --unsafe-pickle, which loads a state dict of tensors "
                "and nothing else"
            )
        return _pickled(path)
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"weights must be a whole safetensors file, got {str(path)!r}: {error}") from error


def _pickled(path: Path) -> "dict[str, Tensor]":
    import torch

    whole = (
        "save model.state_dict() where you trained it, torch.save(model.state_dict(), 'w.pt'), and give that"
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a scripted model: refused in the next moment
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"weights must be a state dict of tensors, got {str(path)!r}, which is not one (a whole model?): {whole}"
        ) from error
    except OSError as error:
        raise ValueError(
            f"weights must be a file that can be read, got {str(path)!r}: {error.strerror or error}"
        ) from error
    except Exception as error:  # a damaged file fails in any way
        raise ValueError(
            f"weights must be a state dict of tensors, got {str(path)!r}, which cannot be read ({_line(error)}): {whole}"
        ) from error
    if not isinstance(loaded, dict):
        raise ValueError(
            f"weights must be a state dict of tensors, got {type(loaded).__name__} in {str(path)!r}: {whole}"
        )
    # Under `_extra_state` torch lets a module keep anything.
    inside = [
        key
        for key, value in loaded.items()
        if isinstance(value, dict) and not str(key).endswith("_extra_state")
    ]
    if inside:
        raise ValueError(
            f"weights must be a state dict of tensors, got a dict of {', '.join(map(str, loaded))} in {str(path)!r}: save the "
            f"state dict alone (is it under {inside[0]!r}?)"
        )
    return loaded


class _OtherAnswerError(ValueError):
    """The model answers, but not with one tensor of a row for each trajectory."""


def takes_channels_first(
    model: "nn.Module", x: "Tensor", mask: "Tensor | None" = None, said: bool | None = None
) -> bool:
    """Whether the model takes (B, C, T): the layout that it accepts; the recordings' own if it takes both.

    Args:
        model: the user's.
        x: (B, T, C), a few windows.
        mask: (B, T), if it is handed over.
        said: what its owner says; then only that is tried.
    """
    tried = {first: x.mT.contiguous() if first else x for first in (False, True) if said in (None, first)}
    refusals: list[str] = []
    others: list[_OtherAnswerError] = []
    for first, inputs in tried.items():
        try:
            refusal = _refusal(model, inputs, mask)
        except _OtherAnswerError as error:
            others.append(error)
            continue
        if refusal is None:
            return first
        refusals.append(refusal)
    if others:
        raise others[0]
    shapes = [
        f"{'(B, C, T)' if first else '(B, T, C)'} = {tuple(inputs.shape)}" for first, inputs in tried.items()
    ]
    raise ValueError(
        f"model must take windows {' or '.join(shapes)}; it failed with {' and '.join(dict.fromkeys(refusals))}. Check that "
        "--window is the length that it was trained on, and that --columns are its channels"
    )


def _refusal(model: "nn.Module", inputs: "Tensor", mask: "Tensor | None") -> str | None:
    """What the model raises for these inputs, in a line; None if it answers. An _OtherAnswerError tells of a wrong answer."""
    import torch

    from crest.strangers.model import StrangerModel

    try:
        with torch.no_grad():
            answer = StrangerModel(model).raw(inputs, mask)
    except Exception as error:  # somebody's code may raise anything
        return _line(error)
    shape = getattr(answer, "shape", None)
    if shape is None or len(shape) > 2:
        got = type(answer).__name__ if shape is None else tuple(shape)
        raise _OtherAnswerError(
            f"model must return its predictions (B,), (B, 1) or (B, K) in one tensor, got {got}: let its function return a module "
            "that calls this one and returns such a tensor"
        )
    return None


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def valid_steps_for(model: "nn.Module", lengths: "Tensor") -> "Tensor | None":
    """The mask (N, T) of trajectories of these lengths, if they differ or the model needs it; else None.

    Raises:
        ValueError: The lengths differ, and the model takes neither lengths nor a mask.
    """
    import torch

    from crest.strangers.signature import length_argument, length_beside_mask, needs_mask, takes_mask_by_name

    shortest, longest = int(lengths.min()), int(lengths.max())
    by_length = length_argument(model) is not None
    if shortest == longest and not by_length and not needs_mask(model):
        return None
    if not by_length and not takes_mask_by_name(model) and length_beside_mask(model) is None:
        raise ValueError(
            f"window must be given if recordings differ in length, got {shortest} to {longest} samples: pass the length that the "
            f"model was trained on, {shortest} or less. Without it, the model's forward must take lengths or mask"
        )
    return torch.arange(longest) < lengths.unsqueeze(1)
