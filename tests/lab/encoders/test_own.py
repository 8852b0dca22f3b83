import json
from pathlib import Path
from typing import Any

import pytest
import torch

from crest.lab.encoders import OwnEncoder, make_encoder
from crest.lab.model import make_model
from crest.lab.own_code import own_code
from crest.lab.runs.checkpoint import load_checkpoint, save_checkpoint
from crest.lab.runs.spec import RunSpec
from studies_made import ENCODER


def options(
    folder: Path, function: str = "make_encoder", text: str = ENCODER, steps: int = 40
) -> dict[str, Any]:
    (folder / "my_encoder.py").write_text(text)
    code = own_code("encoder", f"my_encoder.py:{function}", folder)
    return {"factory": code.name, "place": str(code.place), "content": code.content(), "steps": steps}


def test_width_and_stride_are_found_by_a_trial(tmp_path: Path) -> None:
    halved = make_encoder("own", 3, **options(tmp_path))
    assert (halved.width, halved.stride, halved.channels) == (6, 2, 3)
    assert halved.training
    assert halved(torch.zeros(4, 40, 3)).shape == (4, 20, 6)
    wide = make_encoder("own", 3, **options(tmp_path, "make_wide"))
    assert (wide.width, wide.stride) == (9, 1)


def test_steps_that_a_convolution_loses_at_its_ends_are_no_stride(tmp_path: Path) -> None:
    text = ENCODER.replace("nn.Conv1d(channels, 6, 4, stride=2, padding=1)", "nn.Conv1d(channels, 6, 17)")
    cut = make_encoder("own", 3, **options(tmp_path, text=text))
    assert cut(torch.zeros(4, 40, 3)).shape == (4, 24, 6)
    assert cut.stride == 1


def test_weights_come_from_the_seed_and_crest_counts_steps_of_the_signals(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    one, two, other = (
        make_model("own", "crest", channels=1, seed=seed, encoder_options=chosen) for seed in (0, 0, 1)
    )
    assert torch.equal(one.encoder.module.layer.weight, two.encoder.module.layer.weight)
    assert not torch.equal(one.encoder.module.layer.weight, other.encoder.module.layer.weight)
    assert one.readout.stride == 2
    assert one(torch.zeros(2, 40, 1)).shape == (2,)


MODULE = "from torch import nn\nclass Made(nn.Module):\n    def forward(self, x):\n        return {}\ndef make(channels):\n    return Made()\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MODULE.format("x.mean(1)"), r"must give features \(B, S, D\) .* got shape \(2, 3\)"),
        (MODULE.format("x.mT"), r"must give features .* got \(B, D, S\) = \(2, 3, 40\): \.mT turns the axes"),
        (MODULE.format("x.repeat(1, 2, 1)"), r".* S at most 40, got shape \(2, 80, 3\)"),
        (MODULE.format("(x, x)"), r"must give features .* got tuple"),
        (MODULE.format("x.argmax(2, keepdim=True)"), r".* as floating-point numbers, got torch\.int64"),
        (
            MODULE.format("x.nothing"),
            r"must take \(B, T, C\) = \(2, 40, 3\), got AttributeError: .* line 4\)",
        ),
        (
            "from torch import nn\ndef make(channels):\n    return nn.Conv1d(channels, 4, 3)\n",
            r"must take \(B, T, C\) = \(2, 40, 3\), got RuntimeError: .*; it takes \(B, C, T\): x\.mT inside forward turns",
        ),
        (
            "from torch import nn\ndef make(channels):\n"
            "    return nn.Sequential(nn.Conv1d(channels, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten())\n",
            r"must take \(B, T, C\) = \(2, 40, 3\), got .*; it takes \(B, C, T\): x\.mT inside forward turns the axes",
        ),
        ("def make(channels):\n    return channels\n", r"must return a torch\.nn\.Module, got int"),
        (
            "def make():\n    return 1\n",
            r"must take the number of channels, as in def make\(channels\), got make\(\)$",
        ),
        (
            "def make(channels, width):\n    return 1\n",
            r"must take the number of channels, .* got make\(channels, width\)",
        ),
    ],
)
def test_what_is_no_encoder_is_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^encoder my_encoder.py:make {message}"):
        make_encoder("own", 3, **options(tmp_path, "make", text))


def test_code_that_was_edited_or_is_gone_is_refused(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    (tmp_path / "my_encoder.py").write_text(ENCODER + "\n")
    with pytest.raises(ValueError, match=r"^encoder my_encoder\.py:make_encoder must be as it was when"):
        OwnEncoder(3, **chosen)
    (tmp_path / "my_encoder.py").unlink()
    with pytest.raises(
        ValueError, match=r"^encoder my_encoder\.py:make_encoder must be in a file that exists"
    ):
        OwnEncoder(3, **chosen)
    with pytest.raises(ValueError, match=r"^factory must be given"):
        RunSpec(system="gear", readout="mean", seed=1000, encoder="own")


def test_a_record_is_read_without_running_the_code_that_it_names(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"open({str(ran)!r}, 'w').close()\n{ENCODER}"
    spec = RunSpec(
        system="gear", readout="crest", seed=1000, encoder="own", encoder_options=options(tmp_path, text=text)
    )
    again = RunSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again.id == spec.id
    assert not ran.exists()
    model = spec.model(1)
    assert ran.exists()
    # Nor does a checkpoint, unless it is told that it may.
    save_checkpoint(tmp_path / "model.safetensors", model, spec)
    with pytest.raises(ValueError, match=r"own_code=True would run: pass it if you trust that code"):
        load_checkpoint(tmp_path / "model.safetensors")
    loaded, _ = load_checkpoint(tmp_path / "model.safetensors", own_code=True)
    assert torch.equal(loaded.head.weight, model.head.weight)


def test_an_edited_encoder_has_another_name(tmp_path: Path) -> None:
    fields = {"system": "gear", "readout": "crest", "seed": 1000, "encoder": "own"}
    here = RunSpec(**fields, encoder_options=options(tmp_path))
    (tmp_path / "moved").mkdir()
    moved = RunSpec(**fields, encoder_options=options(tmp_path / "moved"))
    edited = RunSpec(**fields, encoder_options=options(tmp_path, text=f"{ENCODER}\n"))
    assert here.id == moved.id != edited.id
    assert RunSpec(**fields, encoder_options=options(tmp_path, "make_wide")).id != here.id
