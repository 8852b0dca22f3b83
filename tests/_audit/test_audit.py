"""The audit on models whose answer is known, with masks, classes, conditions and bad input."""

import copy
import dataclasses
import json
import math
import re

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest import ExchangeSettings, audit
from crest.strangers.lengths import mask_from
from packed_made import Packed, ragged

STEPS, EVENT = 120, 60


def knocks(count: int = 64, seed: int = 1000, noise: float = 0.02) -> tuple[Tensor, Tensor, Tensor]:
    """Signals (N, T, 1) with a level and a knock of six steps, and both."""
    generator = torch.Generator().manual_seed(seed)
    level, knock = torch.randn(2, count, generator=generator)
    x = level[:, None, None] + noise * torch.randn(count, STEPS, 1, generator=generator)
    x[:, EVENT : EVENT + 6, 0] += knock[:, None]
    return x, level, knock


class Pooled(nn.Module):
    """Features of each step are the signal and its departure from the median; what is pooled is chosen by `where`."""

    def __init__(self, where: slice, weights: tuple[float, float]) -> None:
        super().__init__()
        self.encoder, self.where = nn.Identity(), where
        self.features, self.fc = nn.Linear(2, 2, bias=False), nn.Linear(2, 1)
        with torch.no_grad():
            self.features.weight.copy_(torch.eye(2))
            self.fc.weight.copy_(torch.tensor([weights]))

    def forward(self, x: Tensor) -> Tensor:
        steps = self.features(torch.cat([x, x - x.median(1, keepdim=True).values], 2))
        return self.fc(steps[:, self.where].mean(1)).squeeze(1)


def reads_events() -> Pooled:
    return Pooled(slice(EVENT, EVENT + 6), (0.0, 1.0))


def reads_level() -> Pooled:
    return Pooled(slice(None), (1.0, 0.0))


def test_a_reader_of_events_and_a_reader_of_the_level() -> None:
    x, _, knock = knocks()
    good, bad = audit(reads_events(), (x, knock)), audit(reads_level(), x)
    assert (good.verdict, bad.verdict) == ("events", "background")
    assert "Leave the model as it is" in good.advice[0]
    assert good.expected_error == pytest.approx(good.error, rel=0.2)
    assert bad.exchange.movers() == ("offset",)
    assert good.error == pytest.approx(0.0, abs=0.1)
    assert good.deletion.core > 5 * good.deletion.others
    assert bad.deletion.core < 0.3


@pytest.mark.parametrize(
    ("weight", "verdict"), [(0.1, "events"), (0.29, "events"), (0.6, "background"), (3.0, "background")]
)
def test_a_little_of_the_level_is_no_alarm_and_as_much_as_of_the_knock_is_too_much(
    weight: float, verdict: str
) -> None:
    x, _, _ = knocks(256)

    def both(x: Tensor) -> Tensor:
        level = x[:, 20:50, 0].mean(1)
        return x[:, EVENT + 2, 0] - level + weight * level

    found = audit(both, x)
    # Two levels differ by twice the variance of one.
    assert found.exchange.together.moved == pytest.approx((2 * weight**2 / (1 + weight**2)) ** 0.5, rel=0.15)
    assert found.verdict == verdict


def test_the_interface_is_found_and_credit_measured_against_events() -> None:
    x, _, knock = knocks()
    events = torch.zeros(x.shape[:2], dtype=torch.bool)
    events[:, EVENT : EVENT + 6] = True
    found = audit(reads_events(), (x, knock), events=events)
    assert (found.interface.features, found.interface.head) == ("features", "fc")
    assert found.interface.axes == (0, 1, 2)
    assert found.credit.cie > 0.5
    assert found.credit.chance == pytest.approx(0.05)
    assert found.core_credit > found.core_chance
    spread = audit(reads_level(), x, events=events.numpy())
    assert spread.concentration > 0.8


