"""Trained models on disk: safetensors with the spec as JSON in its header; no pickle is ever loaded."""

import json
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from crest._base.files import whole_file
from crest._base.plain_json import read_json
from crest.lab.encoders import OWN
from crest.lab.model import Model
from crest.lab.runs.combination import asks_for_signals
from crest.lab.runs.spec import RunSpec


def save_checkpoint(path: Path, model: Model, spec: RunSpec) -> None:
    """Write weights, buffers and the spec in one file, which appears only when it is whole."""
    about = {
        "id": spec.id,
        "spec": json.dumps(spec.to_dict(), sort_keys=True),
        "channels": str(model.encoder.channels),
        "outputs": str(model.outputs),
        **({"budget": repr(model.readout.budget)} if asks_for_signals(spec.readout_options) else {}),
    }
    with whole_file(path) as file:
        file.write(safetensors.torch.save(dict(model.state_dict()), metadata=about))


def load_checkpoint(path: Path, *, own_code: bool = False) -> tuple[Model, RunSpec]:
    """The model, in evaluation mode, and its spec.

    Args:
        path: of the file.
        own_code: whether a checkpoint of an encoder in your own Python file may run that file.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        spec, channels = RunSpec.from_dict(read_json(about["spec"])), int(about["channels"])
        if spec.encoder == OWN and not own_code:
            raise ValueError(
                f"its encoder is in {spec.encoder_options['place']!r}, which own_code=True would run: pass it if you trust that code"
            )
        # Files from before there were classifiers do not say it.
        outputs = int(about.get("outputs", 1))
        budget = float(about["budget"]) if asks_for_signals(spec.readout_options) else None
        expected = _shapes(spec, channels, outputs, budget)
    except FileNotFoundError:
        raise
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a whole checkpoint of crest: {error}") from error
    if about.get("id") != spec.id:
        raise ValueError(
            f"{path} is of {about.get('id')}, and its spec is {spec.id} by now: a default has changed since"
        )
    found = {name: tuple(value.shape) for name, value in state.items()}
    if found != expected:
        wrong = sorted(name for name in found.keys() | expected if found.get(name) != expected.get(name))
        differences = [f"{name} {found.get(name)} instead of {expected.get(name)}" for name in wrong[:3]]
        raise ValueError(f"{path} does not hold the weights of its spec: {'; '.join(differences)}")
    model = spec.model(channels, outputs, budget=budget)
    model.load_state_dict(state)
    return model.eval(), spec


def _shapes(spec: RunSpec, channels: int, outputs: int, budget: float | None) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights and buffers that the spec asks for, without the memory for them."""
    try:
        with torch.device("meta"):
            state = spec.model(channels, outputs, budget=budget).state_dict()
    except (RuntimeError, OverflowError) as error:
        raise ValueError(f"a model of this size cannot be made: {error}") from error
    return {name: tuple(value.shape) for name, value in state.items()}
