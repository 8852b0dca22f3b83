"""Remedies as an axis of runs: what each does to the signals, and that it reaches training."""

import pytest
import torch

from crest._base import rng
from crest.lab.model import make_model
from crest.lab.remedies import RUN_REMEDIES, fronted_fields, make_remedy, run_fields
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import Sizes, make_system
from crest.lab.training import Schedule, fit
from crest.remedies import CONTROL, REMEDIES, Envelope


def signals() -> torch.Tensor:
    return (
        torch.randn(8, 40, 2, generator=torch.Generator().manual_seed(0)) + torch.arange(8.0)[:, None, None]
    )


def test_none_does_nothing() -> None:
    remedy = make_remedy("none")
    assert remedy.front is None
    assert remedy.change is None


def test_a_filter_stands_in_front_of_the_encoder() -> None:
    model = make_model(
        "pointwise", "mean", channels=2, seed=0, front=make_remedy("high_pass", kind="level").front()
    )
    moved = signals() + 100.0
    torch.testing.assert_close(model.eval()(moved), model(signals()), rtol=0, atol=1e-4)
    bare = make_model("pointwise", "mean", channels=2, seed=0).eval()
    assert model.state_dict().keys() == bare.state_dict().keys()
    assert (bare(moved) - bare(signals())).abs().max() > 0.1


@pytest.mark.parametrize("name", ["jitter", "exchange"])
def test_an_augmentation_changes_batches_and_repeats_with_its_generator(name: str) -> None:
    remedy = make_remedy(name)
    assert remedy.front is None
    first, again = (remedy.change(generator=rng.torch_generator(7, "remedy")) for _ in range(2))
    changed = first(signals())
    assert not torch.equal(changed, signals())
    assert torch.equal(changed, again(signals()))


@pytest.mark.parametrize("name", sorted(RUN_REMEDIES))
def test_training_sees_it(name: str) -> None:
    """With an augmentation the same seed ends in other weights; a filter is part of the model."""
    splits = make_system("gear").splits(1000, Sizes(train=16, id=4, ood=4))
    remedy = make_remedy(name)
    weights = []
    change = remedy.change and remedy.change(generator=rng.torch_generator(0, "remedy"))
    for augmentation in (None, change):
        model = make_model(
            "pointwise",
            "mean",
            channels=splits.train.x.shape[2],
            seed=0,
            front=remedy.front and remedy.front(),
        )
        schedule = Schedule(epochs=1, batch=8)
        fit(model, splits.train, schedule=schedule, seed=0, augmentation=augmentation)
        weights.append(model.head.weight.detach().clone())
    assert torch.equal(*weights) == (remedy.change is None)


def test_an_envelope_finds_its_band_on_the_training_signals_of_a_run() -> None:
    spec = RunSpec(
        system="gear", readout="mean", seed=1000, sizes=Sizes(train=16, id=4, ood=4), remedy="envelope"
    )
    training = make_system("gear").splits(1000, spec.sizes).train
    found = spec.model_for(training).front
    signals = torch.as_tensor(training.x, dtype=torch.float32)
    assert found.band.tolist() != [0.0, 0.5]
    assert torch.equal(found.band, Envelope().calibrate(signals).band)
    given = RunSpec(**{**vars(spec), "remedy_options": {"band": [0.1, 0.2]}})
    assert given.model_for(training).front.band.tolist() == pytest.approx([0.1, 0.2])
    # One that asks for the signals' budget sees the calibrated front too.
    asks = RunSpec(**{**vars(spec), "readout": "crest", "readout_options": {"budget": "signals"}})
    assert torch.equal(asks.model_for(training).front.band, found.band)


def test_a_front_stands_before_the_encoder_beside_a_change_of_batches() -> None:
    spec = RunSpec(
        system="gear", readout="mean", seed=1000, sizes=Sizes(train=16, id=4, ood=4),
        **fronted_fields("envelope", "exchange"),
    )  # fmt: skip
    assert (spec.front, spec.remedy) == ("envelope", "exchange")
    training = make_system("gear").splits(1000, spec.sizes).train
    # It is calibrated as a front that is the remedy.
    alone = RunSpec(**{**vars(spec), **fronted_fields(CONTROL, "envelope"), "front": "none"})
    assert torch.equal(spec.model_for(training).front.band, alone.model_for(training).front.band)
    assert spec.resolved()["front"] == alone.resolved()["remedy"]
    assert "front" not in alone.resolved()


@pytest.mark.parametrize("front", ["high-pass", "standardise", "envelope"])
def test_a_front_alone_is_the_run_that_the_remedy_of_its_name_is(front: str) -> None:
    plain = {"system": "gear", "readout": "mean", "seed": 1000}
    assert RunSpec(**plain, **fronted_fields(front, CONTROL)).id == RunSpec(**plain, **run_fields(front)).id
    assert fronted_fields(CONTROL, "exchange") == run_fields("exchange")
    # What is re-anchored is the trained model with its front.
    assert fronted_fields(front, "re-anchored") == run_fields(front)


def test_options_are_checked_when_a_spec_is_written() -> None:
    with pytest.raises(ValueError, match=r"^remedy must be one of none, high_pass"):
        make_remedy("hope")
    with pytest.raises(ValueError, match=r"^probability must lie in"):
        make_remedy("exchange", probability=2.0)


@pytest.mark.parametrize("name", REMEDIES)
def test_a_run_spells_every_remedy_and_makes_the_same_of_it(name: str) -> None:
    fields = run_fields(name)
    RunSpec(system="gear", readout="mean", seed=1000, **fields)
    made, meant = make_remedy(fields["remedy"], **fields["remedy_options"]), REMEDIES[name]
    for part in ("front", "change"):
        one, other = (getattr(remedy, part) for remedy in (made, meant))
        assert repr(one and one()) == repr(other and other())
