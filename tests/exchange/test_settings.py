"""One way to measure: the settings are checked, and every door that takes them gives the same numbers."""

import inspect
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest.exchange.settings import settings_of
from crest.lab.runs.measures import measured_exchange
from crest.recordings import Trajectories


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"what": "phases"}, "^what must be one of spectrum, background, got 'phases'"),
        ({"kind": "magic"}, "^kind must"),
        ({"sigma": 0.0}, "^sigma must be positive, got 0.0"),
        ({"trajectories": 1}, "^trajectories must be a whole number, 2 or more, got 1"),
        ({"block": 1}, "^block must be a whole number, 2 or more, got 1"),
        ({"batch_size": 0}, "^batch_size must be a whole number, 1 or more, got 0"),
        ({"bootstrap": 0}, "^bootstrap must be a whole number, 1 or more, got 0"),
        ({"seed": -1}, "^seed must be a whole number, 0 or more, got -1"),
    ],
)
def test_settings_are_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExchangeSettings(**change)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ExchangeSettings().seed = 3  # type: ignore[misc]


def test_without_settings_there_are_the_defaults() -> None:
    assert settings_of(None) == ExchangeSettings()
    with pytest.raises(ValueError, match=r"^exchange must be an? .*ExchangeSettings.* got dict"):
        settings_of({"seed": 3})


DOORS = (crest.audit, crest.Watch, crest.exchange_test, crest.choose, crest.repair)


@pytest.mark.parametrize("door", [*DOORS, crest.LightningWatch], ids=lambda door: door.__name__)
def test_no_door_has_more_than_twelve_parameters(door: object) -> None:
    # Which output is asked about; an audit also has groups and the error as in training. A repair also trains: what it
    # trains with, how many at a time, and whom it tells. our choice: docs/evidence/choices.md#parameters
    limit = {crest.audit: 15, crest.Watch: 13, crest.repair: 16}.get(door, 12)
    assert len(inspect.signature(door).parameters) <= limit


def test_what_is_declared_is_in_the_order_of_names_and_known() -> None:
    assert ExchangeSettings().invariant == ("offset", "drift", "tones")
    assert ExchangeSettings(invariant=("gain", "offset", "gain")).invariant == ("offset", "gain")
    assert settings_of(ExchangeSettings(seed=3), "rate+gain") == ExchangeSettings(
        seed=3, invariant=("gain", "rate")
    )
    for make in (lambda: ExchangeSettings(invariant=("speed",)), lambda: settings_of(None, ["speed"])):
        with pytest.raises(ValueError, match=r"^invariant must be of offset, drift, .* got 'speed'"):
            make()


class _Net(nn.Module):
    """Pools in a layer and has a head, so that every door can look into it."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, 6, 7, padding=3), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pool(self.encoder(x)).flatten(1))


@pytest.mark.parametrize("default", [False, True])
def test_one_name_means_one_number_in_every_door(default: bool) -> None:
    """Audit, watch, repair, rule and evidence measure the same model on the same trajectories."""
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, 60, generator=generator)
    x = level[:, None, None] + 0.05 * torch.randn(60, 1, 90, generator=generator)
    x[:, 0, 40:46] += knock[:, None]
    torch.manual_seed(1000)
    model, settings = _Net().eval(), ExchangeSettings(bootstrap=20)
    # Without settings every door has the same ones.
    if default:
        settings = None
    direct = crest.exchange_test(
        lambda signals: model(signals.mT)[:, 0], x.mT, targets=knock, exchange=settings
    )
    audited = crest.audit(model, (x, knock), exchange=settings)
    watch = crest.Watch(model, (x, knock), exchange=settings)
    watched = watch(0)
    repaired = crest.repair(model, [(x, knock)], validation=[(x, knock)], remedies=[], exchange=settings)
    chosen = crest.choose(
        {"it": (lambda signals: model(signals.mT)[:, 0], 0.1)}, x.mT, targets=knock, exchange=settings
    )
    numbers = {
        "audit": audited.exchange.exchanged_error,
        "watch": watch.history[0].exchange.exchanged_error,
        "repair": repaired.before.exchange.exchanged_error,
        "choose": chosen.candidates["it"].exchange.exchanged_error,
    }
    for door, number in numbers.items():
        assert number == pytest.approx(direct.exchanged_error, rel=1e-6), door
    for number in (
        audited.expected_error, watched["crest/expected_error"], repaired.before.expected_error, chosen.candidates["it"].exchange.expected_error,
    ):  # fmt: skip
        assert number == pytest.approx(direct.together.error, rel=1e-6)
    assert audited.exchange.transient == pytest.approx(watched["crest/transient"], rel=1e-6)
    assert audited.core_credit == pytest.approx(watched["crest/core_credit"], rel=1e-6)
    assert audited.core_chance == pytest.approx(watched["crest/core_chance"], rel=1e-6)


def test_the_evidence_measures_the_same_number() -> None:
    from crest.lab.model import make_model  # noqa: PLC0415

    generator = torch.Generator().manual_seed(1000)
    x, y = torch.randn(24, 50, 2, generator=generator), torch.randn(24, generator=generator)
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    data = Trajectories(x=x.double().numpy(), y=y.double().numpy(), sample_rate=1.0, channels=("a", "b"))
    shares = measured_exchange(model, data, "spectrum")
    found = crest.exchange_test(model, x, targets=y)
    assert shares.exchanged_error == found.exchanged_error
    assert shares.transient == found.transient


def test_integers_of_numpy_are_plain_ones_behind_the_door() -> None:
    """Torch takes no other seed."""
    given = {"trajectories": 16, "block": 4, "batch_size": 8, "bootstrap": 9, "seed": 4}
    found = ExchangeSettings(**{name: np.int64(value) for name, value in given.items()})
    assert {name: getattr(found, name) for name in given} == given
    assert {type(getattr(found, name)) for name in given} == {int}
    assert torch.Generator().manual_seed(found.seed).initial_seed() == 4