def test_events_that_hold_none_and_events_that_nothing_is_compared_with_are_told() -> None:
    x, _, knock = knocks()
    none = torch.zeros(x.shape[:2], dtype=torch.bool)
    found = audit(reads_events(), (x, knock), events=none)
    assert found.credit is None
    assert "events hold no event in the 64 trajectories: nothing is compared with them" in " ".join(
        repr(found).split()
    )
    assert crest.Watch(reads_events(), (x, knock), events=none).notes == found.notes
    some = none.clone()
    some[:, EVENT] = True
    outside = audit(reads_events(), (x, knock), events=some, features=False)
    assert any("nothing is compared with the events" in note for note in outside.notes)
    assert not any("events" in note for note in audit(reads_events(), (x, knock), events=some).notes)


def test_a_function_has_no_interface() -> None:
    x, _, _ = knocks()
    found = audit(lambda x: x.mean((1, 2)), x.numpy())
    assert (found.interface, found.core_credit, found.error) == (None, None, None)
    assert found.verdict == "background"


def test_channels_first_is_found_and_changes_nothing() -> None:
    x, _, knock = knocks()
    last = audit(lambda x: x[:, EVENT + 2, 0], (x, knock))
    first = audit(lambda x: x[:, 0, EVENT + 2], (x.mT, knock))
    assert first.exchange == last.exchange
    assert "(B, C, T)" in first.notes[0]
    given = audit(lambda x: x[:, 0, EVENT + 2], (x.mT, knock), channels_first=True)
    assert given.notes == ()


def test_the_first_layer_tells_the_order_of_the_axes() -> None:
    """Wide signals: the longer axis is not time."""
    torch.manual_seed(0)
    x = torch.randn(32, 24, 40)
    model = nn.Sequential(nn.Linear(40, 4), nn.ReLU(), crest.MeanReadout(), nn.Linear(4, 1))
    found = audit(model, x)
    assert found.notes[0] == "inputs read as (B, T, C), because the first layer expects 40 channels"
    assert found.exchange == audit(model, x, channels_first=False).exchange


@pytest.mark.unchecked  # the shape checks stand between a door and who enters
def test_an_order_of_the_axes_that_looks_wrong_is_warned_of() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv1d(2, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    x, y = torch.randn(16, 2, 200), torch.randn(16)
    message = r"^channels_first=False makes 2 steps of 200 channels"
    for ask in (audit, crest.Watch, crest.repair):
        data = [(x, y)] if ask is crest.repair else (x, y)
        with pytest.warns(UserWarning, match=message) as told:
            ask(model, data, channels_first=False)
        # Who gave the order, not a line of ours.
        assert [one.filename for one in told if "channels_first=False makes" in str(one.message)] == [
            __file__
        ]


def test_as_many_steps_as_channels_are_not_confused() -> None:
    torch.manual_seed(0)
    block = nn.Sequential(nn.Conv1d(2, 32, 9, stride=4, padding=4), nn.ReLU())
    model = nn.Sequential(block, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 1))
    found = audit(model, torch.randn(16, 2, 128))
    assert (found.interface.features, found.interface.axes) == ("0", (0, 2, 1))


def test_no_batch_is_larger_than_asked_for() -> None:
    sizes: list[int] = []
    x, _, _ = knocks()

    def asked(x: Tensor) -> Tensor:
        sizes.append(len(x))
        return x.mean((1, 2))

    audit(asked, x, exchange=ExchangeSettings(batch_size=4))
    assert max(sizes) == 4


def test_few_trajectories_tell_too_little() -> None:
    x, _, _ = knocks(7)
    found = audit(lambda x: x.mean((1, 2)), x)
    assert found.verdict == "unclear"
    assert any(why.startswith("Fewer than 8 trajectories") for why in found.reasons)


def test_a_loader_that_shuffles_has_no_order_for_conditions() -> None:
    x, _, knock = knocks()
    data = torch.utils.data.TensorDataset(x, knock)
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    assert audit(reads_events(), loader).verdict == "events"
    with pytest.raises(ValueError, match=r"^batches must come in the order .* shuffle=False"):
        audit(reads_events(), loader, conditions=["a", "b"] * 32)


def test_a_mask_of_padding_is_not_taken_for_one_of_valid_steps() -> None:
    x, _, knock = knocks()

    def model(x: Tensor, key_padding_mask: Tensor) -> Tensor:
        return x.masked_fill(key_padding_mask.unsqueeze(2), 0.0).mean((1, 2))

    with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'key_padding_mask'"):
        audit(model, (x, knock, torch.ones(x.shape[:2], dtype=torch.bool)))


