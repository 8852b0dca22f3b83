import dataclasses
import inspect
import itertools
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.lab.encoders import ENCODERS
from crest.lab.evaluation import model_error, score
from crest.lab.model import Model, make_model
from crest.lab.objectives import Objective, TrainingBatch, squared_errors
from crest.lab.training import SCHEDULES, Schedule, fit
from crest.readouts import READOUTS, REFERENCES
from crest.recordings import Splits, Trajectories, load_recordings, split_by_condition
from toy import toy

SHORT = Schedule(epochs=3, batch=8)


def made(encoder: str = "pointwise", readout: str = "mean", seed: int = 1000) -> Model:
    return make_model(encoder, readout, channels=2, seed=seed)


def trained(model: Model, schedule: Schedule = SHORT, seed: int = 1000, **options: Any) -> list[float]:
    return fit(model, toy(), schedule=schedule, seed=seed, **options)


def bits(model: Model) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(value, two[name]) for name, value in one.items())


class Spy(Objective):
    """Squared error that remembers the labels of each batch, which name its trajectories."""

    def __init__(self) -> None:
        self.batches: list[list[float]] = []

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        assert model.training
        self.batches.append(batch.y.tolist())
        return squared_errors(model, batch).mean()


# -- what fit is given


def test_fit_is_never_handed_the_ood_split() -> None:
    parameters = inspect.signature(fit).parameters
    assert list(parameters) == [
        "model",
        "train",
        "schedule",
        "seed",
        "objective",
        "augmentation",
        "observer",
        "observe_every",
    ]
    hints = typing.get_type_hints(fit)
    assert [name for name in parameters if hints[name] is Trajectories] == ["train"]
    assert Splits not in hints.values()
    assert all(part.kind not in (part.VAR_KEYWORD, part.VAR_POSITIONAL) for part in parameters.values())


# -- the observer


def hostile(epoch: int, seen: Model) -> None:
    torch.manual_seed(epoch)
    torch.randn(3)
    torch.set_grad_enabled(epoch % 2 == 0)
    seen.train()
    with torch.enable_grad():
        x, y, events, _ = toy().tensors()
        (seen(x, events) - y).square().mean().backward()
    for parameter in seen.parameters():
        parameter.data.fill_(float("nan"))
        parameter.grad = torch.full_like(parameter, 7.0)
        parameter.requires_grad_(False)
    for buffer in seen.buffers():
        buffer.fill_(3)
    seen.readout = seen.encoder  # type: ignore[assignment]


@pytest.mark.parametrize("readout", ["crest", "attention"])
def test_an_observer_cannot_change_anything(readout: str) -> None:
    alone, watched = made("local", readout), made("local", readout)
    before = torch.get_rng_state()
    first = trained(alone)
    second = trained(watched, observer=hostile)
    assert same(bits(alone), bits(watched))
    assert first == second
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.is_grad_enabled()
    assert all(parameter.requires_grad for parameter in watched.parameters())


@pytest.mark.parametrize(
    ("epochs", "every", "expected"),
    [(3, 1, [0, 1, 2, 3]), (5, 2, [0, 2, 4, 5]), (4, 2, [0, 2, 4]), (2, 9, [0, 2])],
)
def test_when_the_observer_looks(epochs: int, every: int, expected: list[int]) -> None:
    looks: list[int] = []
    model = made()

    def observer(epoch: int, seen: Model) -> None:
        looks.append(epoch)
        assert seen is not model
        assert not seen.training
        assert not torch.is_grad_enabled()

    trained(model, Schedule(epochs=epochs, batch=16), observer=observer, observe_every=every)
    assert looks == expected


def test_what_the_observer_sees() -> None:
    """The untrained weights under the training set's scale, then those after each epoch."""
    states: dict[int, dict[str, Tensor]] = {}
    model, start = made(), bits(made())
    trained(model, observer=lambda epoch, seen: states.update({epoch: bits(seen)}))
    assert same(states[3], bits(model))
    assert not same(states[2], states[3])
    x = toy().tensors().x
    torch.testing.assert_close(states[0].pop("standardize.shift"), x.mean((0, 1)))
    torch.testing.assert_close(states[0].pop("standardize.scale"), x.std((0, 1), correction=0))
    assert all(torch.equal(start[name], value) for name, value in states[0].items())


