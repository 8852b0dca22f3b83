import dataclasses
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest._base.rng import seeded
from crest._repair.measuring import Yardstick
from crest._repair.workshop import Workshop, head_targets
from crest.background import split
from crest.probes.errors import rmse_or_error_rate
from crest.remedies import REMEDIES, Remedy
from crest.strangers.batch import Batch
from crest.strangers.batch_forms import BatchForm
from knocks_made import knocks, network
from knocks_made import split as batched

X, Y = torch.randn(32, 1, 100) + torch.randn(32, 1, 1), torch.arange(32.0)


def workshop(model: nn.Module, **options: Any) -> Workshop:
    x, y = knocks(8, tie=0.5, seed=1000)
    form = BatchForm()
    return Workshop(
        model=model, batches=[(x, y)], form=form, first=form.parts((x, y), "b"), channels_first=True, seed=0, **options
    )  # fmt: skip


def yardstick(x: Tensor, y: Tensor) -> Yardstick:
    return Yardstick(
        validation=Batch(x.mT, y),
        channels_first=True,
        error=rmse_or_error_rate,
        exchange=crest.ExchangeSettings(trajectories=8, block=4, bootstrap=5),
    )


def test_what_is_lacking_is_said() -> None:
    plain = workshop(network())
    assert (plain.pooling, plain.head, plain.layout, plain.keepdim) == ("2", "4", "channels_first", True)
    assert plain.lacks(REMEDIES["re-anchored"]) is None
    assert "fit=" in str(plain.lacks(REMEDIES["exchange"]))
    assert workshop(network(), fit=lambda *_: None).lacks(REMEDIES["CREST"]) is None
    functional = nn.Sequential(nn.Conv1d(1, 1, 5), nn.Flatten(), nn.Linear(146, 1))
    assert "pooling=" in str(workshop(functional).lacks(REMEDIES["re-anchored"]))
    between = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Tanh(), nn.Linear(1, 1))
    assert "pooling=(layer, head)" in str(workshop(between).lacks(REMEDIES["re-anchored"]))


def test_balanced_sampling_lacks_conditions() -> None:
    found = workshop(network(), fit=lambda *_: None)
    assert "operating condition" in str(found.lacks(REMEDIES["balanced"]))


def test_a_front_that_can_be_calibrated_is_on_training_signals() -> None:
    seen: list[Any] = []

    class Filter(nn.Identity):
        def calibrate(self, signals: Tensor, mask: Tensor | None = None) -> None:
            seen.append((signals, mask))

    found = workshop(network())
    found._front(lambda channels_first: Filter())
    ((signals, mask),) = seen
    assert torch.equal(signals, found.first.inputs)
    assert mask is None
    # In the layout of the model.
    rings = 0.1 * torch.randn(16, 1, 512, generator=torch.Generator().manual_seed(1000))
    rings[..., 200:220] += torch.cos(2 * torch.pi * 0.4 * torch.arange(20.0))
    found.first = found.form.parts((rings, torch.zeros(16)), "b")
    front = found._front(REMEDIES["envelope"].front)
    assert front.band[0] <= 0.4 <= front.band[1]
    assert front.band.tolist() != [0.0, 0.5]
    assert repr(found._front(REMEDIES["standardise"].front)) == "Standardise(channels_first=True)"


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
    structure = found._structure(REMEDIES["CREST"])
    assert structure.build(model)[1].readout.stride == 3
    assert any("covers 3 steps of the inputs" in note for note in found.notes)
    assert found._structure(REMEDIES["AC coupling"]).stride == 1


def test_a_layer_that_was_found_and_is_of_no_use_is_no_error() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = nn.AdaptiveAvgPool1d(1)

        def forward(self, x: Tensor) -> Tensor:
            return self.pool(x)[..., 0] + self.pool(x.square())[..., 0]

    found = workshop(Twice())
    assert found.pooling is None
    assert "pooling must name a layer that the model calls once" in str(found.lacks(REMEDIES["CREST"]))
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
        made._trained(network().eval(), REMEDIES[name])
    assert seen[0] == seen[1]
    assert seen[0][0]


def test_an_unpack_error_in_fit_stays_the_one_that_is_told() -> None:
    def fit(_: nn.Module, __: Any) -> None:
        _a, _b = (1, 2, 3)

    found = workshop(network(), fit=fit)
    with pytest.raises(
        ValueError, match=r"^too many values to unpack .*; if fit unpacks its batches so: they are \(x, y\)$"
    ):
        found._trained(network(), REMEDIES["CREST"])
    found.batches = []
    with pytest.raises(ValueError, match=r"^too many values to unpack [^;]*$"):
        found._trained(network(), REMEDIES["CREST"])