def test_a_model_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(
        ValueError, match=r"(?s)^model must take inputs .* RuntimeError: .*channels_first=True"
    ):
        audit(nn.Conv1d(7, 1, 3), torch.randn(8, 60, 2))


def test_a_mask_is_handed_on_by_name_or_by_place() -> None:
    x, _, knock = knocks()
    mask = torch.ones(x.shape[:2], dtype=torch.bool)
    mask[:, 100:] = False

    def by_name(x: Tensor, other: None = None, mask: Tensor | None = None) -> Tensor:
        return (x[..., 0] * mask).sum(1) / mask.sum(1)

    def by_place(x: Tensor, valid: Tensor) -> Tensor:
        return (x[..., 0] * valid).sum(1) / valid.sum(1)

    assert audit(by_name, (x, knock, mask)).exchange == audit(by_place, (x, knock, mask)).exchange


def test_logits_and_conditions() -> None:
    x, level, knock = knocks(128)

    def logits(x: Tensor) -> Tensor:
        knocked = x[:, EVENT + 2, 0] - x[:, 20, 0]
        return torch.stack([-knocked, knocked], 1)

    loads = ["high" if one > 0 else "low" for one in level]
    found = audit(logits, (x, (knock > 0).long()), conditions=loads)
    assert found.verdict == "events"
    assert found.error < 0.1
    assert set(found.by_condition) == {"high", "low"}
    assert sum(one.trajectories for one in found.by_condition.values()) == 128
    assert "high" in repr(found)


def test_classes_for_a_model_that_gives_one_number_are_told() -> None:
    x, _, knock = knocks()
    faults = (knock > 0).long()
    found = audit(reads_events(), (x, faults))
    assert any("the error is that of a regression" in note for note in found.notes)
    assert found.notes == crest.Watch(reads_events(), (x, faults)).notes
    assert not any("regression" in note for note in audit(reads_events(), (x, knock)).notes)


def test_it_fits_a_terminal_and_a_machine() -> None:
    x, _, knock = knocks()
    found = audit(reads_events(), (x, knock))
    assert all(len(line) <= 100 for line in repr(found).splitlines())
    assert repr(found).startswith("Audit of 64 trajectories: events")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["verdict"] == "events"
    assert plain["exchange"]["transient"] == pytest.approx(found.exchange.transient)
    assert plain["interface"]["features"] == "features"
    assert "traces" not in plain


def test_loaders_of_pairs_and_dicts_and_the_first_trajectories_alone() -> None:
    x, _, knock = knocks()
    pairs = [(x[:32], knock[:32]), (x[32:], knock[32:])]
    dicts = [{"x": a, "y": b} for a, b in pairs]
    model = reads_events()
    assert audit(model, pairs).exchange == audit(model, (x, knock)).exchange == audit(model, dicts).exchange

    def endless():
        while True:
            yield x[:32]

    assert audit(reads_events(), endless(), exchange=ExchangeSettings(trajectories=40)).trajectories == 40


def test_the_model_is_left_as_it_was_also_after_an_error() -> None:
    x, _, knock = knocks()
    model = nn.Sequential(
        nn.Conv1d(1, 4, 5), nn.BatchNorm1d(4), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    model.train()
    model[1].eval()
    before = copy.deepcopy(model.state_dict())
    audit(model, (x.mT, knock))
    model[4].weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match="finite"):
        audit(model, (x.mT, knock))
    model[4].weight.data[0, 0] = before["4.weight"][0, 0]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [part.training for part in model] == [True, False, True, True, True]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_a_model_that_answers_differently_is_told() -> None:
    x, _, _ = knocks()
    with pytest.raises(ValueError, match=r"^model must give the same prediction .* dropout"):
        audit(lambda x: nn.functional.dropout(x, 0.5).mean((1, 2)), x)


