import dataclasses
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.torch
import torch

from crest.lab.encoders import ENCODERS
from crest.lab.evaluation import predict
from crest.lab.model import Model
from crest.lab.runs.checkpoint import load_checkpoint, save_checkpoint
from crest.lab.runs.spec import RunSpec
from crest.lab.training import Schedule, fit
from crest.readouts import READOUTS, REFERENCES, CrestConfig
from toy import tiny_spec, toy


def trained(**changes: Any) -> tuple[Model, RunSpec]:
    spec = tiny_spec(**changes)
    model = spec.model_for(toy(16))
    fit(model, toy(16), schedule=Schedule(epochs=1, batch=8), seed=spec.seed)
    return model, spec


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize(
    "changes",
    [
        *({"readout": name} for name in [*READOUTS, *REFERENCES]),
        *({"encoder": name} for name in ENCODERS),
        {"readout_options": {"budget": 0.25, "config": {"sigma": 4.0}}},
        {"readout_options": {"budget": "signals", "config": {"sigma": 4.0}}},
        {"readout_options": {"budget": "half signals"}},
        {"encoder_options": {"width": 8}, "readout": "attention"},
    ],
    ids=str,
)
def test_the_same_predictions_come_back_to_the_bit(path: Path, changes: dict[str, Any]) -> None:
    model, spec = trained(**changes)
    save_checkpoint(path, model, spec)
    restored, again = load_checkpoint(path)
    assert again == spec
    assert not any(part.training for part in restored.modules())
    assert getattr(restored.readout, "budget", None) == getattr(model.readout, "budget", None)
    assert torch.equal(predict(restored, toy(9, seed=4)), predict(model, toy(9, seed=4)))
    assert restored.state_dict().keys() == model.state_dict().keys()
    for name, value in restored.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
        assert value.dtype == model.state_dict()[name].dtype


def test_loading_leaves_torchs_random_state_alone(path: Path) -> None:
    save_checkpoint(path, *trained())
    before = torch.get_rng_state()
    load_checkpoint(path)
    assert torch.equal(torch.get_rng_state(), before)


def test_anyone_can_read_the_file_without_crest(path: Path) -> None:
    model, spec = trained()
    save_checkpoint(path, model, spec)
    assert safetensors.torch.load_file(path).keys() == model.state_dict().keys()
    with safetensors.safe_open(path, framework="pt") as file:
        about = file.metadata()
    assert json.loads(about["spec"]) == spec.to_dict()
    assert about["channels"] == "2"


class Malicious:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def test_a_pickle_is_refused_and_not_executed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "executed"
    for write in (
        lambda: path.write_bytes(pickle.dumps(Malicious(trace))),
        lambda: torch.save(Malicious(trace), path),
    ):
        write()
        with pytest.raises(ValueError, match=rf"{path} is not a whole checkpoint of crest"):
            load_checkpoint(path)
        assert not trace.exists()
    with path.open("rb") as file:
        torch.load(file, weights_only=False)
    assert trace.exists(), "the trap works"


def test_no_pickle_is_used_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a pickle was touched")

    model, spec = trained()
    for module, name in [
        (torch, "load"),
        (torch, "save"),
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (pickle, "dump"),
        (pickle, "dumps"),
    ]:
        monkeypatch.setattr(module, name, forbidden)
    save_checkpoint(path, model, spec)
    assert load_checkpoint(path)[1] == spec


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, -1])
def test_a_truncated_file_is_refused_by_name(path: Path, kept: float) -> None:
    save_checkpoint(path, *trained())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=rf"{path} is not a whole checkpoint of crest"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "about",
    [
        None,
        {"channels": "2"},
        {"spec": "{}", "channels": "2"},
        {"spec": "not json", "channels": "2"},
        {"spec": json.dumps({**tiny_spec().to_dict(), "readout": "median"}), "channels": "2"},
        {"spec": json.dumps({**tiny_spec().to_dict(), "speed": 1}), "channels": "2"},
        {"spec": json.dumps(tiny_spec().to_dict())},
        {"spec": json.dumps(tiny_spec().to_dict()), "channels": "two"},
        {"spec": json.dumps(tiny_spec().to_dict()), "channels": "-2"},
        {"spec": json.dumps(tiny_spec().to_dict()), "channels": "9" * 40},
        {"spec": "[" * 100_000, "channels": "2"},
        {"spec": "[1, 2]", "channels": "2"},
        {"spec": "null", "channels": "2"},
        *(
            {"spec": json.dumps({**tiny_spec().to_dict(), name: value}), "channels": "2"}
            for name, value in [
                ("sizes", 3),
                ("schedule", "long"),
                ("measures", 3),
                ("encoder", ["gru"]),
                ("encoder_options", 3),
                ("encoder_options", {"width": 10**30}),
                ("encoder_options", {"width": None}),
                ("readout_options", {"window": {}}),
                ("system_options", {"teeth": "many"}),
                ("seed", 2.5),
                ("regime", {}),
            ]
        ),
    ],
)
def test_safetensors_of_somebody_else_are_refused_by_name(path: Path, about: dict[str, str] | None) -> None:
    safetensors.torch.save_file({"weight": torch.zeros(3)}, path, metadata=about)
    with pytest.raises(ValueError, match=rf"{path} is not a whole checkpoint of crest"):
        load_checkpoint(path)


def test_weights_that_do_not_fit_the_spec_are_refused(path: Path) -> None:
    model, _ = trained(encoder_options={"width": 8})
    save_checkpoint(path, model, tiny_spec())
    with pytest.raises(
        ValueError, match=r"does not hold the weights of its spec: .* \(8,.* instead of \(32,"
    ):
        load_checkpoint(path)


def test_a_missing_file_is_a_missing_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors"):
        load_checkpoint(path)


def test_a_failed_write_leaves_the_old_file_and_no_part(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, spec = trained()
    save_checkpoint(path, model, spec)
    before = path.read_bytes()

    def broken(*arguments: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="no space left"):
        save_checkpoint(path, spec.model(2), spec)
    assert path.read_bytes() == before
    assert [part.name for part in path.parent.iterdir()] == [path.name]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save_checkpoint(tmp_path / "nowhere" / "model.safetensors", *trained())


def test_a_checkpoint_is_refused_once_a_default_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny_spec(readout="crest")
    save_checkpoint(tmp_path / "a.safetensors", spec.model(3), spec)
    changed = dataclasses.replace(CrestConfig(), dilation=5)
    monkeypatch.setattr("crest.lab.runs.spec.crest_constants", lambda changes: changed)
    with pytest.raises(ValueError, match=r"a.safetensors is of .* a default has changed since"):
        load_checkpoint(tmp_path / "a.safetensors")
