"""A readout between features and head: in copies, on disk, in training, exported, and where it does not fit."""

import copy
import pickle
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers.batch import Batch
from crest.strangers.implant import Implant, implant_readout
from crest.strangers.interface import Interface, find_interface
from crest.strangers.lengths import mask_from
from crest.strangers.model import StrangerModel
from packed_made import ragged
from pooled_in_a_line import (  # fmt: skip
    PLAIN,
    WIDTH,
    WITH_LENGTHS,
    Classified,
    LastStep,
    MaskedLast,
    MaskedMean,
    Residual,
    State,
    Strided,
    made,
)

X = torch.randn(4, 1, 60, generator=torch.Generator().manual_seed(0))
RAGGED, _, LENGTHS = ragged(6)


def found_in(model: nn.Module, x: Tensor = X, mask: Tensor | None = None) -> Interface:
    first = x.shape[1] < x.shape[2]
    return find_interface(StrangerModel(model, first), Batch(x, None, mask, channels_first=first))


def with_crest(kind: type[nn.Module], x: Tensor = X, mask: Tensor | None = None, **options: Any) -> nn.Module:
    model = made(kind)
    readout = crest.CrestReadout(0.1, run_up=0) if not options else crest.CrestReadout(**options)
    return implant_readout(model, readout, found_in(model, x, mask))


def implants(model: nn.Module) -> list[Implant]:
    return [part for part in model.modules() if isinstance(part, Implant)]


def hooks(model: nn.Module) -> int:
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules())


@pytest.mark.parametrize(
    ("kind", "readout"),
    [(Strided, crest.MeanReadout()), (Residual, crest.MaxReadout()), (State, crest.LastReadout()), (LastStep, crest.LastReadout())],
    ids=["mean", "maximum", "state", "last step"],
)  # fmt: skip
def test_the_models_own_pooling_as_a_readout_changes_nothing(
    kind: type[nn.Module], readout: nn.Module
) -> None:
    model = made(kind)
    before = model(X)
    implant_readout(model, readout, found_in(model))
    torch.testing.assert_close(model(X), before)


@pytest.mark.parametrize(
    ("kind", "readout"),
    list(zip(WITH_LENGTHS.values(), [crest.MeanReadout(), crest.LastReadout(), crest.LastReadout()], strict=True)),
    ids=list(WITH_LENGTHS),
)  # fmt: skip
def test_valid_steps_alone_are_pooled(kind: type[nn.Module], readout: nn.Module) -> None:
    # Even lengths: a step of strided features is valid if its whole stretch of the inputs is.
    lengths = LENGTHS - LENGTHS % 2
    mask = mask_from(lengths, RAGGED)
    model, told = made(kind), mask if kind is MaskedLast else lengths
    before = model(RAGGED, told)
    implant_readout(model, readout, found_in(model, RAGGED, mask))
    torch.testing.assert_close(model(RAGGED, told), before)
    # Told by name, and with a shorter batch, of which the padding is cut.
    name = "mask" if kind is MaskedLast else "lengths"
    torch.testing.assert_close(model(RAGGED[:2], **{name: told[:2]}), before[:2])
    torch.testing.assert_close(model(x=RAGGED, **{name: told}), before)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    mask = mask_from(LENGTHS, RAGGED)
    model = with_crest(MaskedLast, RAGGED, mask)
    noisy = torch.where(mask.unsqueeze(2), RAGGED, 1e3)
    torch.testing.assert_close(model(noisy, mask), model(RAGGED, mask))


