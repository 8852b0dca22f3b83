"""The rule on errors set by hand, on functions that read a known part, and what it says when it cannot tell."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import crest
from crest import Candidate, Choice, Exchange, ExchangeSettings, choose
from crest.exchange.rule import BELOW_A_CONSTANT, NEAR
from crest.exchange.sensitivity import Sensitivity

NAN = float("nan")
DECLARED = ExchangeSettings().invariant
SMALL = ExchangeSettings(trajectories=16, block=4, bootstrap=50)


def of_error(exchanged: float | None, kind: str = "core", what: str = "spectrum") -> Exchange:
    """A test with this error on exchanged backgrounds; a constant prediction has 1."""
    return Exchange(
        transient=0.7,
        background=0.3,
        interaction=0.0,
        transient_interval=(0.7, 0.7),
        background_interval=(0.3, 0.3),
        interaction_interval=(0.0, 0.0),
        background_alone=0.5,
        kind=kind,
        what=what,
        trajectories=128,
        exchanged_error=exchanged,
        constant_error=1.0,
    )


def chosen(**candidates: tuple[float, float]) -> Choice:
    """The choice among candidates given by ID error and error on exchanged backgrounds."""
    return choose({name: (of_error(exchanged), error) for name, (error, exchanged) in candidates.items()})


def test_the_lowest_error_on_exchanged_backgrounds_wins_whatever_the_id_error() -> None:
    found = chosen(plain=(0.05, 0.8), high_pass=(0.2, 0.3), crest=(0.1, 0.37))
    assert (found.name, found.lowest_error) == ("high_pass", "plain")
    assert found.candidates["crest"].reason == "a higher expected error"
    assert found.reason == "It has the lowest error on exchanged signals."
    assert all(one.better for one in found.candidates.values())


def test_the_larger_of_two_expected_errors_counts() -> None:
    def name_of(other: float | None) -> str | None:
        shared = Candidate(exchange=of_error(0.2), id_error=0.1, other_error=other)
        return choose({"shared": shared, "own": (of_error(0.5), 0.1)}).name

    assert [name_of(other) for other in (None, 0.1, 0.3, 0.7)] == ["shared", "shared", "shared", "own"]
    worse = choose({"shared": Candidate(exchange=of_error(0.2), id_error=0.1, other_error=0.95)})
    assert worse.name is None
    assert worse.candidates["shared"].expected_error == worse.candidates["shared"].other_error == 0.95
    assert "0.95" in repr(worse)
    with pytest.raises(ValueError, match=r"^other_error must be 0 or more"):
        Candidate(exchange=of_error(0.2), id_error=0.1, other_error=-1.0)


def test_it_cannot_tell_where_a_constant_would_be_as_good() -> None:
    assert BELOW_A_CONSTANT == 0.9
    assert chosen(a=(0.1, 0.9)).name == "a"
    found = chosen(plain=(0.05, 1.2), high_pass=(0.2, 0.91))
    assert found.name is None
    assert "Either the target is in what was declared" in found.reason
    assert not any(one.better for one in found.candidates.values())
    assert "The lowest ID error is that of plain." in repr(found)


def test_of_candidates_that_have_not_learnt_it_asks_for_training() -> None:
    untrained = chosen(plain=(0.97, 1.2), high_pass=(0.98, 0.95))
    assert untrained.name is None
    assert "none has learnt its task on data as in training" in untrained.reason
    # A tenth and a fifth below a constant are two things.
    assert "trained for long enough" in chosen(plain=(0.97, 1.2), high_pass=(0.85, 0.95)).reason
    # One that has learnt is enough.
    assert "trained for long enough" not in chosen(plain=(0.97, 1.2), high_pass=(0.5, 0.95)).reason


def test_of_those_within_a_fifth_the_lowest_id_error_wins() -> None:
    assert NEAR == 1.2
    found = chosen(plain=(0.05, 0.37), high_pass=(0.2, 0.3), crest=(0.1, 0.36))
    assert found.name == "crest"
    assert found.candidates["crest"].reason == "lowest ID error near the lowest expected error"
    assert found.candidates["high_pass"].reason == "lowest expected error"
    assert found.candidates["plain"].reason == "a higher expected error"
    assert found.reason.startswith("Its error on exchanged signals is within a fifth of the lowest")
    assert chosen(a=(0.1, 0.3), b=(0.2, 0.31)).candidates["b"].reason == "a higher ID error"
    # One that is no better than a constant is not near anything.
    assert chosen(plain=(0.05, 0.91), crest=(0.1, 0.9)).name == "crest"


def follows(share: float, exchanged: float) -> Exchange:
    return replace(
        of_error(exchanged), transient=share, background=1 - share, transient_interval=(share, share)
    )


def test_a_model_that_reads_the_events_is_kept() -> None:
    """What the audit clears, the rule does not change: one question has one answer."""
    better = (of_error(0.1), 0.05)
    found = choose({"as it is": (follows(0.8, 0.5), 0.1), "exchange": better}, keep="as it is")
    assert found.name == "as it is"
    assert found.reason.startswith("What was declared does not move its prediction")
    assert [one.reason for one in found.candidates.values()] == ["sound as it is", "not needed"]
    # Without a name to keep, below the limit, or no better than a constant, the error decides.
    assert choose({"as it is": (follows(0.8, 0.5), 0.1), "exchange": better}).name == "exchange"
    assert choose({"as it is": (follows(0.79, 0.5), 0.1), "x": better}, keep="as it is").name == "x"
    assert choose({"as it is": (follows(0.95, 0.95), 0.1), "x": better}, keep="as it is").name == "x"


def test_of_equal_errors_the_first_given_wins() -> None:
    assert chosen(b=(0.1, 0.3), a=(0.1, 0.3)).name == "b"


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
    x, y = signals()
    found = choose({"event": Candidate(event, 0.2), "level": (level, 0.1)}, x, targets=y, exchange=SMALL)
    assert found.name == "event"
    assert found.candidates["event"].exchange == crest.exchange_test(event, x, targets=y, exchange=SMALL)
    settings = ExchangeSettings(kind="slow", sigma=4.0, trajectories=12, block=4, bootstrap=50, seed=3)
    mask = torch.ones(96, 80).bool()
    masked = choose({"event": (event, 0.2)}, x, mask=mask, targets=y, exchange=settings)
    assert masked.candidates["event"].exchange == crest.exchange_test(
        event, x, mask=mask, targets=y, exchange=settings
    )


def test_conditions_are_shown_and_do_not_decide() -> None:
    x, y = signals()
    loads = ["low" if number % 2 else "high" for number in range(96)]
    candidates = {
        "event": Candidate(event, 0.2, held_out=0.25),
        "level": Candidate(level, 0.1),
        "done": Candidate(exchange=replace(of_error(0.95), invariant=DECLARED), id_error=0.3),
    }
    found = choose(candidates, x, conditions=iter(loads), targets=y, exchange=SMALL)
    assert (found.name, found.by) == ("event", "exchange")
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


def judged(moved: float, expected: float, even: float | None = None, width: float = 0.0) -> Candidate:
    """A candidate whose declared nuisances move it by so much, with these errors; a constant prediction has 1."""
    together = Sensitivity(moved=moved, moved_interval=(moved - width, moved + width), error=expected)
    tested = replace(of_error(0.01), together=together, invariant=DECLARED)
    return Candidate(exchange=tested, id_error=0.1, even_error=even, even_constant=1.0)


def test_the_error_with_the_declared_nuisances_exchanged_decides_and_not_that_of_the_background() -> None:
    found = choose({"a": judged(1.0, 0.6), "b": judged(1.0, 0.3)})
    assert (found.name, found.by) == ("b", "exchange")


@pytest.mark.parametrize(
    ("moved", "width", "kept"), [(0.2, 0.1, True), (0.39, 0.0, True), (0.39, 0.02, False), (0.4, 0.0, False)]
)
def test_what_is_kept_is_what_the_declared_nuisances_do_not_move(
    moved: float, width: float, kept: bool
) -> None:
    found = choose({"as it is": judged(moved, 0.5, width=width), "x": judged(0.0, 0.1)}, keep="as it is")
    assert found.name == ("as it is" if kept else "x")


def test_the_even_error_takes_the_place_of_the_expected_one_if_every_candidate_has_it() -> None:
    tie = {"a": judged(0.0, 0.1, even=0.6), "b": judged(1.0, 0.8, even=0.3)}
    found = choose(tie, keep="a")
    assert (found.name, found.by) == ("b", "conditions")
    assert found.reason == "It has the lowest error averaged evenly over target x condition."
    assert "even error" in repr(found)
    # What is within a fifth of the lowest is kept, however far it is moved.
    assert choose({"a": judged(1.0, 0.9, even=0.35), "b": tie["b"]}, keep="a").name == "a"
    assert choose({"a": tie["a"], "b": judged(1.0, 0.8)}, keep="a").by == "exchange"
    # A constant is the measure of both errors.
    none = choose({"a": judged(0.0, 0.1, even=0.95)})
    assert none.name is None
    assert (
        "constant prediction averaged evenly over target x condition, whose error is 1 there" in none.reason
    )
    # Those that would settle it are there, and did.
    assert "would settle it" not in none.reason
    # That of the even error is another one, and is not compared if nobody knows it.
    for constant, name in ((0.2, None), (2.0, "a"), (None, "a")):
        assert choose({"a": replace(judged(0.0, 0.1, even=0.95), even_constant=constant)}).name == name


def test_a_rare_class_is_measured_evenly_for_the_constant_too() -> None:
    """A tenth of class 1: a constant errs by 0.1, and by 0.5 evenly over target x condition; the model errs evenly by 0.15."""
    y = torch.zeros(400, dtype=torch.long)
    y[:40] = 1
    conditions = ["a"] * 8 + ["b"] * 52 + ["a"] * 340
    wrong = y.clone()
    for some in (slice(0, 2), slice(10, 14), slice(40, 43), slice(100, 120)):
        wrong[some] = 1 - wrong[some]
    x = torch.randn(400, 40, 1, generator=torch.Generator().manual_seed(1000))
    x[:, 0, 0], x[:, 20, 0] = wrong.float(), x[:, 20, 0] + 5 * y
    candidates = {
        "good": (lambda x: torch.stack([1 - x[:, 0, 0], x[:, 0, 0]], 1), 0.07),
        "constant": (lambda x: torch.tensor([[1.0, 0.0]]).expand(len(x), 2), 0.1),
    }
    found = choose(candidates, x, targets=y, conditions=conditions)
    assert (found.name, found.by) == ("good", "conditions")
    assert found.candidates["good"].exchange.constant_error == pytest.approx(0.1, abs=0.05)
    assert found.candidates["constant"].even_error == pytest.approx(0.5)
    assert not found.candidates["constant"].better


def test_one_hot_classes_and_labels_are_judged_by_conditions_as_they_are_read() -> None:
    """Both functions are always right; in one cell of target x condition the logits look like probabilities."""
    numbers = torch.Generator().manual_seed(1000)
    classes = torch.arange(60) % 3
    x = 0.1 * torch.randn(60, 100, 1, generator=numbers)
    x[:, 50:54, 0] += classes[:, None]
    conditions = [(one + (row < 6)) % 3 for row, one in enumerate(classes.tolist())]

    def right(x: Tensor) -> Tensor:
        return 5 - (x[:, 50:54].mean(1) - torch.arange(3.0)).square()

    def labels(x: Tensor) -> Tensor:
        size = x[:, 50:54, 0].mean(1)
        return torch.stack([size - 0.5, torch.where(size < 1.5, 0.6 * (size - 0.5), 5.0)], 1)

    hot = torch.nn.functional.one_hot(classes, 3)
    both = torch.stack([classes > 0, classes > 0], 1).long()
    for function, targets in ((right, classes), (right, hot), (labels, both)):
        found = choose({"right": (function, 0.0)}, x, targets=targets, conditions=conditions)
        assert found.by == "conditions"
        assert found.candidates["right"].even_error == 0.0
        assert set(found.candidates["right"].condition_errors.values()) == {0.0}


def tied(count: int = 96) -> tuple[Tensor, Tensor, list[str]]:
    """A knock, the target, whose sign is that of the level in all but the last trajectories; and the level's sign."""
    x, knock = signals()
    offset = 2 * knock.sign()
    offset[count:] *= -1
    x = x - x[:, :1] + offset[:, None, None]
    return x, knock.sign(), ["high" if one > 0 else "low" for one in offset]