# -- pairing and determinism


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_every_readout_trains_on_the_same_batches_in_the_same_order(readout: str) -> None:
    spies = [Spy(), Spy()]
    for name, spy in zip(("mean", readout), spies, strict=True):
        losses = trained(made("pointwise", name), objective=spy)
        assert len(losses) == 3
    assert spies[0].batches == spies[1].batches


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_order_does_not_depend_on_the_encoder_or_torchs_own_state(encoder: str) -> None:
    spies = [Spy(), Spy()]
    trained(made(), objective=spies[0])
    torch.manual_seed(99)
    trained(made(encoder), objective=spies[1])
    assert spies[0].batches == spies[1].batches


def test_an_epoch_shows_every_trajectory_once() -> None:
    spy = Spy()
    fit(made(), toy(20), schedule=Schedule(epochs=2, batch=8), seed=1000, objective=spy)
    assert [len(labels) for labels in spy.batches] == [8, 8, 4, 8, 8, 4]
    expected = sorted(toy(20).tensors().y.tolist())
    first, second = (list(itertools.chain(*spy.batches[start : start + 3])) for start in (0, 3))
    assert sorted(first) == sorted(second) == expected
    assert first != second
    assert first != toy(20).tensors().y.tolist()


def test_another_seed_is_another_order() -> None:
    spies = [Spy(), Spy()]
    for seed, spy in enumerate(spies, start=1000):
        trained(made(), seed=seed, objective=spy)
    assert spies[0].batches != spies[1].batches


@pytest.mark.parametrize("encoder", ENCODERS)
def test_same_seed_same_bits(encoder: str) -> None:
    one, two = made(encoder, "crest"), made(encoder, "crest")
    assert trained(one) == trained(two)
    assert same(bits(one), bits(two))
    assert not same(bits(one), bits(made(encoder, "crest")))


# -- which weights are kept


class Turning(Objective):
    """Learns the labels for two epochs of four batches, then unlearns them."""

    def __init__(self) -> None:
        self.calls = 0

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        self.calls += 1
        wanted = batch.y if self.calls <= 8 else 9 - batch.y
        return (model(batch.x) - wanted).square().mean()


def test_the_weights_are_those_of_the_last_epoch() -> None:
    states: dict[int, dict[str, Tensor]] = {}
    model = made()
    trained(
        model,
        Schedule(epochs=6, batch=8, learning_rate=0.005),
        objective=Turning(),
        observer=lambda epoch, seen: states.update({epoch: bits(seen)}),
    )
    assert same(bits(model), states[6])
    assert model_error(model, toy(seed=1)) > min(
        model_error(_with(made(), state), toy(seed=1)) for state in states.values()
    )


def _with(model: Model, state: dict[str, Tensor]) -> Model:
    model.load_state_dict(state)
    return model.eval()


# -- the loop itself


@pytest.mark.parametrize("encoder", ENCODERS)
def test_training_lowers_the_loss(encoder: str) -> None:
    model = made(encoder)
    before = model_error(model, toy(seed=1))
    losses = trained(model, Schedule(epochs=12, batch=8))
    assert len(losses) == 12
    # The statistics of a batch of eight are noise to the CNNs' normalisation, in training only.
    assert losses[-1] < {"cnn": 0.4, "residual": 0.5}.get(encoder, 0.2) * losses[0]
    assert model_error(model, toy(seed=1)) < 0.5 * before


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_every_readout_learns(readout: str) -> None:
    losses = trained(made("pointwise", readout), Schedule(epochs=12, batch=8))
    assert losses[-1] < 0.5 * losses[0]


def test_the_model_is_left_in_evaluation_mode_and_the_caller_gets_no_surprise() -> None:
    model = made(readout="crest")
    before = torch.get_rng_state()
    trained(model)
    assert not any(part.training for part in model.modules())
    assert torch.equal(torch.get_rng_state(), before)