# -- what is done to the batches


def trained_on(remedy: str | Remedy, batches: list[Any]) -> Iterable[Any]:
    found = workshop(network())
    found.batches = batches
    return found._batches(REMEDIES[remedy] if isinstance(remedy, str) else remedy)


def test_what_leaves_the_batches_alone_hands_on_copies_of_them() -> None:
    batches = [(X, Y, ["a name"] * 32)]
    for name in ("trained longer", "AC coupling", "high-pass", "CREST"):
        found = trained_on(name, batches)
        assert len(found) == 1
        ((x, y, names),) = found
        assert torch.equal(x, X)
        assert torch.equal(y, Y)
        assert names is batches[0][2]
        assert x.data_ptr() != X.data_ptr()
        assert y.data_ptr() != Y.data_ptr()


@pytest.mark.parametrize("name", ["level jitter", "exchange", "CREST + exchange"])
def test_half_of_the_rows_change_channel_by_channel_and_labels_stay(name: str) -> None:
    ((x, y),) = list(trained_on(name, [(X, Y)]))
    assert torch.equal(y, Y)
    moved = x - X
    rows = moved.flatten(1).any(1)
    assert 6 <= int(rows.sum()) <= 26
    # What is added is smooth along time, the last axis: a level, or a difference of two slow backgrounds.
    assert moved[rows].diff(dim=2).abs().amax() < 0.5 * X.diff(dim=2).abs().amax()


def test_around_the_core_the_core_stays() -> None:
    x = X.clone()
    x[:, 0, 40:44] += torch.linspace(5, 9, 32)[:, None]
    ((changed, _),) = trained_on("core exchange", [(x, Y)])
    background = split(x.mT, "core").background.mT
    moved = changed - x
    rows = moved.flatten(1).any(1)
    assert 6 <= int(rows.sum()) <= 26
    for row in rows.nonzero().flatten().tolist():
        # What was added is another's background less the own.
        given = moved[row] + background[row]
        assert (given - background).abs().amax((1, 2)).min() < 1e-5


def test_padding_stays() -> None:
    mask = (torch.arange(100) < 60).expand(32, 100)
    ((x, _, same),) = list(trained_on("exchange", [(X, Y, mask)]))
    assert torch.equal(same, mask)
    assert torch.equal(x[..., 60:], X[..., 60:])
    assert not torch.equal(x, X)


def test_a_change_of_ones_own_gets_a_mask_if_it_takes_one() -> None:
    mask = (torch.arange(100) < 60).expand(32, 100)
    for change, expected in (
        (lambda x: 2 * x, 2 * X),
        (lambda x, mask: x * mask.unsqueeze(1), X * mask.unsqueeze(1)),
        (lambda x, scale=3: scale * x, 3 * X),
    ):
        ((x, y, same),) = trained_on(Remedy(change=lambda change=change, **_: change), [(X, Y, mask)])
        assert torch.equal(x, expected)
        assert torch.equal(y, Y)
        assert torch.equal(same, mask)


@pytest.mark.parametrize(
    ("change", "got"), [(lambda x: x[..., :50], r"\(32, 1, 50\)"), (lambda x: None, "NoneType")]
)
def test_a_change_must_keep_the_shape(change: Any, got: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^a change of batches must return signals of the shape .* got {got}$"
    ):
        list(trained_on(Remedy(change=lambda **_: change), [(X, Y)]))


def test_no_gradient_is_left_on_a_candidate() -> None:
    x, y = knocks(40, tie=0.5, seed=1000)

    def leaves_gradients(model: nn.Module, batches: Iterable[Any]) -> None:
        for x, y in batches:
            (model(x).flatten() - y).square().mean().backward()

    found = workshop(network(), fit=leaves_gradients)
    for name in ("trained longer", "AC coupling", "re-anchored"):
        made = found.made(name, REMEDIES[name], yardstick(x, y)).model
        assert [part.grad for part in made.parameters()] == [None] * len(list(made.parameters()))


def test_re_anchoring_counts_in_steps_of_the_inputs() -> None:
    model = nn.Sequential(
        nn.Conv1d(1, 8, 9, stride=3, padding=4),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(8, 1),
    )
    found = workshop(model)
    assert found.stride == 3
    made = found.made(
        "re-anchored", REMEDIES["re-anchored"], yardstick(*knocks(40, tie=0.5, seed=1000))
    ).model
    (readout,) = [part for part in made.modules() if isinstance(part, crest.CrestReadout)]
    assert readout.stride == 3


