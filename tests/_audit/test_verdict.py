"""From what was measured to a verdict, its reasons and the advice: all of it made by hand."""

import dataclasses
import math
from typing import Any

import pytest

from crest._audit.readings import Deletion
from crest._audit.tied import TieReading
from crest._audit.verdict import Evidence, Finding, found
from crest.exchange import Exchange
from crest.exchange.result import MOVES, AuditVerdict
from crest.exchange.sensitivity import Sensitivity

DECLARED = ("offset", "drift", "tones")


def row(moved: float, width: float = 0.05, error: float | None = None) -> Sensitivity:
    return Sensitivity(moved=moved, moved_interval=(moved - width, moved + width), error=error)


def measured(moved: float, width: float = 0.05, **more: Any) -> Exchange:
    """A test in which what was declared moves the predictions by so much, all of it the offset."""
    fields: dict[str, Any] = {
        "transient": 0.3, "background": 0.7, "interaction": 0.0, "transient_interval": (0.2, 0.4),
        "background_interval": (0.6, 0.8), "interaction_interval": (0.0, 0.0), "background_alone": 0.5, "kind": "core",
        "trajectories": 128, "moved": 1.0, "moved_interval": (0.9, 1.1), "invariant": DECLARED,
        "together": row(moved, width),
        "nuisances": {"offset": row(moved), "drift": row(0.0), "tones": row(0.0), "gain": row(0.1)},
    }  # fmt: skip
    return Exchange(**{**fields, **more})


def by_shares(transient: float, background: float, width: float = 0.05) -> Exchange:
    """A test without nuisances, as a record from before they were measured."""

    def around(value: float) -> tuple[float, float]:
        return value - width, value + width

    return Exchange(
        transient=transient,
        background=background,
        interaction=1 - transient - background,
        transient_interval=around(transient),
        background_interval=around(background),
        interaction_interval=around(1 - transient - background),
        background_alone=0.5,
        kind="core",
        trajectories=128,
    )


def finding(exchange: Exchange, **more: Any) -> Finding:
    return found(Evidence(exchange=exchange, **{"sharp": 1.0, **more}))


@pytest.mark.parametrize(
    ("moved", "width", "verdict"),
    [
        (0.0, 0.0, "events"),
        (0.3, 0.09, "events"),
        (0.3, 0.11, "unclear"),
        (0.4, 0.01, "unclear"),
        (0.55, 0.16, "unclear"),
        (0.55, 0.1, "background"),
        (1.4, 0.3, "background"),
    ],
)
def test_the_whole_interval_must_be_on_one_side_of_the_limit(
    moved: float, width: float, verdict: AuditVerdict
) -> None:
    assert MOVES == 0.4
    exchange = measured(moved, width, transient=0.75, background=0.25, transient_interval=(0.65, 0.85))
    assert exchange.verdict == verdict
    one = finding(exchange)
    assert one.verdict == verdict
    assert any("The limit of 0.4 lies in this interval. More" in why for why in one.reasons) == (
        verdict == "unclear"
    )


@pytest.mark.parametrize(
    ("transient", "colour", "declared", "verdict"),
    [
        (0.9, 0.0, DECLARED, "events"),
        (0.9, 1.0, DECLARED, "events"),
        (0.6, 0.0, DECLARED, "background"),
        (0.6, 0.19, DECLARED, "background"),
        # The surroundings that were exchanged hold the colour, which may be the fault.
        (0.6, 0.2, DECLARED, "unclear"),
        (0.6, 1.0, (*DECLARED, "colour"), "background"),
    ],
)
def test_the_surroundings_decide_if_the_limit_lies_in_the_interval(
    transient: float, colour: float, declared: tuple[str, ...], verdict: AuditVerdict
) -> None:
    nuisances = {"offset": row(0.4), "drift": row(0.0), "tones": row(0.0), "colour": row(colour)}
    exchange = measured(
        0.4,
        transient=transient,
        background=1 - transient,
        transient_interval=(transient - 0.05, transient + 0.05),
        nuisances=nuisances,
        invariant=declared,
    )
    assert exchange.verdict == verdict
    one = finding(exchange)
    assert one.verdict == verdict
    told = f"so the exchange of the surroundings decides: {transient:.0%} of the predictions' variance"
    assert any(told in why for why in one.reasons) == (verdict != "unclear")


def test_what_could_not_be_exchanged_is_no_clean_bill_of_health() -> None:
    nothing = row(math.nan, 0.0)
    exchange = measured(0.0, together=nothing, nuisances={"offset": row(1.0)}, invariant=("tones",))
    one = finding(exchange)
    assert (exchange.verdict, one.verdict) == ("unclear", "unclear")
    assert (
        one.reasons[0]
        == "Nothing that was declared could be exchanged. The signals have no tones to exchange."
    )
    assert "Leave the model as it is" not in one.advice[0]


