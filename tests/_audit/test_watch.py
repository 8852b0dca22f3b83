"""The watch against the probes that it is made of, and training with it against training without."""

import copy
import math
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest import ExchangeSettings, Watch
from crest._audit.verdict import FEWEST
from packed_made import Packed, ragged

STEPS, EVENT = 60, 30


def knocks(count: int = 32, seed: int = 1000) -> tuple[Tensor, Tensor, Tensor]:
    """Signals (N, 1, T) with a level and a knock of six steps whose size is the target; targets; events (N, T)."""
    generator = torch.Generator().manual_seed(seed)
    level, knock = torch.randn(2, count, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(count, 1, STEPS, generator=generator)
    x[:, 0, EVENT : EVENT + 6] += knock[:, None]
    events = torch.zeros(count, STEPS, dtype=torch.bool)
    events[:, EVENT : EVENT + 6] = True
    return x, knock, events


def network(seed: int = 1000, dropout: float = 0.0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv1d(1, 4, 5, padding=2), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(dropout), nn.AdaptiveAvgPool1d(1),
        nn.Flatten(), nn.Linear(4, 1),
    )  # fmt: skip


def level(x: Tensor) -> Tensor:
    return x[:, 0, :20].mean(1)


X, Y, EVENTS = knocks()


def test_the_exchange_is_judged_by_the_same_error() -> None:
    def largest(predictions: Tensor, targets: Tensor) -> float:
        return float((predictions.reshape(-1) - targets).abs().max())

    watch = Watch(level, (X, Y), channels_first=True, error=largest)
    watch(0)
    (row,) = watch.history
    tested = crest.exchange_test(level, X, targets=Y, channels_first=True, error=largest)
    assert (row.exchange.expected_error, row.error) == (tested.expected_error, largest(level(X), Y))
    assert (
        tested.expected_error != crest.exchange_test(level, X, targets=Y, channels_first=True).expected_error
    )


@pytest.mark.parametrize(("count", "verdict"), [(FEWEST - 1, "unclear"), (FEWEST, "background")])
def test_a_verdict_needs_a_number_of_trajectories(count: int, verdict: str) -> None:
    x, y, _ = knocks(count)
    watch = Watch(level, (x, y), channels_first=True, exchange=ExchangeSettings(block=count))
    watch(0)
    assert watch.history[0].verdict == verdict


def test_a_row_is_what_the_exchange_test_and_the_audit_say() -> None:
    model = network()
    watch = Watch(model, (X, Y), events=EVENTS, exchange=ExchangeSettings(seed=3))
    numbers = watch(0)

    def function(x: Tensor) -> Tensor:
        return model(x.mT)

    with crest.probes.evaluating(model):
        tested = crest.exchange_test(function, X.mT, targets=Y, exchange=ExchangeSettings(seed=3))
    (row,) = watch.history
    assert row.exchange == tested
    for name in ("transient", "background", "interaction", "expected_error"):
        assert numbers[f"crest/{name}"] == getattr(tested, name)
    assert numbers["crest/moved"] == tested.together.moved != tested.moved
    assert tested.expected_error == tested.together.error != tested.exchanged_error
    audit = crest.audit(model, (X, Y), events=EVENTS, exchange=ExchangeSettings(seed=3))
    # The audit also asks whether the model has learnt its task, which this one has not.
    assert row.verdict == tested.verdict == audit.exchange.verdict
    assert audit.verdict == "unclear"
    assert (row.error, row.core_credit, row.core_chance, row.credit) == (
        audit.error, audit.core_credit, audit.core_chance, audit.credit,
    )  # fmt: skip
    assert watch.notes == audit.notes
    assert numbers["crest/ecm"] == audit.credit.ecm
    assert numbers["crest/chance"] == pytest.approx(0.1)


def test_readers_of_the_event_and_of_the_level_are_told_apart() -> None:
    x, _, _ = knocks(64)
    events = Watch(lambda x: x[:, 0, EVENT + 2] - level(x), x)
    background = Watch(level, x)
    assert events(0)["crest/verdict"] == 1
    assert background(0)["crest/verdict"] == -1
    assert background.history[0].verdict == "background"


def train(watched: bool, batches: Any, events: Tensor | None = None) -> tuple[nn.Module, list[Tensor], Any]:
    """Three epochs with shuffled batches, dropout and noise from three global generators."""
    model = network(dropout=0.2)
    torch.manual_seed(1001)
    np.random.seed(1001)
    random.seed(1001)
    optimiser = torch.optim.Adam(model.parameters(), 0.05)
    # Built before the watch is made, so that the order of batches would show what the watch draws.
    loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True)
    watch = Watch(model, batches, events=events) if watched else None
    losses = []
    for epoch in range(3):
        for x, y in loader:
            optimiser.zero_grad()
            noise = 0.1 * (np.random.normal() + random.gauss(0, 1))
            loss = (model(x + noise)[:, 0] - y).square().mean()
            loss.backward()
            optimiser.step()
            losses.append(loss.detach())
        if watch is not None:
            watch(epoch)
    states = (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate())
    return model, losses, states


