"""Trained models on disk: safetensors with the spec as JSON in its header; no pickle is ever loaded."""

import json
from pathlib import Path

import safetensors
import safetensors.torch

from crest.files import whole_file
from crest.lab.model import Model
from crest.lab.runs.spec import RunSpec


def save_checkpoint(path: Path, model: Model, spec: RunSpec) -> None:
    """Write weights, buffers and the spec in one file, which appears only when it is whole."""
    about = {
        "id": spec.id,
        "spec": json.dumps(spec.to_dict(), sort_keys=True),
        "channels": str(model.encoder.channels),
    }
    with whole_file(path) as file:
        file.write(safetensors.torch.save(dict(model.state_dict()), metadata=about))


def load_checkpoint(path: Path) -> tuple[Model, RunSpec]:
    """The model, in evaluation mode, and its spec."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        spec, channels = RunSpec.from_dict(json.loads(about["spec"])), int(about["channels"])
    except FileNotFoundError:
        raise
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a whole checkpoint of crest: {error}") from error
    if about.get("id") != spec.id:
        raise ValueError(
            f"{path} is of {about.get('id')}, and its spec is {spec.id} by now: a default has changed since"
        )
    model = spec.model(channels)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"{path} does not hold the weights of its spec: {error}") from error
    return model.eval(), spec
