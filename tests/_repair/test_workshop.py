from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest._repair.treatments import REPAIRS
from crest._repair.workshop import Workshop
from crest.strangers.batch_forms import BatchForm
from knocks_made import knocks, network


def workshop(model: nn.Module, **options: Any) -> Workshop:
    x, y = knocks(8, tie=0.5, seed=1000)
    form = BatchForm()
    return Workshop(
        model=model, batches=[(x, y)], form=form, first=form.parts((x, y), "b"), channels_first=True, seed=0, **options
    )  # fmt: skip


def test_what_is_lacking_is_said() -> None:
    plain = workshop(network())
    assert (plain.pooling, plain.head, plain.layout, plain.keepdim) == ("2", "4", "channels_first", True)
    assert plain.lacks(REPAIRS["re-anchored"]) is None
    assert "fit=" in str(plain.lacks(REPAIRS["exchange"]))
    assert workshop(network(), fit=lambda *_: None).lacks(REPAIRS["CREST"]) is None
    functional = nn.Sequential(nn.Conv1d(1, 1, 5), nn.Flatten(), nn.Linear(146, 1))
    assert "pooling=" in str(workshop(functional).lacks(REPAIRS["re-anchored"]))
    between = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Tanh(), nn.Linear(1, 1))
    assert "head=" in str(workshop(between).lacks(REPAIRS["re-anchored"]))


def test_a_pooling_of_ones_own_is_seen_on_the_first_batch() -> None:
    pool = nn.Sequential(nn.AdaptiveMaxPool1d(1), nn.Flatten())
    found = workshop(nn.Sequential(nn.Conv1d(1, 4, 5), pool, nn.Linear(4, 1)), pooling="1")
    assert (found.layout, found.keepdim, found.head) == ("channels_first", False, "2")
    with pytest.raises(ValueError, match=r"^pooling must name a layer that pools all steps .* got '1'"):
        workshop(
            nn.Sequential(nn.Conv1d(1, 4, 5), nn.Sequential(nn.ReLU()), crest.MeanReadout()), pooling="1"
        )


def test_behind_a_stride_crest_counts_steps_of_the_inputs() -> None:
    model = nn.Sequential(
        nn.Conv1d(1, 4, 5, stride=3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    found = workshop(model)
    assert found.stride == 3
    structure = found._structure(REPAIRS["CREST"])
    assert structure.build(model)[1].readout.stride == 3
    assert any("a step for 3 of the inputs" in note for note in found.notes)
    assert found._structure(REPAIRS["AC coupling"]).stride == 1


def test_a_layer_that_was_found_and_is_of_no_use_is_no_error() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = nn.AdaptiveAvgPool1d(1)

        def forward(self, x: Tensor) -> Tensor:
            return self.pool(x)[..., 0] + self.pool(x.square())[..., 0]

    found = workshop(Twice())
    assert found.pooling is None
    assert "of no use: pooling must name a layer that the model calls once" in str(
        found.lacks(REPAIRS["CREST"])
    )
    with pytest.raises(
        ValueError, match=r"^pooling must name a layer that the model calls once, got 'pool': 2 calls"
    ):
        workshop(Twice(), pooling="pool")


def test_fit_gets_a_model_in_training_mode_and_a_seeded_state() -> None:
    seen: list[Any] = []

    def fit(model: nn.Module, _: Any) -> None:
        seen.append((model.training, torch.rand(2).tolist()))

    made = workshop(network().eval(), fit=fit)
    for name in ("CREST", "exchange"):
        made._trained(network().eval(), REPAIRS[name])
    assert seen[0] == seen[1]
    assert seen[0][0]


def test_an_unpack_error_in_fit_stays_the_one_that_is_told() -> None:
    def fit(_: nn.Module, __: Any) -> None:
        _a, _b = (1, 2, 3)

    found = workshop(network(), fit=fit)
    with pytest.raises(
        ValueError, match=r"^too many values to unpack .*; if fit unpacks its batches so: they are \(x, y\)$"
    ):
        found._trained(network(), REPAIRS["CREST"])
    found.batches = []
    with pytest.raises(ValueError, match=r"^too many values to unpack [^;]*$"):
        found._trained(network(), REPAIRS["CREST"])