def test_a_training_that_works_in_place_changes_nothing_for_the_next() -> None:
    x, y = knocks(40, tie=0.5, seed=1000)
    seen: list[Tensor] = []

    def in_place(model: nn.Module, batches: Iterable[Any]) -> None:
        for x, y in batches:
            seen.append(x.clone())
            x.zero_()
            y.zero_()

    found = workshop(network(), fit=in_place)
    for name in ("trained longer", "CREST", "trained longer"):
        found.made(name, REMEDIES[name], yardstick(x, y))
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])
    assert found.batches[0][0].any()
    assert found.batches[0][1].any()


def test_a_training_leaves_no_global_state_and_draws_the_same_each_time() -> None:
    x, y = knocks(40, tie=0.5, seed=1000)
    seen: list[Any] = []
    own = torch.Generator().manual_seed(5)

    def unruly(model: nn.Module, batches: Iterable[Any]) -> None:
        order = [row for _, labels in batches for row in labels.tolist()]
        ways = (
            torch.is_grad_enabled(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
        )
        seen.append((order, ways, torch.rand(1).item(), np.random.rand(), random.random()))
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        if len(seen) == 2:
            raise ValueError("this one fails")

    found = workshop(network(), fit=unruly)
    rows = torch.utils.data.TensorDataset(*found.batches[0])
    found.batches = torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True, generator=own)
    for fails in (False, True, False):
        try:
            found.made("trained longer", REMEDIES["trained longer"], yardstick(x, y))
        except ValueError:
            assert fails
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1] == (True, torch.float32, False)
    assert torch.get_default_dtype() == torch.float32
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_model_of_the_users_that_a_training_returns_is_left_as_it_was() -> None:
    x, y = knocks(40, tie=0.5, seed=1000)
    own = network().train()
    own(x).sum().backward()
    found = workshop(network(), fit=lambda *_: own)
    made = found.made("trained longer", REMEDIES["trained longer"], yardstick(x, y)).model
    assert made is not own
    assert own.training
    assert own[0].weight.grad is not None
    assert torch.equal(made[0].weight, own[0].weight)


def test_several_labels_and_one_hot_classes_are_judged_and_fitted() -> None:
    """The head that is fitted again tells labels by their sign, and classes by the largest."""
    x, y = knocks(120, tie=0.99, seed=1000)
    labels = torch.stack([y > 0, y > 0.5, torch.ones_like(y) > 0], 1).float()
    hot = torch.eye(2)[(y > 0).long()]
    settings = crest.ExchangeSettings(trajectories=16, block=4, bootstrap=20)
    for targets in (labels, hot):
        model = network(targets.shape[1])
        model[-1].bias.data -= 2
        found = crest.repair(model, batched(x, targets), remedies=["re-anchored"], exchange=settings)
        assert not found.skipped
        assert found.candidates["re-anchored"].id_error < 0.15
        assert any("several labels" in note or "are one-hot" in note for note in found.notes)
    trained = network(3)
    # Logits, as training leaves them: not all between 0 and 1.
    trained[-1].bias.data -= 2
    one = crest.repair(trained, batched(x, labels), remedies=["re-anchored"], output=0, exchange=settings)
    assert one.candidates["re-anchored"].id_error < 0.15


@pytest.mark.parametrize("numbers", [[[7, 2], [3, 9]], [[7.0, 2.0], [3.0, 9.0]]])
def test_a_column_of_whole_numbers_leaves_the_others_to_the_head(numbers: list[list[float]]) -> None:
    counts = torch.tensor(numbers)
    judged = Batch(torch.zeros(2, 5, 1), counts[:, 0])
    assert torch.equal(head_targets(counts, judged), counts)
    assert head_targets(torch.tensor([[False, True], [True, False]]), judged).tolist() == [1, 0]


def test_a_training_draws_by_the_seed_of_the_repair() -> None:
    drawn: list[float] = []

    def fit(_: nn.Module, __: Any) -> None:
        drawn.append(float(torch.rand(())))

    for seed in (0, 7, 7):
        tried = dataclasses.replace(workshop(network(), fit=fit), seed=seed)
        tried._trained(network(), REMEDIES["AC coupling"])
    with seeded(7, "repair/fit"):
        wanted = float(torch.rand(()))
    assert drawn[0] != wanted
    assert drawn[1:] == [wanted, wanted]