class Timed(nn.Module):
    """Its second argument is the time of each step, or flags."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Conv1d(1, WIDTH, 5, padding=2), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        return self.head(self.encoder(x).mean(-1))


class Padded(Timed):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x)


def test_a_second_argument_that_is_no_mask_says_nothing_of_steps() -> None:
    model = with_crest(Timed)
    time = torch.linspace(-1, 1, 60).clamp(min=0).expand(4, 60)
    assert torch.equal(model(X, time), model(X))
    assert torch.equal(model(X, time=time), model(X))
    # Flags of every step are a mask under any name.
    assert not torch.equal(model(X, time > 0), model(X))


@pytest.mark.parametrize("kind", [Timed, Padded])
def test_a_mask_with_other_axes_is_refused(kind: type[nn.Module]) -> None:
    model, mask = with_crest(kind), torch.ones(4, 1, 60, dtype=torch.bool)
    with pytest.raises(ValueError, match=r" must have shape \(B, T\) = \(4, 60\), got \(4, 1, 60\)"):
        model(X, mask)


class InPlace(Strided):
    """An activation that gives something else the second time."""

    def forward(self, x: Tensor) -> Tensor:
        f = nn.functional.silu(self.second(self.first(x)), inplace=True)
        return self.head(f.mean(-1)).squeeze(1)


class Tuple(State):
    """Steps that come in a tuple, and are changed there."""

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x.mT)[0].mul_(2.0).tanh_().mean(1))


@pytest.mark.parametrize("kind", [InPlace, Tuple])
def test_features_are_taken_before_the_model_writes_over_them(kind: type[nn.Module]) -> None:
    model = made(kind)
    found = found_in(model)
    implant_readout(model, crest.MeanReadout(), found)
    if kind is InPlace:
        assert found.activation == "silu"
        torch.testing.assert_close(model(X), made(InPlace)(X))
        model.train()(X).sum().backward()
        assert model.first.weight.grad.abs().sum() > 0
    else:
        torch.testing.assert_close(model(X), nn.functional.linear(
            model.lstm(X.mT)[0].mean(1), model.head.weight, model.head.bias
        ))  # fmt: skip


def test_a_class_token_is_not_pooled() -> None:
    model = made(Classified)
    found = found_in(model)
    assert (found.token, found.steps, found.stride) == (True, 13, 5)
    implant_readout(model, crest.MeanReadout(), found)
    steps = torch.cat([model.token.expand(4, -1, -1), model.embed(X).mT], 1)
    torch.testing.assert_close(
        model(X),
        nn.functional.linear(model.encoder(steps)[:, 1:].mean(1), model.head.weight, model.head.bias),
    )


@pytest.mark.parametrize("kind", [*PLAIN.values()], ids=[*PLAIN])
def test_copies_have_a_readout_of_their_own(kind: type[nn.Module]) -> None:
    model = with_crest(kind, budget="pooled").train()
    model(X)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert hooks(again) == hooks(model) == 4
        assert implants(again)[0] is not implants(model)[0]
        torch.testing.assert_close(again.eval()(X), model.eval()(X), rtol=0, atol=0)
        with torch.no_grad():
            for weight in again.parameters():
                weight.add_(1.0)
        before = model.train().state_dict()
        kept = {name: value.clone() for name, value in before.items()}
        again.train()(X)
        assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())


def test_running_averages_are_in_the_state() -> None:
    model = with_crest(Strided, budget="pooled").train()
    for _ in range(3):
        model(X)
    names = [name for name in model.state_dict() if name.startswith("head.crest_implant.readout.")]
    assert names
    other = with_crest(Strided, budget="pooled")
    assert not torch.equal(other(X), model.eval()(X))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(X), model(X))


def test_it_trains_and_follows_the_model() -> None:
    model = with_crest(Residual).train()
    assert implants(model)[0].readout.training
    model(X).sum().backward()
    assert model.stem.weight.grad is not None
    assert model.stem.weight.grad.abs().sum() > 0
    assert not implants(model.eval())[0].readout.training
    double = model.double()
    assert double(X.double()).dtype == torch.float64
    assert "features of 'block'" in repr(model)


@pytest.mark.parametrize("kind", [*PLAIN.values()], ids=[*PLAIN])
def test_it_is_exported(kind: type[nn.Module]) -> None:
    model = with_crest(kind)
    program = torch.export.export(model, (X,), strict=False)
    torch.testing.assert_close(program.module()(X), model(X))


@pytest.mark.parametrize(("kind", "named"), [(MaskedMean, False), (MaskedLast, True)])
def test_it_is_exported_with_valid_steps(kind: type[nn.Module], named: bool) -> None:
    mask = mask_from(LENGTHS, RAGGED)
    told = mask if named else LENGTHS
    model = with_crest(kind, RAGGED, mask)
    program = torch.export.export(model, (RAGGED, told), strict=False)
    torch.testing.assert_close(program.module()(RAGGED, told), model(RAGGED, told))


def test_nothing_is_kept_between_calls_also_after_an_error() -> None:
    model = with_crest(Strided)
    model(X)
    state = implants(model)[0]._call
    assert not state.__dict__
    with pytest.raises(RuntimeError):
        model(torch.zeros(4, 3, 60))
    assert not state.__dict__
    # A part alone is nobody's call.
    model.second(model.first(X))
    assert not state.__dict__


def test_threads_do_not_meet() -> None:
    model = with_crest(Strided)
    inputs = [torch.randn(4, 1, 60 + 10 * size) for size in range(4)]
    wanted = [model(x) for x in inputs]
    wrong: list[int] = []

    def ask(place: int) -> None:
        for _ in range(20):
            if not torch.equal(model(inputs[place]), wanted[place]):
                wrong.append(place)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_second_readout_takes_the_place_of_the_first() -> None:
    model = with_crest(Strided)
    found = implants(model)[0].interface
    implant_readout(model, crest.MeanReadout(), found)
    assert (hooks(model), len(implants(model))) == (4, 1)
    torch.testing.assert_close(model(X), made(Strided)(X))
    with pytest.raises(ValueError, match="head must be one that no other readout feeds, got 'head'"):
        implant_readout(model, crest.MeanReadout(), replace(found, features="first"))


class Twice(Strided):
    def forward(self, x: Tensor) -> Tensor:
        f = self.second(self.second(self.first(x)).relu())
        return self.head(f.mean(-1))


class Joined(Strided):
    """The head reads two poolings, or something else than was found."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2 * WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        f = self.second(self.first(x))
        return self.head(torch.cat([f.mean(-1), f.amax(-1)], 1))


def test_what_does_not_fit_is_said_in_one_sentence() -> None:
    found = found_in(made(Strided))
    for kind, message in (
        (Twice, r"^features must come from a module that the model calls once .* got 'second': 2 calls"),
        (Joined, rf"^head must read one vector \(B, {WIDTH}\) .* got \(4, 12\) in front of 'head'$"),
    ):
        model = implant_readout(made(kind), crest.MeanReadout(), found)
        with pytest.raises(ValueError, match=message):
            model(X)
    model = implant_readout(made(Strided), crest.MeanReadout(), replace(found, features="head", head="first"))
    with pytest.raises(ValueError, match=r"^features must come .* 0 calls before 'first'"):
        model(X)
    with pytest.raises(ValueError, match=r"^model must be called as model\(x\)"):
        with_crest(Strided).forward(X)
    with pytest.raises(ValueError, match=r"^features must name a module inside the model"):
        implant_readout(made(Strided), crest.MeanReadout(), replace(found, features="third"))
    behind = nn.Sequential(nn.Conv1d(1, WIDTH, 3), nn.Sequential(nn.Linear(WIDTH, 1)))
    with pytest.raises(ValueError, match=r"^head must name a layer, got '1': Sequential"):
        implant_readout(behind, crest.MeanReadout(), replace(found, features="0", head="1"))