def test_the_mode_that_the_model_came_in_does_not_matter() -> None:
    one, two = made(readout="crest").eval(), made(readout="crest").train()
    assert trained(one, objective=Spy()) == trained(two, objective=Spy())
    assert same(bits(one), bits(two))


def test_the_loss_of_an_epoch_is_the_mean_over_trajectories() -> None:
    """Batches of 8, 8 and 4: the small one must not count for more."""

    class Counting(Objective):
        def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
            return 0 * model(batch.x).sum() + len(batch.y)

    losses = fit(made(), toy(20), schedule=SHORT, seed=1000, objective=Counting())
    assert losses == pytest.approx([(8 * 8 + 8 * 8 + 4 * 4) / 20] * 3)


class SpiedCycle(torch.optim.lr_scheduler.OneCycleLR):
    made: typing.ClassVar[list["SpiedCycle"]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.used: list[float] = []
        super().__init__(*arguments, **options)
        SpiedCycle.made.append(self)

    def step(self, *arguments: Any) -> None:
        if self.last_epoch >= 0:
            self.used.append(self.get_last_lr()[0])
        super().step(*arguments)


@pytest.mark.parametrize(("n", "batch", "updates"), [(20, 8, 9), (24, 8, 9), (7, 8, 3), (1, 1, 3)])
def test_the_cycle_ends_with_the_last_update(
    monkeypatch: pytest.MonkeyPatch, n: int, batch: int, updates: int
) -> None:
    monkeypatch.setattr(torch.optim.lr_scheduler, "OneCycleLR", SpiedCycle)
    schedule = Schedule(epochs=3, batch=batch, learning_rate=0.01)
    fit(made(), toy(n), schedule=schedule, seed=1000)
    cycle = SpiedCycle.made.pop()
    assert cycle.total_steps == len(cycle.used) == updates
    assert cycle.used[-1] == pytest.approx(0.01 / 25e4)
    assert max(cycle.used) <= 0.01
    assert max(cycle.used) > 0.5 * 0.01


def test_the_schedule_reaches_the_optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    clips: list[float] = []
    optimiser, clip = torch.optim.AdamW, torch.nn.utils.clip_grad_norm_

    def spied(parameters: Any, **options: Any) -> torch.optim.AdamW:
        seen.update(options)
        return optimiser(parameters, **options)

    def clipped(parameters: Any, largest: float) -> Tensor:
        parameters = list(parameters)
        norm = clip(parameters, largest)
        after = torch.stack([part.grad.norm() for part in parameters]).norm().item()
        clips.append(after)
        return norm

    monkeypatch.setattr(torch.optim, "AdamW", spied)
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clipped)
    trained(made(), Schedule(epochs=1, batch=8, learning_rate=0.03, weight_decay=0.2, clip=1e-3))
    assert (seen["lr"], seen["weight_decay"]) == (0.03, 0.2)
    assert len(clips) == 4
    assert max(clips) <= 1.0001e-3


def test_gradients_do_not_add_up_over_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same loop, written out."""
    model, twin = made(), made()
    schedule = Schedule(epochs=2, batch=16, clip=1e9)
    spy = Spy()
    trained(model, schedule, objective=spy)
    whole = TrainingBatch(*toy().tensors())
    row = {label: index for index, label in enumerate(whole.y.tolist())}
    twin.standardize.fit(whole.x)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=schedule.learning_rate, weight_decay=1e-4)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, schedule.learning_rate, total_steps=4)
    for labels in spy.batches:
        rows = [row[label] for label in labels]
        optimizer.zero_grad()
        (twin(whole.x[rows]) - whole.y[rows]).square().mean().backward()
        optimizer.step()
        cycle.step()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, twin.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_the_objective_sees_the_whole_training_set_first() -> None:
    prepared: list[TrainingBatch] = []

    class Preparing(Objective):
        def prepare(self, model: Model, train: TrainingBatch) -> None:
            prepared.append(train)
            torch.testing.assert_close(model.standardize.shift, train.x.mean((0, 1)))

        def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
            return squared_errors(model, batch).mean()

    trained(made(), objective=Preparing())
    assert len(prepared) == 1
    for part, whole in zip(prepared[0], toy().tensors(), strict=True):
        assert torch.equal(part, whole)


def test_the_input_scale_comes_from_the_training_set_and_does_not_move() -> None:
    model = made()
    trained(model)
    torch.testing.assert_close(model.standardize.shift, toy().tensors().x.mean((0, 1)))


class Exploding(Objective):
    """Not finite in the last of the second epoch's four batches."""

    def __init__(self) -> None:
        self.calls = 0

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        self.calls += 1
        return model(batch.x).sum() * (float("inf") if self.calls == 8 else 1.0)


