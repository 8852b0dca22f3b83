"""A repaired model on disk: weights as safetensors with its build in the header, numbers as JSON; never a pickle."""

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from crest._base.extras import missing_extra
from crest._base.files import whole_file
from crest._repair.structure import Structure

WEIGHTS = "model.safetensors"
"""The name of the file with the weights."""
NUMBERS = "repaired.json"
"""The name of the file with the numbers."""


def save_weights(folder: Path, model: nn.Module, structure: Structure, numbers: Mapping[str, Any]) -> None:
    """Write the weights and buffers with the build, and the numbers; each file appears only when it is whole."""
    safetensors = _safetensors()
    state = model.state_dict()
    others = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if others:
        raise ValueError(
            f"model must have a state of tensors alone, got {others[0]!r}, which safetensors cannot hold"
        )
    # Copies: safetensors refuses tensors that share memory, as tied weights do.
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in state.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / WEIGHTS) as file:
        file.write(safetensors.torch.save(tensors, metadata={"structure": structure.written()}))
    with whole_file(folder / NUMBERS) as file:
        file.write((json.dumps(numbers, indent=2, allow_nan=False) + "\n").encode())


def load_weights(
    folder: Path, model: nn.Module, fronts: Mapping[str, nn.Module] | None = None
) -> tuple[nn.Module, Structure]:
    """A copy of the model, built as the file says and with its weights, in evaluation mode; and how it was built."""
    path = folder / WEIGHTS
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: Repaired.save writes it")
    return built_as_saved(path, model, fronts)


def built_as_saved(
    path: Path, model: nn.Module, fronts: Mapping[str, nn.Module] | None = None
) -> tuple[nn.Module, Structure]:
    """The same from the file with the weights, whatever its name."""
    safetensors = _safetensors()
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        structure = Structure.read(about["structure"])
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a repaired model: {error}") from error
    built = structure.build(copy.deepcopy(model), copy.deepcopy(dict(fronts or {})))
    try:
        built.load_state_dict(state)
    except RuntimeError as error:
        words = " ".join(str(error).split())
        raise ValueError(f"model must have the build of the one that was repaired: {words}") from error
    return built.eval(), structure


def is_repaired(path: Path) -> bool:
    """Whether a file of weights is one that `save_weights` wrote; no file, or another, is not."""
    safetensors = _safetensors()
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return "structure" in (file.metadata() or {})
    except (safetensors.SafetensorError, OSError):
        return False


def finite(value: Any) -> Any:
    """The same lists and dicts, with None for numbers that JSON does not know.

    Example:
        >>> finite({"a": [1.0, float("nan")], "b": (2,)})
        {'a': [1.0, None], 'b': [2]}
    """
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _safetensors() -> Any:
    try:
        import safetensors  # noqa: PLC0415
        import safetensors.torch  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(missing_extra("saving a repaired model", "safetensors", "lab")) from error
    return safetensors