class Tangled(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": x.mean((1, 2))}


def test_other_answers_are_taken_out() -> None:
    x, _, _ = knocks()
    with pytest.raises(
        ValueError,
        match=r"^model must return a tensor, got dict with 'logits'.*: pass output=, such as output='logits', or answer=",
    ):
        audit(Tangled(), x)
    assert audit(Tangled(), x, answer=lambda out: out["logits"]).verdict == "background"


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 3}, "^model must be a torch module, a function, or an object with predict, got int"),
        ({"batches": []}, "^batches must hold at least one trajectory"),
        ({"batches": torch.zeros(1, 50, 1)}, "^batches must hold two trajectories or more"),
        (
            {"batches": torch.zeros(4, 50)},
            r"^model must take inputs \(4, 50\); .*Give x\[..., None\] for \(B, T, C\)",
        ),
        ({"batches": torch.zeros(4, 50, 1, 1)}, r"^batches must hold inputs of shape \(B, T, C\)"),
        ({"batches": torch.zeros(4, 50, 1, dtype=torch.long)}, "^inputs of batches must be floating-point"),
        ({"batches": torch.full((4, 50, 1), torch.nan)}, "^inputs must be finite"),
        (
            {"batches": (torch.zeros(4, 50, 1), torch.zeros(3))},
            "^targets of batches must have a row for each of 4",
        ),
        ({"batches": [{"a": torch.zeros(4, 50, 1)}]}, "^batches must name their inputs by one of .* got a"),
        ({"batches": 3}, "^batches must be arrays"),
        ({"features": "nothing"}, "^features must name a module inside the model, such as .*; got 'nothing'"),
        ({"head": "nothing"}, "^head must name a module inside the model"),
        ({"features": "encoder"}, "^features must name a module that gives"),
        ({"events": torch.zeros(64, 7)}, r"^events must have shape \(N, T\)"),
        ({"conditions": ["a"] * 64}, "^conditions need targets"),
        ({"exchange": {"sigma": 0}}, "^exchange must be an? .*ExchangeSettings.* got dict"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    arguments = {"model": reads_events(), "batches": knocks()[0]} | changes
    with pytest.raises(ValueError, match=message):
        audit(**arguments)


def test_targets_beside_the_inputs_are_told_to_be_one_with_them() -> None:
    x, _, knock = knocks()
    for ask in (audit, crest.Watch, crest.repair):
        with pytest.raises(TypeError, match=r"Inputs and targets are one: \(x, y\)$"):
            ask(reads_events(), x, knock)


def test_a_constant_answer_follows_nothing() -> None:
    x, _, _ = knocks()
    found = audit(lambda x: torch.ones(len(x)), x)
    assert found.verdict == "unclear"
    assert found.deletion is None
    assert "is the same for every trajectory, so it follows nothing" in found.reasons[0]
    assert crest.Audit is type(found)


def test_numpy_masks_and_double_precision() -> None:
    x, _, knock = knocks()
    mask = np.ones(x.shape[:2], dtype=bool)
    found = audit(lambda x, mask: x[:, EVENT + 2, 0] - x[:, 20, 0], (x.double().numpy(), knock.numpy(), mask))
    assert found.verdict == "events"


def test_conditions_beyond_what_is_looked_at_are_told() -> None:
    x, _, knock = knocks(40)
    conditions = ["bench"] * 30 + ["field"] * 10
    found = audit(
        reads_events(), (x, knock), conditions=conditions, exchange=ExchangeSettings(trajectories=20)
    )
    assert any("not among the first 20 of 40 trajectories: field" in note for note in found.notes)
    whole = audit(reads_events(), (x, knock), conditions=conditions)
    assert not any("not among the first" in note for note in whole.notes)


@pytest.mark.parametrize("part", [0.0, 0.17])
def test_a_model_that_errs_nearly_as_much_as_a_constant_is_to_be_trained_first(part: float) -> None:
    """It follows the events, and has learnt a part of what they say."""
    x, _, knock = knocks(64)
    model = reads_events()
    weak = lambda x: knock.mean() + (part + 1e-3) * model(x)  # noqa: E731
    found = audit(weak, (x, knock), id_error=10.0)
    assert (found.verdict, found.exchange.verdict) == ("unclear", "events")
    assert found.error > 0.8 * found.exchange.constant_error
    (advice,) = found.advice
    assert advice.startswith("Train the model for longer first: it has hardly learnt its task.")
    assert advice.endswith("the audit cannot tell where it reads.")
    assert f"{found.error:.3g}" in advice
    # Nobody says whether these are data as in training.
    as_in_training, field = audit(weak, (x, knock)).advice
    assert as_in_training == f"If these are data as in training: t{advice[1:]}"
    assert field.startswith("If these are data from the field: ")
    assert "Leave the model as it is" in audit(lambda x: 0.5 * model(x), (x, knock)).advice[0]


def test_a_model_worse_than_a_constant_is_asked_for_its_weights_and_nothing_else() -> None:
    x, _, knock = knocks(64)
    found = audit(reads_level(), (x, knock))
    assert (found.verdict, found.exchange.verdict) == ("unclear", "background")
    advice, field = found.advice
    assert "above that of a constant prediction" in advice
    assert field.startswith("If these are data from the field: ")


def test_a_model_with_batch_normalisation_that_fails_is_to_be_compared_in_both_modes() -> None:
    x, _, knock = knocks(64)
    for norm, told in ((nn.BatchNorm1d(1), True), (nn.Identity(), False)):
        model = nn.Sequential(norm, nn.Conv1d(1, 1, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        advice = audit(model, (x.mT, knock), channels_first=True).advice
        assert any("hardly learnt" in one or "above that of a constant" in one for one in advice)
        assert any("model.train()" in one and "model.eval()" in one for one in advice) is told


def test_the_error_of_a_constant_is_shown() -> None:
    x, _, knock = knocks(64)
    found = audit(reads_events(), (x, knock))
    assert f", of a constant prediction {found.exchange.constant_error:.3g}" in repr(found)
    assert "Train the model" not in repr(audit(reads_events(), x))


def test_lengths_say_what_a_mask_says() -> None:
    x, y, lengths = ragged()
    model, mask = Packed(), mask_from(lengths, x)
    found = audit(model, (x, y, lengths))
    assert found.interface.features == "rnn"
    assert found.core_credit is not None
    # Batches that are padded to their own longest trajectory, as a loader gives them.
    own = [
        {"x": x[rows, : lengths[rows].max()], "y": y[rows], "lengths": lengths[rows]}
        for rows in torch.arange(24).split(8)
    ]
    turned = audit(lambda x, lengths: model(x.mT, lengths), (x.mT, y, lengths), channels_first=True)
    assert found.exchange == audit(model, (x, y, mask)).exchange == audit(model, own).exchange
    assert turned.exchange == found.exchange


def test_the_advice_for_batches_with_lengths_can_be_followed() -> None:
    x, _, lengths = ragged()
    y = x[:, 0, 0]
    advice = " ".join(audit(lambda x, lengths: x[:, 0, 0], (x, y, lengths)).advice)
    made = re.search(r"crest\.remedies\.WithFront\(.*?\), model\)", advice)
    assert made is not None
    mended = eval(made.group(), {"crest": crest, "model": Packed()})
    assert audit(mended, (x, y, lengths)).trajectories == len(x)
    assert "WithFront" not in " ".join(audit(lambda x: x[:, 0, 0], (x, y)).advice)


def test_a_model_that_wants_sorted_lengths_is_told_what_to_do() -> None:
    with pytest.raises(
        ValueError, match=r"^model must take trajectories in any order .* enforce_sorted=False"
    ):
        audit(Packed(enforce_sorted=True), ragged())


def test_a_model_that_takes_lengths_and_is_given_none_is_told() -> None:
    x, y, _ = ragged()
    with pytest.raises(
        ValueError, match=r"^model must take inputs .* 'lengths'. A mask or lengths that it needs must come"
    ):
        audit(Packed(), (x, y))


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_value_that_is_not_finite_is_found_in_the_users_own_batch(channels_first: bool) -> None:
    x, y = torch.randn(20, 50, 2), torch.randn(20)
    x[14, 30, 1] = torch.nan

    def batches(y: Tensor) -> list[tuple[Tensor, Tensor]]:
        given = x.mT if channels_first else x
        return list(zip(given.split(8), y.split(8), strict=True))

    place = r"\[6, 1, 30\] of \(B, C, T\)" if channels_first else r"\[6, 30, 1\] of \(B, T, C\)"
    with pytest.raises(
        ValueError, match=rf"^inputs must be finite, .* the first at index {place} in batch 1$"
    ):
        audit(lambda x: x.mean((1, 2)), batches(y))
    x[14, 30, 1], y[17] = 0.0, torch.inf
    with pytest.raises(ValueError, match=r"^targets must be finite, .* the first at index \[1\] in batch 2$"):
        audit(lambda x: x.mean((1, 2)), batches(y))


def test_padding_that_nobody_told_of_is_asked_about() -> None:
    x, _, knock = knocks(64)
    x[:20, -30:] = 0
    assert any(
        "20 of 64 trajectories end in zeros" in note for note in audit(reads_events(), (x, knock)).notes
    )
    lengths = torch.full((64,), x.shape[1])
    model = reads_events()
    told = audit(lambda x, lengths: model(x), (x, knock, lengths))
    assert not any("end in zeros" in note for note in told.notes)


# -- what was declared, conditions and premises


SMALL = ExchangeSettings(trajectories=64, block=4, bootstrap=100)


def tied_knocks(count: int = 64, tie: float = 1.0) -> tuple[Tensor, Tensor]:
    """A burst without a mean whose size is the target, on a level that follows the target."""
    numbers = torch.Generator().manual_seed(1000)
    size, other = torch.randn(2, count, generator=numbers)
    level = tie * size + (1 - tie**2) ** 0.5 * other
    x = 2 * level[:, None] + 0.02 * torch.randn(count, STEPS, generator=numbers)
    x[:, EVENT : EVENT + 6] += (5 + size)[:, None] * torch.tensor([1.0, -1.0]).repeat(3)
    return x.unsqueeze(-1), size


def test_on_a_tied_level_a_reader_behind_ac_coupling_reads_events_and_a_mean_reader_the_background() -> None:
    x, size = tied_knocks()

    def coupled(x: Tensor) -> Tensor:
        x = x - x.mean(1, keepdim=True)
        return (x[:, EVENT, 0] - x[:, EVENT + 1, 0]) / 2 - 5

    good = audit(coupled, (x, size), exchange=SMALL)
    bad = audit(lambda x: x.mean((1, 2)) / 2, (x, size), exchange=SMALL)
    assert (good.verdict, bad.verdict) == ("events", "background")
    # Both are right on these data; what is expected of them is not.
    assert max(good.error, bad.error) < 0.1
    assert good.expected_error < 0.1
    assert bad.expected_error > 0.5
    assert bad.advice[0].startswith('Offset moves it most. Try: put crest.HighPass("level") in front')


def test_what_is_declared_decides() -> None:
    x, _, _ = knocks()
    gains = torch.linspace(-1, 1, len(x)).exp()[:, None, None]

    def loudness(x: Tensor) -> Tensor:
        steps = x[:, :50, 0]
        return (steps - steps.mean(1, keepdim=True)).abs().mean(1).log()

    loud = gains * (x - x.mean(1, keepdim=True))
    assert audit(loudness, loud, exchange=SMALL).verdict == "events"
    asked = " ".join(audit(loudness, loud, exchange=SMALL).reasons)
    assert "Not declared, but it moves the predictions: gain" in asked
    found = audit(loudness, loud, invariant=["gain"], exchange=SMALL)
    assert found.verdict == "background"
    assert found.exchange.invariant == ("gain",)
    with pytest.raises(ValueError, match=r"^invariant must be of offset, .* got 'speed'"):
        audit(loudness, loud, invariant=["speed"])


def test_a_model_without_a_core_to_read_is_unclear_with_the_reason() -> None:
    numbers = torch.Generator().manual_seed(1000)
    level = torch.randn(32, 1, 1, generator=numbers)
    # A wave throughout: no step stands out.
    phase = 6.3 * torch.rand(32, 1, 1, generator=numbers)
    x = level + torch.sin(0.8 * torch.arange(STEPS)[:, None] + phase)
    found = audit(lambda x: x.mean((1, 2)), (x, level.flatten()), exchange=SMALL)
    assert found.sharp < 0.5
    assert found.verdict == "unclear"
    assert any(why.startswith("A brief core stands out in") for why in found.reasons)


def test_a_target_that_nothing_brief_tells_is_unclear_with_the_reason() -> None:
    x, level, _ = knocks(64, seed=1001)
    found = audit(lambda x: x.mean((1, 2)), (x, level), exchange=SMALL)
    assert found.exchange.verdict == "background"
    assert found.verdict == "unclear"
    assert any(
        "A simple reader cannot tell the target from the brief part alone" in why for why in found.reasons
    )


def by_speed(count: int = 64, breaking: int = 8) -> tuple[Tensor, Tensor, list[int]]:
    """Bursts of two sizes at two speeds; size and speed part in the last few. The loudness of the noise tells the speed."""
    numbers = torch.Generator().manual_seed(1000)
    size = torch.tensor([0, 1]).repeat(count // 2)
    speed = size.clone()
    speed[count - breaking :] = 1 - speed[count - breaking :]
    x = (0.1 + 0.3 * speed)[:, None] * torch.randn(count, STEPS + 1, generator=numbers).diff(dim=1)
    x[:, EVENT : EVENT + 6] += (8 + 8 * size)[:, None] * torch.tensor([1.0, -1.0]).repeat(3)
    return x.unsqueeze(-1), size, [600 + 300 * one for one in speed.tolist()]


def reads_size(x: Tensor) -> Tensor:
    size = (x[:, EVENT, 0] - x[:, EVENT + 1, 0]) / 2 - 12
    return torch.stack([-size, size], 1)


def reads_speed(x: Tensor) -> Tensor:
    loud = x[:, : EVENT - 10, 0].abs().mean(1).log() - math.log(0.22)
    return torch.stack([-loud, loud], 1)


def test_those_that_break_the_tie_tell_a_reader_of_the_speed_from_one_of_the_size() -> None:
    x, size, speed = by_speed()
    good, bad = (
        audit(reader, (x, size), conditions=speed, exchange=SMALL) for reader in (reads_size, reads_speed)
    )
    assert (good.verdict, bad.verdict) == ("events", "background")
    assert good.tie.breaking == bad.tie.breaking == 8
    assert (good.tie.breaking_error, bad.tie.breaking_error) == (0.0, 1.0)
    assert "target x condition: trajectories (error)" in repr(bad)
    assert any("This is direct evidence, so it decides." in why for why in bad.reasons)
    # Without conditions nobody can see it: nothing that was declared moves it.
    assert audit(reads_speed, (x, size), exchange=SMALL).verdict == "events"
    assert bad.advice[0].startswith("Gain moves it most. Try: put crest.Standardise()")
    straight = by_speed(breaking=0)
    alone = audit(reads_speed, straight[:2], conditions=straight[2], exchange=SMALL)
    assert alone.tie.strength > 0.9
    assert any("No trajectory breaks the tie" in why for why in alone.reasons)


def test_conditions_come_in_several_columns_and_once_only() -> None:
    x, size, speed = by_speed()
    plain = audit(reads_speed, (x, size), conditions=speed, exchange=SMALL)
    columns = {"speed": (one for one in speed), "load": np.array(["low"] * len(speed))}
    found = audit(reads_speed, (x, size), conditions=columns, exchange=SMALL)
    assert found.tie.conditions == ("600, low", "900, low")
    assert found.tie.counts == plain.tie.counts
    assert audit(reads_speed, (x, size), conditions=iter(speed), exchange=SMALL).tie == plain.tie
    assert set(found.by_condition) == {"600, low", "900, low"}
    told = "A condition tells nothing here: conditions['load'] must vary, got 'low' for every trajectory."
    assert told in found.reasons
    assert told not in plain.reasons


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (["a"] * 63, "^conditions must have a value for each of the 64 trajectories, got 63"),
        ({"speed": [1] * 64, "load": [1] * 60}, r"^conditions\['load'\] must have shape \(N,\) = \(64,\)"),
        ({}, "^conditions must have a column or more"),
        ([None] * 64, "^conditions must name a condition for each trajectory, got None"),
    ],
)
def test_messages_about_conditions(conditions: object, message: str) -> None:
    x, size, _ = by_speed()
    with pytest.raises(ValueError, match=message):
        audit(reads_size, (x, size), conditions=conditions, exchange=SMALL)


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (["bench"] * 64, "must vary, got 'bench'"),
        ([f"m{one}" for one in range(64)], "a condition of its own"),
    ],
)
def test_conditions_that_do_not_vary_or_never_repeat_are_told_as_such(
    conditions: list[str], told: str
) -> None:
    x, size, _ = by_speed()
    found = audit(reads_size, (x, size), conditions=conditions, exchange=SMALL)
    assert (found.tie, found.verdict) == (None, "events")
    assert sum(told in one for one in found.reasons) == 1
    assert not any("tied" in one for one in found.reasons)
    assert set(found.by_condition) == set(conditions)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_windows_of_few_steps_are_audited_too(steps: int) -> None:
    x = torch.randn(16, steps, 1, generator=torch.Generator().manual_seed(1000))
    found = audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2))), exchange=SMALL)
    assert found.exchange.varies
    assert found.verdict in ("unclear", "background")