@pytest.mark.parametrize(("straight", "by"), [(88, "conditions"), (94, "exchange"), (96, "exchange")])
def test_four_trajectories_that_break_a_tie_decide(straight: int, by: str) -> None:
    x, y, conditions = tied(straight)
    candidates = {"level": (lambda x: level(x) / 2, 0.05), "event": (lambda x: event(x).sign(), 0.1)}
    found = choose(candidates, x, targets=y, conditions=conditions, exchange=SMALL)
    assert (found.name, found.by) == ("event", by)
    assert (found.candidates["event"].even_error is not None) == (by == "conditions")
    columns = {"sign": iter(conditions), "place": iter(["here"] * 96)}
    again = choose(candidates, x, targets=y, conditions=columns, exchange=SMALL)
    assert again.candidates["level"].even_error == found.candidates["level"].even_error
    assert set(again.candidates["level"].condition_errors) == {"high, here", "low, here"}


@pytest.mark.parametrize(
    ("conditions", "message"),
    [(["here"] * 96, "must vary, got 'here'"), ([f"m{one}" for one in range(96)], "must repeat, got 96")],
)
def test_conditions_that_tell_nothing_are_refused(conditions: list[str], message: str) -> None:
    x, y, _ = tied()
    with pytest.raises(ValueError, match=f"^conditions {message}"):
        choose({"event": (event, 0.1)}, x, targets=y, conditions=conditions, exchange=SMALL)