@pytest.mark.parametrize(
    ("exchange", "verdict"),
    [
        (by_shares(0.9, 0.05), "events"),
        (by_shares(0.9, 0.05, width=0.15), "unclear"),
        (by_shares(0.83, 0.05), "unclear"),
        (by_shares(0.77, 0.05), "unclear"),
        (by_shares(0.7, 0.1), "background"),
        (by_shares(0.2, 0.75), "background"),
        (by_shares(0.4, 0.2), "background"),
        (by_shares(0.4, 0.0), "unclear"),
        (by_shares(math.nan, math.nan), "unclear"),
    ],
    ids=["follows", "unsure", "just above", "just below", "less", "background", "some of both", "both", "constant"],
)  # fmt: skip
def test_where_nuisances_were_not_measured_the_share_of_the_transient_decides(
    exchange: Exchange, verdict: AuditVerdict
) -> None:
    assert exchange.verdict == verdict
    assert finding(exchange).verdict == verdict


def test_the_shares_do_not_decide_where_nuisances_were_measured() -> None:
    assert measured(0.1).verdict == "events"
    high = dataclasses.replace(measured(1.0), transient=0.99, background=0.01, transient_interval=(0.98, 1.0))
    assert high.verdict == "background"


def test_the_first_reason_says_what_was_declared_and_what_moves_alone() -> None:
    exchange = measured(1.2, together=row(1.2, error=0.8))
    first = finding(exchange).reasons[0]
    assert first == (
        "Exchanging offset, drift and tones between trajectories moves the predictions by 1.20 standard deviations (1.15 to "
        "1.25; the limit is 0.4). The error is then 0.8. Expect that error when they stop following the target and nothing else changes. Alone: offset 1.20."
    )
    assert "Alone" not in finding(measured(0.1)).reasons[0]
    absent = measured(1.2, nuisances={"offset": row(1.2), "drift": row(0.0)})
    assert "Exchanging offset and drift between" in finding(absent).reasons[0]
    assert finding(absent).reasons[0].endswith("The signals have no tones to exchange.")
    assert finding(by_shares(0.9, 0.05)).reasons[0].startswith("Nothing was declared")


def test_what_was_not_declared_is_a_question_and_no_alarm() -> None:
    exchange = measured(0.1, nuisances={"offset": row(0.0), "gain": row(0.9), "rate": row(0.5)})
    one = finding(exchange)
    assert one.verdict == "events"
    (asked,) = [why for why in one.reasons if why.startswith("Not declared")]
    assert "Not declared, but it moves the predictions: gain by 0.90, rate by 0.50." in asked
    assert 'invariant=("offset", "drift", "tones", "gain", "rate")' in asked
    assert not any(why.startswith("Not declared") for why in finding(measured(1.2)).reasons)


# -- premises: an alarm that does not hold becomes unclear, with the reason


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sharp": 0.4}, "A brief core stands out in only 40% of the trajectories."),
        ({"brief": (-0.1, 0.0)}, "A simple reader cannot tell the target from the brief part alone."),
        ({"trajectories": 7}, "Fewer than 8 trajectories are too few for a verdict."),
        ({"error": 0.9}, "The model has hardly learnt its task on these data: its error is 0.9"),
    ],
)
def test_an_alarm_without_its_premise_is_unclear(more: dict[str, Any], words: str) -> None:
    exchange = measured(1.2, constant_error=1.0)
    assert finding(exchange).verdict == "background"
    one = finding(exchange, **more)
    assert one.verdict == "unclear"
    assert any(why.startswith(words) for why in one.reasons)
    assert not any("lies in this interval" in why for why in one.reasons)


def test_a_premise_that_may_hold_stops_no_alarm() -> None:
    exchange = measured(1.2, constant_error=1.0)
    for more in ({"sharp": 0.5}, {"brief": (0.0, 0.1)}, {"trajectories": 8}, {"error": 0.8}):
        assert finding(exchange, **more).verdict == "background", more


def test_no_core_and_nothing_brief_do_not_speak_against_a_model_that_is_not_moved() -> None:
    for more in ({"sharp": 0.1}, {"brief": (-0.1, -0.05)}):
        assert finding(measured(0.1), **more).verdict == "events"
    # But a model that has not learnt, or too few trajectories, do.
    assert finding(measured(0.1, constant_error=1.0), error=0.9).verdict == "unclear"
    assert finding(measured(0.1), trajectories=7).verdict == "unclear"


def test_without_a_core_the_advice_asks_for_trajectories_that_part() -> None:
    one = finding(measured(1.2), sharp=0.1)
    assert one.verdict == "unclear"
    assert one.advice[0] == "If the target is in what moves the predictions, leave the model as it is."
    assert "conditions=" in one.advice[1]


# -- trajectories that break a tie


