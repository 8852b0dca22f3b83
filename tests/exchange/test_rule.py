"""The rule on shares set by hand, on functions that read a known part, and what it says when it cannot tell."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import crest
from crest import Candidate, Choice, Exchange, choose
from crest.exchange.rule import COST, LEAST, MARGIN

NAN = float("nan")


def of_share(transient: float, kind: str = "core") -> Exchange:
    """A test with this transient share."""
    rest = NAN if transient != transient else 1 - transient  # noqa: PLR0124
    return Exchange(
        transient=transient,
        background=rest,
        interaction=0.0,
        transient_interval=(transient, transient),
        background_interval=(rest, rest),
        interaction_interval=(0.0, 0.0),
        background_alone=0.5,
        kind=kind,
        trajectories=128,
    )


def chosen(**candidates: tuple[float, float]) -> Choice:
    """The choice among candidates given by transient share and ID error."""
    return choose({name: (of_share(share), error) for name, (share, error) in candidates.items()})


def test_the_lowest_error_of_those_that_follow_wins() -> None:
    found = chosen(plain=(0.2, 0.05), high_pass=(0.9, 0.10), crest=(0.93, 0.12))
    assert found.name == "high_pass"
    assert found.lowest_error == "plain"
    assert [one.follows for one in found.candidates.values()] == [False, True, True]
    assert found.reason == "The lowest ID error of the candidates that follow the transient."


def test_half_of_the_variance_is_asked_for() -> None:
    assert LEAST == 0.5
    assert chosen(a=(0.5, 0.1)).name == "a"
    assert chosen(a=(0.499, 0.1)).name is None
    assert choose({"a": (of_share(0.4), 0.1)}, least=0.4).name == "a"


def test_a_candidate_must_come_near_the_highest_share() -> None:
    assert MARGIN == 0.1
    assert chosen(a=(0.9, 0.2), b=(0.81, 0.1)).name == "b"
    found = chosen(a=(0.9, 0.2), b=(0.79, 0.1))
    assert found.name == "a"
    assert found.candidates["b"].reason == "more than 0.1 below the highest transient share"
    assert choose({"a": (of_share(0.9), 0.2), "b": (of_share(0.7), 0.1)}, margin=0.3).name == "b"


def test_where_none_follows_it_cannot_tell() -> None:
    found = chosen(a=(0.3, 0.2), b=(0.1, 0.1))
    assert found.name is None
    assert found.lowest_error == "b"
    assert found.reason.startswith("No candidate follows the transient")
    assert "The lowest ID error is that of b." in repr(found)


def test_where_following_costs_too_much_the_target_is_in_the_background() -> None:
    assert COST == 3.0
    assert chosen(event=(0.9, 0.30), level=(0.1, 0.1)).name == "event"
    found = chosen(event=(0.9, 0.31), level=(0.1, 0.1))
    assert found.name is None
    assert found.lowest_error == "level"
    assert found.reason.startswith("The target seems to live in the background")
    assert found.candidates["event"].follows
    assert found.candidates["event"].reason == "ID error above 3 times the lowest"
    assert choose({"event": (of_share(0.9), 0.31), "level": (of_share(0.1), 0.1)}, cost=4).name == "event"
    assert chosen(event=(0.9, 0.0), level=(0.1, 0.0)).name == "event"
    assert chosen(event=(0.9, 0.1), level=(0.1, 0.0)).name is None


def test_of_equal_errors_the_first_given_wins() -> None:
    assert chosen(b=(0.8, 0.1), a=(0.9, 0.1)).name == "b"


def test_a_constant_prediction_follows_nothing() -> None:
    found = chosen(flat=(NAN, 0.1), event=(0.7, 0.2))
    assert found.name == "event"
    assert found.candidates["flat"].reason == "its prediction does not vary"
    assert chosen(flat=(NAN, 0.1)).name is None


def signals() -> tuple[Tensor, Tensor]:
    """A level and a knock; the knock is the target."""
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, 96, generator=generator)
    made = level[:, None, None].expand(96, 80, 1).clone()
    made[:, 40:44] += knock[:, None, None]
    return made, knock


def event(x: Tensor, mask: Tensor | None = None) -> Tensor:
    return x[:, 41, 0] - x[:, 0, 0]


def level(x: Tensor, mask: Tensor | None = None) -> Tensor:
    return x[:, 0, 0]


def test_functions_are_tested_on_the_inputs() -> None:
    x, _ = signals()
    found = choose({"event": Candidate(event, 0.2), "level": (level, 0.1)}, x)
    assert found.name == "event"
    assert found.candidates["event"].exchange == crest.exchange_test(event, x, lent="spectrum")
    options = {"kind": "slow", "sigma": 4.0, "trajectories": 40, "block": 8, "bootstrap": 50, "seed": 3}
    mask = torch.ones(96, 80).bool()
    masked = choose({"event": (event, 0.2)}, x, mask=mask, **options)
    assert masked.candidates["event"].exchange == crest.exchange_test(
        event, x, lent="spectrum", mask=mask, **options
    )


def test_conditions_are_shown_and_do_not_decide() -> None:
    x, y = signals()
    loads = ["low" if number % 2 else "high" for number in range(96)]
    candidates = {
        "event": Candidate(event, 0.2, held_out=0.25),
        "level": Candidate(level, 0.1),
        "done": Candidate(exchange=of_share(0.95), id_error=0.3),
    }
    found = choose(candidates, x, lent="background", conditions=iter(loads), targets=y)
    assert found.name == "event"
    assert found.candidates["event"].condition_errors == {
        "high": pytest.approx(0, abs=1e-6),
        "low": pytest.approx(0, abs=1e-6),
    }
    errors = found.candidates["level"].condition_errors
    assert found.candidates["level"].worst_condition == max(errors, key=errors.get)
    assert found.candidates["done"].condition_errors is None
    assert found.candidates["done"].worst_condition is None
    text = repr(found)
    assert "worst condition" in text
    assert "held out" in text
    assert f"{max(errors.values()):.3g} ({found.candidates['level'].worst_condition})" in text


def test_it_prints_one_table() -> None:
    text = repr(chosen(plain=(0.2, 0.05), high_pass=(0.9, 0.1)))
    assert text.splitlines() == [
        "Choice: high_pass. The lowest ID error of the candidates that follow the transient.",
        "  candidate  ID error  transient  background  interaction  follows  reason",
        "  plain          0.05       0.20        0.80         0.00       no  transient share below 0.5",
        "  high_pass       0.1       0.90        0.10         0.00      yes  lowest ID error of these",
    ]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": {}}, "^candidates must be a mapping with a candidate or more by name, got none"),
        ({"candidates": [(event, 0.1)]}, "^candidates must be a mapping .* got list"),
        ({"candidates": {"a": event}}, "^candidates must hold Candidates, .* got function for 'a'"),
        ({"candidates": {"a": (event, 0.1, 2)}}, "^candidates must hold Candidates, .* got tuple for 'a'"),
        ({"candidates": {"a": (event, -0.1)}}, "^candidate 'a': id_error must be 0 or more, got -0.1"),
        ({"candidates": {"a": (event, NAN)}}, "^candidate 'a': id_error must be 0 or more, got nan"),
        ({"candidates": {"a": ("event", 0.1)}}, "^candidate 'a': function must be callable, got str"),
        ({"inputs": None}, "^inputs must be given for the exchange test of 'a', got None"),
        (
            {"candidates": {"a": (of_share(0.9), 0.1), "b": (of_share(0.9, "slow"), 0.1)}},
            "^candidates must be tested with one kind of background, got core, slow",
        ),
        (
            {"candidates": {"a": (of_share(0.9), 0.1), "b": (event, 0.1)}},
            "^candidates must be tested with one thing lent, got background and spectrum: lent= says",
        ),
        ({"least": 1.5}, r"^least must lie in \[0, 1\], got 1.5"),
        ({"margin": -0.1}, r"^margin must lie in \[0, 1\], got -0.1"),
        ({"cost": 0.5}, "^cost must be 1 or more, got 0.5"),
        ({"by": "luck"}, "^by must be"),
        ({"conditions": [1] * 96}, "^targets must be given with conditions"),
        ({"targets": torch.zeros(95)}, "^targets must be"),
        (
            {"conditions": [1] * 9, "targets": torch.zeros(96)},
            r"^conditions must have shape \(N,\) = \(96,\)",
        ),
        ({"conditions": [1] * 96, "targets": torch.zeros(9)}, "^targets must be"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"candidates": {"a": (event, 0.1)}, "inputs": signals()[0]} | changes
    with pytest.raises(ValueError, match=message):
        choose(**arguments)


def test_with_targets_the_error_on_exchanged_backgrounds_is_shown() -> None:
    inputs, *_ = signals()
    choice = choose({"a": (event, 0.1)}, inputs, targets=event(inputs))
    assert choice.candidates["a"].exchange.exchanged_error == pytest.approx(0.0, abs=1e-3)
    assert "exchanged" in repr(choice).splitlines()[1]
    assert "exchanged" not in repr(choose({"a": (event, 0.1)}, inputs)).splitlines()[1]


def test_conditions_need_the_inputs() -> None:
    with pytest.raises(ValueError, match=r"^inputs must be given with conditions, got None"):
        choose({"a": (of_share(0.9), 0.1)}, conditions=[1, 2], targets=torch.zeros(2))


def by_error(**candidates: tuple[float, float]) -> Choice:
    """The choice among candidates given by ID error and error on backgrounds of others; a constant has 1."""
    return choose(
        {
            name: (replace(of_share(0.5), exchanged_error=exchanged, constant_error=1.0), error)
            for name, (error, exchanged) in candidates.items()
        },
        by="error",
    )


def test_by_error_the_lowest_on_backgrounds_of_others_wins_whatever_the_shares() -> None:
    found = by_error(plain=(0.05, 0.8), high_pass=(0.2, 0.3), crest=(0.1, 0.31))
    assert (found.name, found.lowest_error) == ("high_pass", "plain")
    assert found.candidates["crest"].reason == "a higher error on backgrounds of others"
    assert found.reason == "The lowest error on backgrounds of others."


def test_by_error_it_cannot_tell_where_a_constant_would_be_as_good() -> None:
    found = by_error(plain=(0.05, 1.2), high_pass=(0.2, 0.95))
    assert found.name is None
    assert "constant answer" in found.reason
    assert "live in the background" in found.reason
    assert not any(one.follows for one in found.candidates.values())
    untrained = by_error(plain=(0.97, 1.2), high_pass=(0.98, 0.95))
    assert untrained.name is None
    assert "trained for long enough" in untrained.reason
    # A tenth and a fifth below a constant are two things.
    assert "none has learnt its task on data as in training" in untrained.reason
    hardly = by_error(plain=(0.97, 1.2), high_pass=(0.85, 0.95))
    assert "trained for long enough" in hardly.reason


def test_by_error_needs_targets() -> None:
    with pytest.raises(ValueError, match=r"^targets must be given to choose by error, but candidate 'a'"):
        choose({"a": (of_share(0.9), 0.1)}, by="error")
    inputs, targets = signals()
    assert (
        choose({"event": (event, 0.2), "level": (level, 0.1)}, inputs, targets=targets, by="error").name
        == "event"
    )


def test_a_candidate_that_cannot_be_tested_is_named() -> None:
    inputs = torch.randn(8, 50, 1)
    with pytest.raises(ValueError, match=r"^candidate 'bad': the function's predictions must be finite"):
        choose(
            {"good": (lambda x: x.mean((1, 2)), 0.3), "bad": (lambda x: x.mean((1, 2)) * float("nan"), 0.2)},
            inputs,
        )