def test_a_loss_that_is_not_finite_names_its_epoch() -> None:
    with pytest.raises(ArithmeticError, match=r"training diverged: the loss is -?inf in epoch 2"):
        trained(made(), objective=Exploding())


@pytest.mark.parametrize("encoder", ENCODERS)
def test_diverged_training_names_its_epoch(encoder: str) -> None:
    """The readouts refuse features that are not finite: that too is a divergence, not a wrong argument."""
    with pytest.raises(ArithmeticError, match=r"training diverged: .* in epoch \d"):
        trained(made(encoder), Schedule(epochs=3, batch=8, learning_rate=1e25))


def test_an_objectives_own_refusal_is_passed_on() -> None:
    class Refusing(Objective):
        def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
            raise ValueError("not this batch")

    with pytest.raises(ValueError, match="not this batch"):
        trained(made(), objective=Refusing())


def test_the_reference_needs_events() -> None:
    with pytest.raises(ValueError, match="train must have events for EventWindowReadout"):
        fit(made(readout="event_window"), toy(events=False), schedule=SHORT, seed=1000)


def test_data_without_events_and_proxy_can_be_learned() -> None:
    bare = toy(events=False, proxy=False)
    assert len(fit(made(readout="crest"), bare, schedule=SHORT, seed=1000)) == 3


# -- the doors


def test_observe_every_is_checked() -> None:
    with pytest.raises(ValueError, match="observe_every must be a whole number, 1 or more, got 0"):
        trained(made(), observe_every=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number, 1 or more, got 0"),
        ({"batch": 0}, "batch must be a whole number, 1 or more, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be positive, got nan"),
        ({"clip": -1.0}, "clip must be positive, got -1.0"),
        ({"weight_decay": -1e-3}, "weight_decay must be 0 or more, got -0.001"),
        ({"weight_decay": float("nan")}, "weight_decay must be 0 or more, got nan"),
    ],
)
def test_a_bad_schedule_is_refused_by_name(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule(**{"epochs": 1, **change})  # type: ignore[arg-type]


def test_a_schedule_is_frozen_and_may_have_no_decay() -> None:
    schedule = Schedule(epochs=1, weight_decay=0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.epochs = 2  # type: ignore[misc]


def test_every_encoder_has_a_schedule() -> None:
    assert SCHEDULES.keys() == ENCODERS.keys()


# -- classes


def test_recordings_with_names_for_labels_train_a_classifier(tmp_path: Path) -> None:
    """A worn machine knocks; every recording has the same level, so only the knocks tell."""
    numbers, rows = np.random.default_rng(0), ["file,state,speed"]
    for number in range(12):
        worn = number % 2
        signal = 0.1 * numbers.standard_normal(192)
        signal[4::24] += 4.0 * worn
        np.save(tmp_path / f"{number}.npy", signal - signal.mean())
        rows.append(f"{number}.npy,{'worn' if worn else 'ok'},{'fast' if number > 7 else 'slow'}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    data = load_recordings(tmp_path / "table.csv", window=24, sample_rate=1, label="state", condition="speed")
    splits = split_by_condition(data, ood="fast", id_by="recording")
    model = make_model("pointwise", "crest", channels=1, seed=1000, outputs=len(data.classes))
    fit(model, splits.train, schedule=Schedule(epochs=20, learning_rate=1e-2), seed=1000)
    assert score(model, splits).ood < 0.1
    number = make_model("pointwise", "crest", channels=1, seed=1000)
    with pytest.raises(ValueError, match=r"an output for each of the 2 classes of train \(ok, worn\), got 1"):
        fit(number, splits.train, schedule=SHORT, seed=1000)