def tie(breaking: int, error: float | None, width: float = 0.05, tied: bool = True) -> TieReading:
    interval = None if error is None else (error - width, error + width)
    return TieReading(
        strength=0.9 if tied else 0.1,
        tied=tied,
        targets=("0", "1"),
        conditions=("a", "b"),
        counts=((9, breaking), (0, 9)),
        errors=((0.1, error), (None, 0.1)),
        breaking=breaking,
        breaking_error=error,
        breaking_interval=interval,
        other_error=None if error is None else 0.1,
    )


def test_those_that_break_a_tie_decide_whatever_the_exchange_says() -> None:
    sound, moved = measured(0.1, constant_error=1.0), measured(1.2, constant_error=1.0)
    assert finding(sound, tie=tie(4, 1.5)).verdict == "background"
    assert finding(moved, tie=tie(4, 0.1)).verdict == "events"
    assert finding(moved, tie=tie(4, 0.1)).reasons[2].endswith("This is direct evidence, so it decides.")
    # Direct evidence needs no core.
    assert finding(sound, tie=tie(4, 1.5), sharp=0.0, brief=(-0.1, -0.1)).verdict == "background"


def test_too_few_no_tie_and_none_that_breaks_it_are_told() -> None:
    moved = measured(1.2, constant_error=1.0)
    few = finding(moved, tie=tie(3, 0.1))
    assert few.verdict == "background"
    assert few.reasons[2].endswith("That decides nothing. More of them would settle it.")
    none = finding(moved, tie=tie(0, None))
    assert none.reasons[1].endswith("No trajectory breaks the tie. A few that do would settle it.")
    loose = finding(moved, tie=tie(0, None, tied=False))
    assert loose.reasons[1] == "Target and condition are not tied in these data (Cramér's V 0.10)."


def test_those_of_one_group_are_told_and_do_not_decide() -> None:
    one = finding(
        measured(1.2, constant_error=1.0), tie=dataclasses.replace(tie(8, 0.1), breaking_interval=None)
    )
    assert one.verdict == "background"
    assert one.reasons[2].startswith(
        "On the 8 trajectories that break the tie its error is 0.1, on the others 0.1."
    )
    assert "All of them are of one group" in one.reasons[2]


@pytest.mark.parametrize(("moved", "verdict"), [(1.2, "background"), (0.1, "unclear")])
def test_breaking_trajectories_that_leave_it_open_lift_no_alarm_and_clear_nothing(
    moved: float, verdict: AuditVerdict
) -> None:
    between = tie(8, 0.5)
    assert between.verdict(1.0) == "unclear"
    one = finding(measured(moved, constant_error=1.0), tie=between)
    assert one.verdict == verdict
    assert not any("and decides" in why for why in one.reasons)
    assert one.reasons[2].endswith("That decides nothing. More of them would settle it.")


def test_nothing_decides_about_a_model_that_has_not_learnt() -> None:
    one = finding(measured(1.2, constant_error=1.0), tie=tie(8, 1.5), error=0.95)
    assert one.verdict == "unclear"
    assert not any("and decides" in why for why in one.reasons)


def test_without_conditions_what_was_not_declared_is_asked_for() -> None:
    loud = measured(0.1, nuisances={"offset": row(0.0), "gain": row(0.9), "rate": row(0.5)})
    first, second = finding(loud).advice
    assert first == "Leave the model as it is if gain and rate may move it: what was declared does not."
    assert "pass it as conditions=" in second
    known = finding(loud, tie=tie(8, 0.1))
    assert known.advice == ("Leave the model as it is: what was declared does not move it.",)


# -- reasons beside, and advice


def test_reasons_beside_follow_what_was_measured() -> None:
    one = finding(
        measured(1.2),
        core_credit=(0.3, 0.1),
        deletion=Deletion(core=0.2, others=0.1),
        preprocessed="look standardised window by window",
    )
    said = "\n".join(one.reasons)
    assert "30% of the credit is on the core, the most transient 10% of the steps: 3.0 times" in said
    assert "Credit alone does not tell whether the core decides." in said
    assert "by 0.20 standard deviations; removing as many other steps shifts them by 0.10" in said
    assert "The inputs look standardised window by window: what was removed" in said
    assert "30% of the predictions' variance follows the core (20% to 40%), 70% the surroundings" in said
    bare = "\n".join(finding(measured(1.2)).reasons)
    for word in ("credit", "Removing", "The inputs"):
        assert word not in bare


def test_neither_alone_is_explained() -> None:
    tangled = measured(1.2, interaction=0.5)
    assert any("neither alone" in why for why in finding(tangled).reasons)
    assert not any("neither alone" in why for why in finding(measured(1.2)).reasons)


