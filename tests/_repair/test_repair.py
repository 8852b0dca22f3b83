import copy
import dataclasses
import itertools
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest._repair import AS_IT_IS
from crest._repair.repaired import beats
from crest.exchange.rule import NEAR
from crest.recordings import Trajectories
from crest.remedies import CONTROL, USUAL_REMEDIES
from crest.strangers.lengths import mask_from
from knocks_made import STEPS, fit, knocks, network, one_step, split
from packed_made import Unpacked, ragged
from pooled_in_a_line import PLAIN, WITH_LENGTHS, MaskedLast, made

QUICK: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=16, block=4)}
TRAIN = split(*knocks(128, tie=0.99, seed=1000))
HELD_OUT = split(*knocks(64, tie=0.99, seed=1001))
BROKEN = split(*knocks(64, tie=0.0, seed=1002))


@pytest.fixture(scope="module")
def model() -> nn.Module:
    made = network()
    fit(made, TRAIN)
    return made


@pytest.fixture(scope="module")
def repaired(model: nn.Module) -> crest.Repaired:
    return crest.repair(
        model,
        TRAIN,
        fit=fit,
        validation=HELD_OUT,
        field=BROKEN,
        remedies=["AC coupling", "re-anchored"],
        **QUICK,
    )


def error(model: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> float:
    x, y = (torch.cat(parts) for parts in zip(*batches, strict=True))
    with torch.no_grad():
        return float((model.eval()(x)[:, 0] - y).square().mean().sqrt())


# -- what it is for


def test_the_repaired_model_reads_the_knock(model: nn.Module, repaired: crest.Repaired) -> None:
    assert repaired.name == repaired.choice.name == "AC coupling"
    assert error(repaired.model, BROKEN) < 0.5 * error(copy.deepcopy(model), BROKEN)
    assert repaired.after.transient > 0.9
    assert repaired.before.transient < 0.1


def test_the_numbers_are_those_of_the_models(model: nn.Module, repaired: crest.Repaired) -> None:
    assert repaired.after.id_error == pytest.approx(error(repaired.model, HELD_OUT), rel=1e-5)
    assert repaired.after.field_error == pytest.approx(error(repaired.model, BROKEN), rel=1e-5)
    assert repaired.before.id_error == pytest.approx(error(copy.deepcopy(model), HELD_OUT), rel=1e-5)
    asked = crest.exchange_test(
        lambda x: repaired.model(x.mT), HELD_OUT_JOINED[0].mT, targets=HELD_OUT_JOINED[1], **QUICK
    )
    assert repaired.after.exchange == asked
    assert repaired.after.expected_error == asked.expected_error == asked.together.error
    assert repaired.reanchored is not None
    assert list(repaired.candidates) == [AS_IT_IS, CONTROL, "AC coupling", "re-anchored"]
    assert not repaired.model.training


HELD_OUT_JOINED = [torch.cat(parts) for parts in zip(*HELD_OUT, strict=True)]


def test_the_given_model_stays_as_it_was(model: nn.Module) -> None:
    before = copy.deepcopy(model.state_dict())
    given = []

    def keep(copied: nn.Module, batches: Iterable[Any]) -> None:
        given.append(copied)
        one_step(copied, batches)

    state = torch.random.get_rng_state()
    found = crest.repair(model, TRAIN, fit=keep, validation=HELD_OUT, **QUICK)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert set(found.candidates) == {AS_IT_IS, CONTROL, *USUAL_REMEDIES}
    assert not found.skipped
    assert len({id(one) for one in given}) == len(given) == len(USUAL_REMEDIES)
    assert all(part is not model for one in given for part in one.modules())
    after = model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert isinstance(model[2], nn.AdaptiveAvgPool1d)
    assert model.training
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_where_the_rule_cannot_tell_the_model_stays_as_it_is(model: nn.Module) -> None:
    others = [name for name in USUAL_REMEDIES if name != "re-anchored"]
    found = crest.repair(model, TRAIN, validation=HELD_OUT, remedies=others, **QUICK)
    assert found.choice.name is None
    assert found.name == AS_IT_IS
    assert not found.changed
    assert found.before is found.after
    x = HELD_OUT_JOINED[0]
    assert torch.equal(found.model(x), copy.deepcopy(model).eval()(x))
    assert found.model is not model
    assert "No remedy was tried, so there was nothing to choose from." in str(found).replace("\n ", "")

    assert set(found.skipped) == set(others)
    assert all("fit=" in why for why in found.skipped.values())


def test_the_rule_is_that_of_choose(model: nn.Module) -> None:
    found = crest.repair(model, TRAIN, validation=HELD_OUT, remedies=["re-anchored"], **QUICK)
    tests = {name: (one.exchange, one.id_error) for name, one in found.candidates.items()}
    again = crest.choose(tests, keep=AS_IT_IS)
    assert found.choice == again


def test_a_repaired_model_that_has_hardly_learnt_its_task_is_told(
    model: nn.Module, repaired: crest.Repaired
) -> None:
    class Little(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            return 0.1 * self.model(x)

    found = crest.repair(Little(), TRAIN, validation=HELD_OUT, remedies=[], **QUICK)
    assert any("hardly learnt its task" in note for note in found.notes)
    assert not any("hardly learnt its task" in note for note in repaired.notes)


def test_held_out_batches_that_are_recordings_or_turned_are_told_apart(model: nn.Module) -> None:
    recorded = Trajectories(x=np.ones((8, 60, 1)), y=np.arange(8.0), sample_rate=1.0, channels=("a",))
    for name in ("validation", "field"):
        held: dict[str, Any] = {"validation": HELD_OUT} | {name: recorded}
        with pytest.raises(
            ValueError, match=rf"{name} must hold batches, got Trajectories: take x, y, \*_ = part.tensors"
        ):
            crest.repair(model, TRAIN, remedies=[], **QUICK, **held)
        x, y = HELD_OUT[0]
        with pytest.raises(
            ValueError, match=rf"{name} must have the 1 channels .* are \(B, C, T\).*Pass x.mT"
        ):
            crest.repair(model, TRAIN, remedies=[], **QUICK, **(held | {name: [(x.mT, y)]}))


def test_the_field_never_chooses(model: nn.Module) -> None:
    x, y = BROKEN[0]
    fields = [None, [(x, y)], [(x, -y)]]
    options: dict[str, Any] = {"fit": fit, "validation": HELD_OUT, "remedies": ["AC coupling"], **QUICK}
    found = [crest.repair(model, TRAIN, field=field, **options) for field in fields]
    assert {one.choice.name for one in found} == {"AC coupling"}
    assert len({repr(one.choice) for one in found}) == 1
    answers = [one.model(x) for one in found]
    assert all(torch.equal(answer, answers[0]) for answer in answers)
    assert found[0].after.field_error is None
    assert found[1].after.field_error < 0.5
    assert found[2].after.field_error > 1


def test_a_candidate_that_fails_in_the_field_is_told_and_nothing_is_lost(model: nn.Module) -> None:
    class Breaks(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) / (x.amax() < 50)

    found = crest.repair(
        model, TRAIN, fit=lambda copied, _: Breaks(copied), validation=HELD_OUT, field=[(100 + x, y) for x, y in BROKEN],
        remedies=["AC coupling"], **QUICK,
    )  # fmt: skip
    assert found.candidates["AC coupling"].field_error != found.candidates["AC coupling"].field_error
    assert any("In the field AC coupling failed" in note for note in found.notes)
    assert found.to_dict()["candidates"]["AC coupling"]["field_error"] is None


# -- the control


def ringing(count: int, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Bursts whose size is the target. Neither they nor the signals have a mean."""
    numbers = torch.Generator().manual_seed(seed)
    y, x = torch.randn(count, generator=numbers), 0.1 * torch.randn(count, 1, STEPS, generator=numbers)
    for row, first in enumerate(torch.randint(20, STEPS - 28, (count,), generator=numbers).tolist()):
        x[row, 0, first : first + 8] += (2 + 0.5 * y[row]) * torch.tensor([1.0, -1.0]).repeat(4)
    return split(x - x.mean(2, keepdim=True), y)


def test_ac_coupling_of_zero_mean_signals_is_not_better_than_more_training() -> None:
    """There is nothing to take off, so the candidate is the control, and its gain is that of more training."""
    train = ringing(128, seed=1000)
    model = network()
    fit(model, train, epochs=3)
    options: dict[str, Any] = {"validation": ringing(64, seed=1001), "remedies": ["AC coupling"], **QUICK}
    found = crest.repair(model, train, fit=fit, **options)
    coupled, control = found.candidates["AC coupling"], found.control
    assert coupled.expected_error < 0.7 * found.before.expected_error
    assert coupled.expected_error == pytest.approx(control.expected_error, rel=1e-3)
    assert coupled.id_error == pytest.approx(control.id_error, rel=1e-3)
    assert not beats(coupled, control)
    assert found.name in (CONTROL, "AC coupling")
    # Whatever is taken of two that are one, no remedy gets the credit for more training.
    said = " ".join(found.notes)
    assert "No remedy is clearly better than training longer alone" in said or "not clearly better" in said


def test_the_control_is_beside_whatever_is_trained_and_nothing_else(
    model: nn.Module, repaired: crest.Repaired
) -> None:
    options: dict[str, Any] = {"validation": HELD_OUT, **QUICK}
    for remedies in (["exchange"], [CONTROL, "exchange"], {"mine": lambda x: x}):
        found = crest.repair(model, TRAIN, fit=one_step, remedies=remedies, **options)
        assert list(found.candidates)[:2] == [AS_IT_IS, CONTROL]
        assert len(found.candidates) == 3
    assert crest.repair(model, TRAIN, fit=one_step, remedies=["re-anchored"], **options).control is None
    without = crest.repair(model, TRAIN, **options)
    assert without.control is None
    assert CONTROL not in without.skipped
    (note,) = [note for note in repaired.notes if note.startswith("Training longer alone gives")]
    assert "not clearly better" not in note


# -- remedies of one's own


class ReadsRing(nn.Module):
    """Reads a burst by its ring, which is fast; 0.2 too high."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return (x[:, 0, 96:104] * torch.tensor([1.0, -1.0] * 4)).mean(1) + 0.2 + self.weight


class ReadsBump(ReadsRing):
    """Reads the slow bump below the burst, over the level."""

    def forward(self, x: Tensor) -> Tensor:
        return (x[:, 0, 96:104].mean(1) - x[:, 0, :60].mean(1)) / BUMP[96:104].mean() + self.weight


class ReadsLevel(ReadsRing):
    """Reads the level, which follows the target."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0, :60].mean(1) + self.weight


BUMP = torch.exp(-(((torch.arange(200) - 100) / 4) ** 2) / 2)


def bursts_on_a_bump(count: int) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1000)
    size = 1 + 2 * torch.rand(count, generator=draw)
    x = 0.02 * torch.randn(count, 1, 200, generator=draw) + size[:, None, None] * (1 + BUMP)
    x += 0.05 * torch.randn(count, 1, 1, generator=draw)
    x[..., 96:104] += size[:, None, None] * torch.tensor([1.0, -1.0] * 4)
    return x, size


def test_who_trains_with_the_separation_of_the_test_is_judged_by_another_too() -> None:
    """The core keeps its own bump when what is around it is exchanged; a low-pass hands the bump on."""
    made = iter([ReadsLevel(), ReadsBump(), ReadsRing()])
    batches = [bursts_on_a_bump(64)]
    found = crest.repair(
        ReadsLevel(),
        batches,
        fit=lambda *_: next(made),
        validation=batches,
        remedies=["core exchange", "AC coupling"],
        channels_first=True,
    )
    flattered, sound = (found.candidates[name] for name in ("core exchange", "AC coupling"))
    assert flattered.exchange.expected_error is not None
    assert flattered.id_error < sound.id_error
    assert sound.expected_error is not None
    # By the shared separation alone the first would have been chosen.
    assert NEAR * flattered.exchange.expected_error < sound.expected_error
    assert found.name == "AC coupling"
    assert flattered.expected_error == flattered.other_error > NEAR * sound.expected_error
    assert sound.other_error is None
    assert found.choice.candidates["core exchange"].expected_error == flattered.other_error
    (note,) = (note for note in found.notes if "another separation" in note)
    assert note.endswith(
        f"core exchange ({flattered.exchange.expected_error:.3g} and {flattered.other_error:.3g})."
    )


def test_a_front_a_function_a_pair_and_a_known_remedy(model: nn.Module) -> None:
    class Coupled(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x - x.mean(2, keepdim=True)

    seen: dict[str, list[bool]] = {}

    def watched(copied: nn.Module, batches: Iterable[Any]) -> None:
        x = torch.cat([x for x, _ in batches])
        turned = bool((x == -torch.cat([x for x, _ in TRAIN])).all())
        seen.setdefault(type(copied).__name__, []).append(turned)
        fit(copied, batches)

    remedies = {
        "couple": Coupled(), "turn": lambda x: -x, "both": (Coupled(), lambda x: -x),
        "known": "AC coupling", "AC coupling": "AC coupling", "layer": crest.JitterLevel(channels_first=True),
    }  # fmt: skip
    found = crest.repair(
        model, TRAIN, fit=watched, validation=HELD_OUT, remedies=remedies, field=BROKEN, **QUICK
    )
    assert list(found.candidates) == [AS_IT_IS, CONTROL, *remedies]
    assert not found.skipped
    # In this order: the control, the turned batches and the jitter have no front.
    assert seen == {"Sequential": [False, True, False], "WithFront": [False, True, False, False]}
    for name in ("couple", "known"):
        same = found.candidates["AC coupling"].field_error
        assert found.candidates[name].field_error == pytest.approx(same, rel=0.05)
    assert found.candidates["AC coupling"].field_error < 0.5 * found.before.field_error


# -- forms of models and batches


def test_classes() -> None:
    train, held_out = ([(x, (y > 0).long()) for x, y in part] for part in (TRAIN, HELD_OUT))
    model = network(outputs=2)
    fit(model, train)
    found = crest.repair(
        model, train, fit=fit, validation=held_out, remedies=["re-anchored", "AC coupling"], **QUICK
    )
    assert found.name == "AC coupling"
    x, y = HELD_OUT_JOINED
    wrong = (found.model(x).argmax(1) != (y > 0)).double().mean()
    assert found.after.id_error == pytest.approx(float(wrong))
    assert found.reanchored is not None
    assert found.reanchored.accuracy > 0.5


def test_classes_for_a_model_that_gives_one_number_are_told(model: nn.Module) -> None:
    faults = [(x, (y > 0).float()) for x, y in TRAIN]
    found = crest.repair(model, faults, validation=faults, **QUICK)
    assert any(note.startswith("Targets are whole numbers") for note in found.notes)


class Masked(nn.Module):
    """Channels last, with a mask that it hands to its pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(1, 8), nn.ReLU())
        self.pool = crest.MeanReadout()
        self.head = nn.Linear(8, 1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.pool(self.encoder(x), mask))[:, 0]


def padded(batches: list[tuple[Tensor, Tensor]]) -> list[dict[str, Tensor]]:
    """Dicts with channels last, each batch with another amount of padding that holds nonsense."""
    made = []
    for more, (x, y) in enumerate(batches):
        signals = nn.functional.pad(x.mT, (0, 0, 0, 10 * more), value=1e6)
        mask = (torch.arange(STEPS + 10 * more) < STEPS).expand(len(x), -1)
        made.append({"signal": signals, "wear": y, "valid": mask})
    return made


def test_dicts_with_masks_and_channels_last() -> None:
    def train(model: nn.Module, batches: Iterable[dict[str, Tensor]]) -> None:
        seen = [(batch["signal"], batch["wear"], batch["valid"]) for batch in batches]
        assert len(seen) == len(TRAIN)
        (model(seen[0][0], mask=seen[0][2]) - seen[0][1]).square().mean().backward()

    torch.manual_seed(1000)
    plain = Masked()
    options: dict[str, Any] = {"remedies": ["re-anchored", "AC coupling", "CREST + exchange"], **QUICK}
    keys = ("signal", "wear", "valid")
    found = crest.repair(plain, padded(TRAIN), validation=padded(HELD_OUT), keys=keys, fit=train, **options)
    assert not found.skipped
    unpadded, train_too = ([(x.mT, y) for x, y in part] for part in (HELD_OUT, TRAIN))
    alike = crest.repair(plain, train_too, validation=unpadded, fit=lambda model, _: model, **options)
    for name in ("re-anchored", "AC coupling"):
        one, other = found.candidates[name], alike.candidates[name]
        assert one.id_error == pytest.approx(other.id_error, rel=1e-3), name
        assert one.transient == pytest.approx(other.transient, abs=0.02), name


def test_what_is_found_is_said_and_can_be_given(model: nn.Module) -> None:
    found = crest.repair(model, TRAIN, validation=HELD_OUT, **QUICK)
    undeclared = [note for note in found.notes if note.startswith("Not declared, and it moves")]
    assert [note for note in found.notes if note not in undeclared] == [
        "Inputs read as (B, C, T), because the first layer expects 1 channel. Pass channels_first= if that is wrong.",
        "The pooling layer was found at '2'.",
        "The head was found at '4'.",
    ]
    given = crest.repair(model, TRAIN, validation=HELD_OUT, pooling=("2", "4"), channels_first=True, **QUICK)
    assert list(given.notes) == undeclared
    assert given.candidates["re-anchored"].id_error == found.candidates["re-anchored"].id_error


class Strongest(nn.Module):
    """Reads the largest value, wherever the axes are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x.amax((1, 2))[:, None]


def test_axes_are_read_as_the_other_doors_read_them() -> None:
    model = Strongest()
    said = "nputs read as (B, C, T), because time is taken as the longer axis"
    repaired = crest.repair(model, TRAIN, validation=HELD_OUT, **QUICK)
    assert repaired.notes[0].startswith(f"I{said}")
    audited = crest.audit(model, tuple(HELD_OUT_JOINED), exchange=QUICK["exchange"])
    assert f"i{said}" in audited.notes
    watch = crest.Watch(model, tuple(HELD_OUT_JOINED), exchange=QUICK["exchange"])
    assert f"i{said}" in watch.notes
    assert repaired.before.exchange.together.moved == pytest.approx(watch(0)["crest/moved"], rel=0.5)


@pytest.mark.parametrize("kind", [*PLAIN.values(), *WITH_LENGTHS.values()], ids=[*PLAIN, *WITH_LENGTHS])
def test_a_line_of_forward_that_pools_stops_no_remedy(kind: type[nn.Module]) -> None:
    batches: list[Any] = HELD_OUT
    if kind in WITH_LENGTHS.values():
        x, y, lengths = ragged(32)
        batches = [(x, y, mask_from(lengths, x) if kind is MaskedLast else lengths)]
    remedies = ["re-anchored", "exchange", "CREST", "CREST + exchange"]
    model = made(kind)
    with torch.no_grad():
        before = model(batches[0][0], *batches[0][2:])
    found = crest.repair(
        model, batches, fit=a_step_with_all_parts, validation=batches, remedies=remedies, **QUICK
    )
    assert list(found.candidates) == [AS_IT_IS, CONTROL, *remedies]
    assert any(note.startswith("A line of `forward` pools the features of") for note in found.notes)
    ids = [one.id_error for one in found.candidates.values()]
    assert len(set(ids)) == len(ids)
    assert found.candidates["re-anchored"].id_error < found.before.id_error
    # The model that was given is as it was.
    with torch.no_grad():
        assert torch.equal(model(batches[0][0], *batches[0][2:]), before)
    assert not any(part._forward_hooks for part in model.modules())


def a_step_with_all_parts(model: nn.Module, batches: Iterable[Any]) -> None:
    """One step of plain descent, for batches with or without a third part."""
    x, y, *steps = next(iter(batches))
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    slopes = torch.autograd.grad((model(x, *steps).reshape(-1) - y).square().mean(), weights)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes, strict=True):
            weight.sub_(0.01 * slope)


def test_features_and_head_that_do_not_fit_are_told_in_one_sentence() -> None:
    class Joined(nn.Module):
        """Two poolings, side by side."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = nn.LSTM(1, 4, batch_first=True), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            steps = self.encoder(x)[0]
            return self.head(torch.cat([steps.mean(1), steps[:, -1]], 1))

    batches = [(x.mT, y) for x, y in HELD_OUT]
    remedies = ["re-anchored", "exchange", "CREST", "CREST + exchange"]
    options: dict[str, Any] = {"fit": one_step, "validation": batches, "remedies": remedies}
    found = crest.repair(Joined(), batches, **options, **QUICK)
    assert set(found.skipped) == {"re-anchored", "CREST", "CREST + exchange"}
    for why in found.skipped.values():
        assert why.startswith(
            "No pooling layer was found, and features and head do not fit: name the pooling layer"
        )
        assert "features must name a module that gives (B, T', 8)" in why
    assert "exchange" in found.candidates
    with pytest.raises(ValueError, match=r"^pooling must name a layer that pools .* got 'encoder': LSTM"):
        crest.repair(Joined(), batches, pooling="encoder", **QUICK)


# -- what is held out, and what training sees


def test_a_fifth_is_held_out_and_never_trained_on(model: nn.Module) -> None:
    seen: list[Tensor] = []

    def train(_: nn.Module, batches: Iterable[Any]) -> None:
        seen.append(torch.cat([y for _, y in batches]))

    options: dict[str, Any] = {"fit": train, "remedies": ["AC coupling", "exchange"], **QUICK}
    found = crest.repair(model, TRAIN, **options)
    every = set(torch.cat([y for _, y in TRAIN]).tolist())
    trained = set(seen[0].tolist())
    assert seen[0].tolist() == seen[1].tolist() == seen[2].tolist()
    assert trained < every
    assert len(every - trained) == len(every) // 5
    x, y = (torch.cat(parts) for parts in zip(*TRAIN, strict=True))
    out = torch.tensor([value not in trained for value in y.tolist()])
    assert found.before.id_error == pytest.approx(error(copy.deepcopy(model), [(x[out], y[out])]), rel=1e-5)
    assert "a fifth of the training trajectories, which no training here sees" in found.notes[0]
    options["exchange"] = dataclasses.replace(QUICK["exchange"], seed=1)
    crest.repair(model, TRAIN, **options)
    assert len(seen) == 6
    assert set(seen[3].tolist()) != trained


def test_each_epoch_draws_new_exchanges_and_a_seed_repeats_them(model: nn.Module) -> None:
    seen: list[Tensor] = []

    def train(_: nn.Module, batches: Iterable[Any]) -> None:
        assert len(batches) == len(TRAIN)
        for _ in range(2):
            passing = list(batches)
            seen.append(torch.cat([x for x, _ in passing]))
            assert all(torch.equal(y, own) for (_, y), (_, own) in zip(passing, TRAIN, strict=True))
        seen.append(torch.rand(3))

    for remedy in ("exchange", "level jitter"):
        seen.clear()
        for seed in (0, 0, 1):
            crest.repair(
                model,
                TRAIN,
                fit=train,
                validation=HELD_OUT,
                remedies=[remedy],
                exchange=dataclasses.replace(QUICK["exchange"], seed=seed),
            )
            # What the control was trained on, batches as they are.
            control = seen[-6:-3]
            assert torch.equal(control[0], control[1])
            del seen[-6:-3]
        first, second, drawn = seen[:3]
        assert not torch.equal(first, second)
        changed = (first != torch.cat([x for x, _ in TRAIN])).flatten(1).any(1).double().mean()
        assert 0.3 < changed < 0.7
        assert all(torch.equal(one, other) for one, other in zip(seen[:3], seen[3:6], strict=True))
        assert not torch.equal(first, seen[6])
        assert not torch.equal(drawn, seen[8])


def test_a_loader_and_progress(model: nn.Module) -> None:
    x, y = (torch.cat(parts) for parts in zip(*TRAIN, strict=True))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32, shuffle=True)
    told: list[str] = []
    options: dict[str, Any] = {"remedies": ["re-anchored"], "tell": told.append, **QUICK}
    found = [crest.repair(model, loader, **options) for _ in range(2)]
    assert found[0].before.id_error == found[1].before.id_error
    assert told[0].startswith("as it is: ID error 0.")
    assert told[1:2] == ["re-anchored: fitting the head again"]
    assert len(told) == 6


# -- what goes wrong


def test_a_candidate_that_fails_is_told_and_the_others_go_on(model: nn.Module) -> None:
    def sometimes(copied: nn.Module, batches: Iterable[Any]) -> None:
        if isinstance(copied, crest.remedies.WithFront):
            raise RuntimeError("out of memory")
        one_step(copied, batches)

    def breaks(copied: nn.Module, _: Iterable[Any]) -> None:
        nn.init.constant_(next(copied.parameters()), float("nan"))

    found = crest.repair(
        model, TRAIN, fit=sometimes, validation=HELD_OUT, remedies=["AC coupling", "exchange"], **QUICK
    )
    assert found.skipped == {"AC coupling": "It failed: RuntimeError: out of memory"}
    assert set(found.candidates) == {AS_IT_IS, CONTROL, "exchange"}
    found = crest.repair(model, TRAIN, fit=breaks, validation=HELD_OUT, remedies=["exchange"], **QUICK)
    assert "predictions of the model must be finite" in found.skipped["exchange"]


@pytest.mark.parametrize("name", ["validation", "field"])
@pytest.mark.parametrize("channels", [2, 5])
def test_another_number_of_channels_is_refused_by_name(name: str, channels: int) -> None:
    net = nn.Sequential(nn.Conv1d(3, 2, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2, 1))
    x, y = torch.randn(16, 3, 40), torch.randn(16)
    given = {"validation": [(x, y)], name: [(torch.randn(16, channels, 40), y)]}
    with pytest.raises(
        ValueError, match=rf"^{name} must have the 3 channels of train_batches, got {channels}$"
    ):
        crest.repair(net, [(x, y)], fit=lambda *_: None, remedies=["AC coupling"], **given)


def test_an_interrupt_passes_through(model: nn.Module) -> None:
    def stopped(copied: nn.Module, batches: Iterable[Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crest.repair(model, TRAIN, fit=stopped, validation=HELD_OUT, remedies=["exchange"], **QUICK)


def test_fit_returns_a_model_or_nothing(model: nn.Module) -> None:
    other = network()
    found = crest.repair(
        model, TRAIN, fit=lambda *_: other, validation=HELD_OUT, remedies=["exchange"], **QUICK
    )
    assert found.candidates["exchange"].id_error == pytest.approx(error(other, HELD_OUT), rel=1e-5)
    with pytest.raises(
        ValueError, match=r"^fit must train the model in place and return None, or .* got float"
    ):
        crest.repair(model, TRAIN, fit=lambda *_: 0.5, validation=HELD_OUT, remedies=["exchange"], **QUICK)


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([], {}, "^train_batches must hold 10 trajectories or more, .* got 0"),
        ([(torch.zeros(1, 1, 50), torch.zeros(1))], {}, "^train_batches must hold 10 trajectories or more, .* got 1"),
        ([], {"validation": HELD_OUT}, "^train_batches must hold at least one batch, got none"),
        (TRAIN, {"validation": []}, "^validation must hold two trajectories or more, got 0"),
        (TRAIN, {"validation": [(x[:1], y[:1]) for x, y in HELD_OUT[:1]]}, "^validation must hold two .* got 1"),
        (iter(TRAIN), {}, "^train_batches must be a list or a DataLoader, .* got an iterator"),
        ([(torch.zeros(12, 50), torch.zeros(12))], {}, r"^train_batches must hold inputs of shape .* got \(12, 50\), which is a single trajectory"),
        (TRAIN, {"pooling": "22"}, "^pooling must name a module inside the model, such as .*; got '22'"),
        (TRAIN, {"pooling": ("2", "hed")}, "^pooling must name a module inside the model"),
        (TRAIN, {"remedies": ["AC"]}, "^remedies must be one of trained longer, re-anchored, AC coupling, .* got 'AC'"),
        (TRAIN, {"remedies": "CREST"}, "^remedies must be a list"),
        (TRAIN, {"remedies": {"as it is": nn.ReLU()}}, "^remedies must have other names than that of the given model"),
        (TRAIN, {"remedies": {"mine": 3}}, r"^remedies\['mine'\] must be a module, .* got int"),
        (TRAIN, {"field": [(torch.zeros(3, 1, 50), torch.full((3,), torch.nan))]}, "^targets of field must be finite"),
        (TRAIN, {"exchange": {"seed": 1}}, "^exchange must be an? .*ExchangeSettings.* got dict"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(
    model: nn.Module, batches: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        crest.repair(model, batches, **{**QUICK, **options})


def test_a_model_with_broken_or_other_answers_is_refused(model: nn.Module) -> None:
    broken = copy.deepcopy(model)
    nn.init.constant_(broken[0].weight, float("nan"))
    with pytest.raises(ValueError, match=r"^predictions of the model must be finite, got"):
        crest.repair(broken, TRAIN, validation=HELD_OUT, **QUICK)
    with pytest.raises(
        ValueError,
        match=r"^model must return real numbers of shape \(B,\), \(B, 1\) or \(B, K\), B = 32, got \(32, 2",
    ):
        crest.repair(nn.Sequential(nn.Conv1d(1, 2, 5)), TRAIN, validation=HELD_OUT, **QUICK)
    with pytest.raises(
        ValueError, match=r"^model must return a tensor, got tuple of 2: pass output=, such as output=0"
    ):
        crest.repair(nn.LSTM(STEPS, 2), TRAIN, validation=HELD_OUT, channels_first=True, **QUICK)


def test_a_model_that_cannot_be_copied_is_refused() -> None:
    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.kept = self.weight * 2

    with pytest.raises(
        ValueError, match=r"^model must be one that copy.deepcopy can copy: RuntimeError: Only"
    ):
        crest.repair(Holds(), TRAIN)


@pytest.mark.unchecked
def test_wrong_types_are_refused_by_name(model: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"^model must be a torch.nn.Module, got function"):
        crest.repair(lambda x: x, TRAIN)
    with pytest.raises(ValueError, match=r"^fit must be a function of a model and batches, got int"):
        crest.repair(model, TRAIN, fit=3)
    with pytest.raises(ValueError, match=r"^train_batches must hold \(inputs, targets\), .* got no targets"):
        crest.repair(model, TRAIN[0][0])


def test_inputs_that_are_no_numbers_are_told_before_anything_else(model: nn.Module) -> None:
    (x, y), *others = TRAIN
    broken = x.clone()
    broken[0, 0, 3] = torch.nan
    with pytest.raises(ValueError, match=r"^inputs of train_batches must be finite"):
        crest.repair(model, [(broken, y), *others], validation=HELD_OUT, **QUICK)


def test_batches_with_lengths_are_repaired_and_the_fit_gets_them() -> None:
    x, y, lengths = ragged(40)
    batches = [
        (x[rows, : lengths[rows].max()], y[rows], lengths[rows]) for rows in torch.arange(40).split(10)
    ]
    shapes: list[tuple[int, ...]] = []

    def trained(model: nn.Module, batches: Iterable[Any]) -> None:
        for x, y, lengths in batches:
            shapes.append(tuple(lengths.shape))
            assert model(x, lengths).shape == y.shape

    found = crest.repair(
        Unpacked(),
        batches,
        fit=trained,
        remedies=["re-anchored", "AC coupling", "level jitter", "CREST"],
        **QUICK,
    )
    assert not found.skipped
    assert set(shapes) == {(8,)}
    assert "The pooling layer was found at 'pool'." in found.notes
    with torch.no_grad():
        assert found.model(x, lengths).shape == (40,)


def test_a_model_that_cannot_be_asked_is_told_with_its_words() -> None:
    x, y, _ = ragged(20)
    with pytest.raises(
        ValueError, match=r"^model must take inputs .* 'lengths'. A mask or lengths that it needs"
    ):
        crest.repair(Unpacked(), [(x, y)])
    with pytest.raises(
        ValueError, match=r"^model must take inputs .* RuntimeError: .*Are the axes in another order"
    ):
        crest.repair(network(), [(x, y)])


def test_dropout_that_is_left_on_is_told() -> None:
    class Random(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.dropout(x, 0.5).mean((1, 2))

    with pytest.raises(ValueError, match=r"^model must give the same prediction .* dropout"):
        crest.repair(Random(), TRAIN, validation=HELD_OUT, **QUICK)


def test_a_fit_that_takes_the_batches_apart_in_another_way_is_told_what_they_hold(model: nn.Module) -> None:
    def of_two(model: nn.Module, batches: Iterable[Any]) -> None:
        for _x, _y in batches:
            pass

    x, y, lengths = ragged()
    for batches, held in (
        ([(x, y, lengths)], r"\(x, y, lengths\)"),
        ([(x, y, torch.ones(x.shape[:2]).bool())], r"\(x, y, mask\)"),
        ([{"x": x, "y": y, "lengths": lengths}], "dicts with x, y, lengths"),
    ):
        found = crest.repair(Unpacked(), batches, fit=of_two, remedies=["level jitter"], **QUICK)
        why = found.skipped["level jitter"]
        assert re.search(
            rf"ValueError: too many values to unpack .*; if fit unpacks its batches so: they are {held}", why
        )
    other = crest.repair(
        model, TRAIN, fit=lambda *_: int("a"), validation=HELD_OUT, remedies=["level jitter"], **QUICK
    )
    assert "if fit unpacks" not in other.skipped["level jitter"]


def test_a_fit_that_takes_no_wrapper_is_told_why(model: nn.Module) -> None:
    def picky(model: nn.Module, batches: Iterable[Any]) -> None:
        if not isinstance(model, nn.Sequential):
            raise TypeError("`model` must be a `LightningModule`")

    found = crest.repair(
        model, TRAIN, fit=picky, validation=HELD_OUT, remedies=["AC coupling", "level jitter"], **QUICK
    )
    assert list(found.candidates) == [AS_IT_IS, CONTROL, "level jitter"]
    assert "`LightningModule`. The front is a wrapper" in found.skipped["AC coupling"]


def test_a_dataset_is_no_batches(model: nn.Module) -> None:
    with pytest.raises(
        ValueError, match=r"^train_batches must hold batches, got TensorDataset, .*DataLoader"
    ):
        crest.repair(model, torch.utils.data.TensorDataset(*HELD_OUT_JOINED))


def test_an_error_that_is_none_is_told_before_anything_is_trained(model: nn.Module) -> None:
    fitted: list[nn.Module] = []
    with pytest.raises(ValueError, match=r"^id_error must be 0 or more, got -1"):
        crest.repair(
            model, TRAIN, fit=lambda model, _: fitted.append(model), error=lambda got, wanted: -1.0, **QUICK
        )
    assert not fitted


def test_the_users_generators_stay_as_they_were(model: nn.Module) -> None:
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*TRAIN[0]), batch_size=16, shuffle=True
    )
    before = torch.get_rng_state()
    crest.repair(model, loader, validation=loader, field=loader, remedies=["re-anchored"], **QUICK)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_known_remedy_under_another_name_loads_by_itself(
    model: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(candidates: Any, **options: Any) -> crest.Choice:
        return dataclasses.replace(crest.choose(candidates, **options), name="mine")

    monkeypatch.setattr(sys.modules["crest._repair.repair"], "choose", taken)
    found = crest.repair(model, TRAIN, fit=one_step, remedies={"mine": "AC coupling"}, **QUICK)
    found.save(tmp_path)
    x, _ = TRAIN[0]
    assert torch.equal(crest.Repaired.load(tmp_path, network()).model(x), found.model(x))


def test_lengths_are_read_along_the_axis_of_time_that_was_found() -> None:
    """More channels than steps: the first layer tells which axis is time, and lengths follow."""

    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = nn.Conv1d(64, 4, 5, padding=2), nn.Linear(4, 1)

        def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
            there = (torch.arange(x.shape[2]) < lengths[:, None]).unsqueeze(1)
            return self.head((self.encoder(x) * there).sum(2) / lengths[:, None])[:, 0]

    x, y, lengths = torch.randn(24, 64, 50), torch.randn(24), torch.randint(30, 50, (24,))
    found = crest.repair(Wide(), [(x, y, lengths)], validation=[(x, y, lengths)], remedies=[], **QUICK)
    assert found.before.id_error > 0
    assert "(B, C, T)" in found.notes[0]


def test_a_loader_that_never_ends_is_read_as_far_as_needed() -> None:
    x, y = knocks(64, tie=0.99, seed=1000)

    class Endless(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Any:
            while True:
                yield from zip(x, y, strict=True)

    loader = torch.utils.data.DataLoader(Endless(), batch_size=8)
    passed: list[int] = []

    def some_steps(model: nn.Module, batches: Any) -> None:
        passed.append(sum(1 for _ in itertools.islice(batches, 100)))

    settings = crest.ExchangeSettings(trajectories=4, block=2, bootstrap=5)
    for validation, steps in ((None, 16), (loader, 100)):
        found = crest.repair(
            network(), loader, validation=validation, field=loader, fit=some_steps, remedies=["AC coupling", "re-anchored"],
            exchange=settings,
        )  # fmt: skip
        assert set(found.candidates) == {AS_IT_IS, CONTROL, "AC coupling", "re-anchored"}
        assert set(passed) == {steps}
        assert any("the first 128 trajectories are used" in note for note in found.notes) == (
            validation is None
        )
        passed.clear()


def test_a_model_that_follows_its_batch_is_refused() -> None:
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.inner(x - x.mean(0))
            return found

    with pytest.raises(ValueError, match=r"^model must give a trajectory the same prediction whatever else"):
        crest.repair(Centred(), knocks(64, tie=0.99, seed=1000))
