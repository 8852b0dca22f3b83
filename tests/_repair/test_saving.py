import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import crest
from crest import ExchangeSettings
from crest._repair.saving import NUMBERS, WEIGHTS, finite, load_weights, save_weights
from crest._repair.structure import Structure
from crest.remedies import fitting_remedies
from knocks_made import knocks, network, one_step, split
from pooled_in_a_line import Classified, Residual, Strided, made

TRAIN = split(*knocks(64, tie=0.99, seed=1000))
QUICK: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=8, block=4)}


def let_the_rule_take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `crest.repair` take this candidate, whatever its numbers are."""
    ruled = crest.choose

    def taken(candidates: Any, **options: Any) -> crest.Choice:
        return replace(ruled(candidates, **options), name=name)

    monkeypatch.setattr(sys.modules["crest._repair.repair"], "choose", taken)


@pytest.mark.parametrize("remedy", ["re-anchored", "AC coupling", "CREST"])
def test_a_repaired_model_comes_back_to_the_bit(
    remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_the_rule_take(remedy, monkeypatch)
    found = crest.repair(network(), TRAIN, fit=one_step, remedies=[remedy], **QUICK)
    assert found.changed
    found.save(tmp_path / "new" / "folder")
    fresh = network().apply(lambda part: [nn.init.zeros_(one) for one in part.parameters()])
    loaded = crest.Repaired.load(str(tmp_path / "new" / "folder"), fresh)
    x, _ = knocks(20, tie=0.0, seed=1003)
    assert torch.equal(loaded.model(x), found.model(x))
    assert not loaded.model.training
    assert not any(weight.any() for weight in fresh.parameters())
    numbers = json.loads((tmp_path / "new" / "folder" / NUMBERS).read_text())
    assert numbers["name"] == remedy
    assert numbers["candidates"][remedy]["id_error"] == found.after.id_error
    assert numbers["candidates"]["as it is"]["exchange"]["transient"] == found.before.transient
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [WEIGHTS, NUMBERS]


def test_a_front_of_ones_own_comes_back_with_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_the_rule_take("loudness", monkeypatch)
    front = nn.Conv1d(1, 1, 5, padding=2)
    before = front.weight.detach().clone()
    found = crest.repair(network(), TRAIN, fit=one_step, remedies={"loudness": front}, **QUICK)
    assert torch.equal(front.weight, before)
    assert not torch.equal(found.model.front.weight, before)
    found.save(tmp_path)
    other = nn.Conv1d(1, 1, 5, padding=2)
    loaded = crest.Repaired.load(tmp_path, network(), fronts={"loudness": other})
    x, _ = knocks(20, tie=0.0, seed=1003)
    assert torch.equal(loaded.model(x), found.model(x))
    assert not torch.equal(other.weight, found.model.front.weight)
    with pytest.raises(ValueError, match=r"^fronts must have 'loudness', .* got none$"):
        crest.Repaired.load(tmp_path, network())


@pytest.mark.parametrize("remedy", ["re-anchored", "CREST"])
@pytest.mark.parametrize("kind", [Strided, Residual, Classified])
def test_a_readout_between_features_and_head_comes_back_to_the_bit(
    kind: type[nn.Module], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_the_rule_take(remedy, monkeypatch)
    found = crest.repair(made(kind), TRAIN, fit=one_step, remedies=[remedy], **QUICK)
    assert not found.skipped
    found.save(tmp_path)
    loaded = crest.Repaired.load(
        tmp_path, made(kind).apply(lambda part: [nn.init.zeros_(one) for one in part.parameters()])
    )
    x, _ = knocks(20, tie=0.0, seed=1003)
    assert torch.equal(loaded.model(x), found.model(x))
    assert not torch.equal(loaded.model(x), made(kind)(x))
    exported = torch.export.export(loaded.model, (x,), strict=False).module()
    torch.testing.assert_close(exported(x), loaded.model(x))


def test_the_front_of_a_combination_comes_back_with_the_band_that_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name of the known remedy whose front it is: nobody has to give fronts=."""
    name = "envelope + stretch"
    remedies = {name: fitting_remedies("gain+colour+rate")[name]}
    let_the_rule_take(name, monkeypatch)
    found = crest.repair(network(), TRAIN, fit=one_step, remedies=remedies, **QUICK)
    # Another band than the default, whatever these signals have.
    found.model.front.band.copy_(torch.tensor([0.125, 0.25]))
    found.save(tmp_path)
    loaded = crest.Repaired.load(tmp_path, network())
    assert repr(loaded.model.front) == "Envelope(band=(0.125, 0.25), channels_first=True)"
    x, _ = knocks(20, tie=0.0, seed=1003)
    assert torch.equal(loaded.model(x), found.model(x))


def test_tied_weights_are_saved(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    save_weights(tmp_path, model, Structure(), {})
    again = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    again[1].weight = again[0].weight
    assert torch.equal(load_weights(tmp_path, again)[0][1].weight, model[0].weight)


def test_what_cannot_be_saved_or_loaded_is_refused(tmp_path: Path) -> None:
    class WithWords(nn.Linear):
        def get_extra_state(self) -> str:
            return "words"

    with pytest.raises(ValueError, match=r"^model must have a state of tensors alone, got '_extra_state'"):
        save_weights(tmp_path, WithWords(2, 1), Structure(), {})
    with pytest.raises(FileNotFoundError, match=r"does not exist: Repaired.save writes it"):
        load_weights(tmp_path, nn.Linear(2, 1))
    save_weights(tmp_path, nn.Linear(2, 1), Structure(), {})
    with pytest.raises(
        ValueError, match=r"^model must have the build of the one that was repaired: .*size mismatch"
    ):
        load_weights(tmp_path, nn.Linear(3, 1))
    (tmp_path / WEIGHTS).write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match=r"is not a repaired model"):
        load_weights(tmp_path, nn.Linear(2, 1))


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match=r"needs safetensors\. Install the extra lab: "):
        save_weights(tmp_path / "folder", nn.Linear(2, 1), Structure(), {})
    assert not (tmp_path / "folder").exists()


def test_json_knows_no_nan() -> None:
    found = finite({"a": (float("nan"), {"b": float("-inf")}), "c": "nan", "d": 1, "e": True})
    assert found == {"a": [None, {"b": None}], "c": "nan", "d": 1, "e": True}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