def test_a_model_that_is_not_moved_is_left() -> None:
    assert finding(measured(0.1)).advice == ("Leave the model as it is: what was declared does not move it.",)
    constant = measured(math.nan, transient=math.nan)
    assert finding(constant).verdict == "unclear"
    assert finding(constant).advice[0].startswith("Train the model")


@pytest.mark.parametrize(
    ("mover", "words"),
    [
        ("offset", ('crest.HighPass("level")', "crest.JitterLevel()")),
        ("drift", ("crest.HighPass()", "crest.ExchangeBackground()")),
        ("tones", ('crest.HighPass("tones")', 'crest.ExchangeNuisances("tones")')),
        ("gain", ("crest.Standardise()", 'crest.ExchangeNuisances("gain")')),
        ("colour", ('crest.ExchangeNuisances("colour")',)),
        ("rate", ("crest.Stretch()",)),
    ],
)
def test_the_advice_is_against_what_moves_it_most(mover: str, words: tuple[str, ...]) -> None:
    exchange = measured(
        1.2, invariant=(*DECLARED, "gain", "colour", "rate"), nuisances={"offset": row(0.3), mover: row(1.2)}
    )
    for more in ("", "channels_first=True"):
        first = finding(exchange, channels_first=bool(more)).advice[0]
        assert first.startswith(f"{mover.capitalize()} move{'' if mover == 'tones' else 's'} it most.")
        assert first.endswith("train the model again.")
        assert first.count("channels_first=True") == (first.count("crest.") if more else 0)
        if not more:
            assert [word for word in words if word in first] == list(words)


def test_the_advice_hands_masks_and_lengths_on() -> None:
    """A layer in a Sequential gets no mask, and would average the padding in."""
    first = finding(measured(1.2), channels_first=True, masked=True).advice[0]
    assert 'crest.remedies.WithFront(crest.HighPass("level", channels_first=True), model)' in first
    assert "each training batch, with its mask" in first


def test_the_advice_names_the_repair_with_what_was_declared() -> None:
    second = finding(measured(1.2)).advice[1]
    assert 'crest.repair(model, batches, fit=fit, invariant=("offset", "drift", "tones"))' in second
    assert "conditions=" not in second
    known = finding(measured(1.2, constant_error=1.0), tie=tie(4, 1.5))
    assert '"tones"), conditions=conditions)' in known.advice[1]
    nothing = finding(measured(0.0, constant_error=1.0, invariant=()), tie=tie(4, 1.5))
    assert "fit=fit, conditions=conditions)" in nothing.advice[1]


def test_where_a_tie_was_broken_the_cause_may_be_undeclared() -> None:
    rows = {"offset": row(0.0), "gain": row(0.3), "rate": row(0.9)}
    exchange = measured(0.1, constant_error=1.0, nuisances=rows)
    assert finding(exchange, tie=tie(4, 1.5)).advice[0].startswith("Rate moves it most. Try: crest.Stretch()")
    # What the text asks to declare is what the advice declares.
    both = finding(exchange, tie=tie(4, 1.5))
    declared = 'invariant=("offset", "drift", "tones", "rate", "gain")'
    assert declared in both.advice[1]
    assert any(declared in reason for reason in both.reasons)
    still = measured(0.1, constant_error=1.0, nuisances={"offset": row(0.0)})
    assert finding(still, tie=tie(4, 1.5)).advice[0].startswith("Nothing moves it much by itself. Try: put")


def test_a_model_that_fails_here_and_not_in_training_is_not_to_be_trained_for_longer() -> None:
    exchange = measured(1.2, constant_error=1.0)
    one = finding(exchange, error=2.0, id_error=0.1)
    assert one.verdict == "unclear"
    assert any(why.startswith("The model fails on these data: its error is 2") for why in one.reasons)
    assert one.advice[0].startswith("Do not train the model for longer")
    assert "Audit held-out data as in training" in one.advice[1]
    # It has not learnt its task there either.
    (train,) = finding(exchange, error=0.9, id_error=0.9).advice
    assert train.startswith("Train the model for longer first")
    # Nobody knows: both cases are told.
    known, field = finding(exchange, error=0.9).advice
    assert known.startswith("If these are data as in training: train the model for longer first")
    assert field.startswith("If these are data from the field: ")
    assert "pass id_error=" in field
    # A model that does not fail needs none of it.
    assert finding(exchange, error=0.1, id_error=0.1).advice == finding(exchange, error=0.1).advice


def test_what_moves_alone_is_named_if_the_interval_reaches_the_limit() -> None:
    """Not only if the estimate does: the reasons are wanted most where the limit lies in the interval."""
    width = 0.06
    for moved, named in ((MOVES - 0.05, True), (MOVES - 0.07, False), (MOVES + 0.05, True)):
        words = " ".join(finding(measured(moved, width)).reasons)
        assert (f"Alone: offset {moved:.2f}" in words) == named