def slow(steps: int = 200) -> tuple[Tensor, Tensor]:
    """A target that lives in the level, beside bursts that tell nothing of it."""
    generator = torch.Generator().manual_seed(1002)
    target, size = torch.randn(2, 64, generator=generator)
    x = target[:, None] + 0.1 * torch.randn(64, steps, generator=generator)
    x[:, steps // 2 : steps // 2 + 4] += 5 + size[:, None]
    return x.unsqueeze(-1), target


NOT_BRIEF = "A simple reader cannot tell the target from the brief part alone"


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_constant_channel_does_not_turn_off_the_look_at_what_is_brief(more: int) -> None:
    x, target = slow()
    wide = torch.cat([x, *(torch.full_like(x, 3.0 * one) for one in range(more))], 2)
    found = audit(lambda x: x[..., 0].mean(1), (wide, target), exchange=SMALL)
    assert found.exchange.verdict == "background"
    assert found.verdict == "unclear"
    assert any(one.startswith(NOT_BRIEF) for one in found.reasons)


def test_why_what_is_brief_could_not_be_looked_at_is_told() -> None:
    x, target = slow(12)
    found = audit(lambda x: x[..., 0].mean(1), (x, target), exchange=SMALL)
    assert found.exchange.verdict == "background"
    (told,) = [one for one in found.reasons if "It was not tested whether" in one]
    assert told.startswith(
        "It was not tested whether a simple reader can tell the target from the brief part alone: inputs must"
    )
    assert "16 valid steps or more in each trajectory for a spectrum, got 12" in told
    events = audit(lambda x: x[..., 0].mean(1) - x[..., 0].median(1).values, (x, target), exchange=SMALL)
    assert not any(
        "It was not tested whether" in one
        for one in events.reasons
        if events.exchange.verdict != "background"
    )


def test_constant_channels_are_audited_too() -> None:
    x, _, knock = knocks()
    dead = torch.cat([x, torch.full_like(x, 3.0), torch.zeros_like(x)], 2)
    model = reads_events()
    found = audit(lambda x: model(x[..., :1]), (dead, knock), exchange=SMALL)
    assert found.verdict == "events"
    flat = torch.arange(16.0)[:, None, None].expand(16, STEPS, 1)
    still = audit(lambda x: x.mean((1, 2)), (flat, torch.arange(16.0)), exchange=SMALL)
    assert still.exchange.movers() == ("offset",)
    assert still.verdict == "unclear"


@pytest.mark.parametrize("count", [39, 41, 80])
def test_conditions_are_one_for_each_trajectory_that_was_brought(count: int) -> None:
    """Also for those that are not looked at: a column that is too short by a few is another column."""
    x, size, _ = by_speed()
    x, size = x[:40], size[:40]
    for brought in (
        (x, size),
        [(x[:20], size[:20]), (x[20:], size[20:])],
        DataLoader(TensorDataset(x, size), 8),
    ):
        with pytest.raises(
            ValueError, match=f"conditions must have a value for each of the 40 trajectories, got {count}"
        ):
            audit(
                reads_size,
                brought,
                conditions=["a", "b"] * (count // 2) + ["a"] * (count % 2),
                exchange=SMALL,
            )


def test_how_many_were_looked_at_is_told() -> None:
    x, size, _ = by_speed()
    some = audit(reads_size, (x, size), exchange=dataclasses.replace(SMALL, trajectories=16))
    assert any(
        note.startswith(f"the first 16 of {len(x)} trajectories were looked at") for note in some.notes
    )
    whole = audit(reads_size, (x, size), exchange=dataclasses.replace(SMALL, trajectories=len(x)))
    assert not any("were looked at" in note for note in whole.notes)