def test_candidates_tested_with_other_nuisances_are_refused() -> None:
    other = replace(of_error(0.5), invariant=("gain",))
    with pytest.raises(ValueError, match=r"^all candidates .* got gain and nothing as invariant"):
        choose({"a": (other, 0.1), "b": (of_error(0.5), 0.1)})


def test_it_prints_one_table() -> None:
    text = repr(chosen(plain=(0.05, 0.95), high_pass=(0.1, 0.2)))
    assert text.splitlines() == [
        "Choice: high_pass. It has the lowest error on exchanged signals.",
        "  candidate  ID error  expected error  transient share  reason",
        "  plain          0.05            0.95             0.70  no better than a constant",
        "  high_pass       0.1             0.2             0.70  lowest expected error",
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
        ({"targets": None}, "^targets must be given for the exchange test of 'a', got None"),
        (
            {"candidates": {"a": (of_error(0.9), 0.1), "b": (of_error(0.9, "slow"), 0.1)}},
            "^all candidates must be tested the same way, got core and slow as kind of background",
        ),
        (
            {"candidates": {"a": (of_error(0.9, what="background"), 0.1), "b": (event, 0.1)}},
            "^all candidates must be tested the same way, got background and spectrum as exchange: pass exchange=",
        ),
        (
            {"candidates": {"a": (of_error(None), 0.1)}},
            "^targets must be given to choose, but candidate 'a' was tested without",
        ),
        ({"keep": "b"}, "^keep must be one of a, got 'b'"),
        ({"exchange": {"seed": 1}}, "^exchange must be an? .*ExchangeSettings.* got dict"),
        ({"targets": torch.zeros(95)}, "^targets must be"),
        ({"conditions": [1] * 9}, r"^conditions must have shape \(N,\) = \(96,\)"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    x, y = signals()
    arguments: dict[str, object] = {"candidates": {"a": (event, 0.1)}, "inputs": x, "targets": y} | changes
    with pytest.raises(ValueError, match=message):
        choose(**arguments)


@pytest.mark.parametrize("missing", ["inputs", "targets"])
def test_conditions_need_inputs_and_targets(missing: str) -> None:
    given = {"inputs": torch.zeros(2, 30, 1), "targets": torch.zeros(2)} | {missing: None}
    with pytest.raises(ValueError, match=rf"^{missing} must be given for conditions, got None"):
        choose({"a": (of_error(0.5), 0.1)}, conditions=[1, 2], **given)


def test_a_candidate_that_cannot_be_tested_is_named() -> None:
    inputs = torch.randn(8, 50, 1)
    with pytest.raises(ValueError, match=r"^candidate 'bad': the function's predictions must be finite"):
        choose(
            {"good": (lambda x: x.mean((1, 2)), 0.3), "bad": (lambda x: x.mean((1, 2)) * float("nan"), 0.2)},
            inputs,
            targets=torch.zeros(8),
            exchange=SMALL,
        )