# Shape checks draw from Python's generator: they look at one element of a list.
@pytest.mark.unchecked
@pytest.mark.parametrize("form", ["arrays", "loader"])
def test_training_gives_the_same_bits_with_a_watch_and_without(form: str) -> None:
    held = knocks(16, seed=1002)
    batches = held[:2] if form == "arrays" else DataLoader(TensorDataset(*held[:2]), batch_size=8)
    plain, plain_losses, plain_states = train(False, batches)
    model, losses, states = train(True, batches, held[2])
    assert all(torch.equal(one, other) for one, other in zip(plain_losses, losses, strict=True))
    assert states == plain_states
    for (name, one), other in zip(plain.state_dict().items(), model.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    # Batch normalisation counts what it sees in training mode: twelve batches and not one more.
    assert model[1].num_batches_tracked == 12


def test_a_loaders_own_generator_is_put_back() -> None:
    generator = torch.Generator().manual_seed(5)
    loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True, generator=generator)
    before = generator.get_state()
    Watch(level, loader)
    assert torch.equal(generator.get_state(), before)


def test_modes_gradients_and_hooks_are_left_as_they_were() -> None:
    model = network(dropout=0.2).train()
    model[1].eval()
    model(X).sum().backward()
    gradients = [one.grad.clone() for one in model.parameters()]
    kept = copy.deepcopy(model.state_dict())
    Watch(model, (X, Y))(0)
    assert [part.training for part in model] == [True, False, True, True, True, True, True]
    assert model.training
    assert torch.is_grad_enabled()
    assert all(torch.equal(one, now.grad) for one, now in zip(gradients, model.parameters(), strict=True))
    assert all(torch.equal(one, kept[name]) for name, one in model.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_the_model_is_put_back_after_an_error() -> None:
    model = network().train()
    fails: list[bool] = []
    watch = Watch(model, X, answer=lambda out: out[:0] if fails else out)
    fails.append(True)
    with pytest.raises(ValueError, match=r"model must return real numbers .* got \(0, 1\)"):
        watch(0)
    assert model.training
    assert watch.history == []


def test_every_second_epoch() -> None:
    watch = Watch(level, X, every=2)
    found = [bool(watch(epoch)) for epoch in range(5)]
    assert found == [True, False, True, False, True]
    assert [row.epoch for row in watch.history] == [0, 2, 4]
    # The same model on the same trajectories, exchanged in the same way.
    assert watch.history[0].exchange == watch.history[2].exchange


def test_names_have_the_prefix_that_was_asked_for() -> None:
    plain, named = Watch(level, X)(0), Watch(level, X, prefix="train/")(0)
    assert named == {name.replace("crest/", "train/"): value for name, value in plain.items()}
    assert Watch(level, X, prefix="")(0)["moved"] == plain["crest/moved"]


def test_only_so_many_trajectories_are_read_and_exchanged() -> None:
    read = []

    def loader() -> Any:
        for start in range(0, 32, 8):
            read.append(start)
            yield X[start : start + 8], Y[start : start + 8]

    asked = []

    def model(x: Tensor) -> Tensor:
        asked.append(len(x))
        return level(x)

    watch = Watch(model, loader(), exchange=ExchangeSettings(trajectories=16))
    assert read == [0, 8]
    asked.clear()
    watch(0)
    assert watch.history[0].exchange.trajectories == 16
    # All pairs of one block, the backgrounds alone, the trajectories as they are; five nuisances, and what is declared with six
    # donors. For repeatable predictions twice: two times as they are, in batches of three, four and sixteen, and eight alone.
    repeated = 2 * 16 + 6 * 3 + 4 * 4 + 2 * 16 + 8
    assert sum(asked) == 16 * 16 + 16 + 16 + 5 * 16 + 6 * 16 + 2 * repeated


def test_with_a_mask_padding_does_not_count() -> None:
    mask = torch.arange(STEPS).expand(len(X), STEPS) < 50

    def model(x: Tensor, mask: Tensor) -> Tensor:
        return (x[:, 0] * mask).sum(1) / mask.sum(1)

    padded = X.masked_fill(~mask[:, None], 7.0)
    first, second = Watch(model, (X, Y, mask)), Watch(model, (padded, Y, mask))
    assert first(0) == second(0)


def test_logits_and_half_precision() -> None:
    model = nn.Sequential(nn.Conv1d(1, 4, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 3))
    labels = (Y > 0).long()
    numbers = Watch(model, (X, labels))(0)
    assert 0 <= numbers["crest/error"] <= 1
    low = Watch(model.to(torch.bfloat16), (X, labels))(0)
    assert low["crest/background"] == pytest.approx(numbers["crest/background"], abs=0.1)


def test_a_constant_answer_has_no_shares() -> None:
    numbers = Watch(lambda x: x.new_ones(len(x)), X)(0)
    assert math.isnan(numbers["crest/transient"])
    assert numbers["crest/verdict"] == 0


def test_a_training_that_diverges_goes_on_and_the_row_says_so() -> None:
    model = network()
    watch = Watch(model, (X, Y), events=EVENTS)
    sound = watch(0)
    with torch.no_grad():
        model[-1].weight.fill_(math.nan)
    numbers = watch(1)
    assert set(numbers) == set(sound)
    assert all(math.isnan(value) for name, value in numbers.items() if name != "crest/verdict")
    assert numbers["crest/verdict"] == 0
    assert watch.notes[-1] == "the model's predictions are not finite in epoch 1"
    with torch.no_grad():
        model[-1].weight.fill_(1.0)
    assert math.isfinite(watch(2)["crest/moved"])


@pytest.mark.parametrize("named", [{}, {"features": "0", "head": "4"}])
def test_features_that_overflow_behind_a_bounded_activation_leave_the_credit_unknown(named: Any) -> None:
    torch.manual_seed(1000)
    model = nn.Sequential(
        nn.Conv1d(1, 4, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Tanh(), nn.Linear(4, 1)
    )
    watch = Watch(model, (X, Y), events=EVENTS, **named)
    sound = watch(0)
    with torch.no_grad():
        model[0].bias[0] = math.inf
    numbers = watch(1)
    assert set(numbers) == set(sound)
    unknown = {"core_credit", "core_chance", "cie", "precision", "ecm", "chance"}
    assert {name for name, value in numbers.items() if math.isnan(value)} == {
        f"crest/{one}" for one in unknown
    }
    assert watch.notes[-1] == "the model's features are not finite in epoch 1"
    # Before the first epoch it is a mistake.
    with pytest.raises(ValueError, match="features must be finite numbers, got NaN or infinity from '0'"):
        Watch(model, (X, Y))


def test_with_dead_units_the_credit_is_unknown_and_no_step_is_a_token() -> None:
    torch.manual_seed(1000)
    model = nn.Sequential(
        nn.Conv1d(1, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    watch = Watch(model, (X, Y))
    chance = watch(0)["crest/core_chance"]
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
    numbers = watch(1)
    assert math.isnan(numbers["crest/core_credit"])
    assert numbers["crest/core_chance"] == chance
    assert not any("token" in note for note in watch.notes)


def test_without_any_event_the_credit_is_unknown() -> None:
    numbers = Watch(network(), X, events=torch.zeros_like(EVENTS))(0)
    assert math.isnan(numbers["crest/cie"])
    assert math.isfinite(numbers["crest/core_credit"])


def test_the_history_is_printed_as_a_table() -> None:
    watch = Watch(network(), (X, Y))
    assert repr(watch) == "Watch of 32 trajectories, no epoch yet"
    for epoch in range(12):
        watch(epoch)
    head, names, *rows = repr(watch).splitlines()
    assert head == "Watch of 32 trajectories, the last 10 of 12 rows"
    assert names.split() == [
        "epoch", "transient", "background", "both", "moved", "error", "expected", "on", "core", "verdict",
    ]  # fmt: skip
    assert [int(row.split()[0]) for row in rows] == list(range(2, 12))
    assert f"{watch.history[-1].error:.3f}" in rows[-1]
    assert rows[-1].endswith(watch.history[-1].verdict)


def test_few_trajectories_give_no_verdict() -> None:
    watch = Watch(level, X[:4])
    assert watch(0)["crest/verdict"] == 0
    assert "fewer than 8 trajectories" in watch.notes[-1]


# -- bad input


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": 3}, "model must be a torch module, a function, or an object with predict, got int"),
        ({"model": nn.LazyLinear(1)}, "model must have its weights"),
        ({"model": lambda x: x}, "model must return"),
        ({"model": lambda x: level(x) * math.nan}, "the model's predictions must be finite"),
        ({"model": lambda x: torch.rand(len(x))}, "model must give the same prediction"),
        ({"batches": []}, "batches must hold at least one trajectory, got none"),
        ({"batches": X[:1]}, "batches must hold two trajectories or more"),
        ({"batches": 3}, "batches must be arrays"),
        ({"batches": (X, Y[:-1])}, "targets of batches must have a row"),
        ({"every": 0}, "every must be a whole number, 1 or more, got 0"),
        ({"every": 1.5}, "every must be a whole number"),
        ({"events": EVENTS[:-1]}, r"events must have shape \(N, T\) = \(32, 60\)"),
        ({"events": EVENTS[:, :-1]}, "events must have shape"),
        ({"events": EVENTS.float()}, "events must hold booleans"),
        ({"exchange": {"seed": 1}}, "exchange must be an? .*ExchangeSettings.* got dict"),
        ({"prefix": 3}, "prefix must be text, got 3"),
        ({"error": lambda got, wanted: got - wanted}, r"error must return one number, got shape \(32,\)"),
        ({"error": lambda got, wanted: None}, "error must return one number, got NoneType"),
        (
            {"model": lambda x: x[:, 0, :3], "batches": (X, torch.arange(len(X)) % 4)},
            "targets must be classes from 0 to 2, as many as the predictions have, got 0 to 3",
        ),
        ({"model": network(), "features": "nowhere"}, "features must name a module"),
        ({"model": network(), "head": "nowhere"}, "head must name a module"),
    ],
)
def test_bad_input_is_refused_before_the_first_epoch(given: dict[str, Any], message: str) -> None:
    model, batches = given.pop("model", level), given.pop("batches", (X, Y))
    with pytest.raises(ValueError, match=message):
        Watch(model, batches, **given)


def test_a_loader_that_shuffles_has_no_events() -> None:
    loader = DataLoader(TensorDataset(X, Y), shuffle=True)
    with pytest.raises(ValueError, match="shuffle=False"):
        Watch(level, loader, events=EVENTS)


@pytest.mark.unchecked
@pytest.mark.parametrize("epoch", [-1, 0.5, None, True])
def test_an_epoch_is_a_whole_number(epoch: Any) -> None:
    with pytest.raises(ValueError, match="epoch must be a whole number, 0 or more"):
        Watch(level, X)(epoch)


def test_lengths_are_watched_as_they_are_audited() -> None:
    x, y, lengths = ragged()
    model = Packed()
    watch = Watch(model, DataLoader(TensorDataset(x, y, lengths), 8))
    watch(0)
    assert watch.history[0].exchange == crest.audit(model, (x, y, lengths)).exchange
    assert watch.history[0].core_credit is not None


def test_a_function_that_gives_arrays_may_diverge_too() -> None:
    value = [1.0]
    watch = Watch(lambda x: (level(x) * value[0]).numpy(), X)
    value[0] = math.nan
    assert math.isnan(watch(0)["crest/transient"])


def test_the_model_is_the_one_that_was_given() -> None:
    def level(x: np.ndarray) -> np.ndarray:
        return np.asarray(x).mean((1, 2))

    watch = Watch(level, X)
    assert watch.model is level
    assert watch(0)["crest/verdict"] is not None
