"""The finding in a sentence."""

import dataclasses

import pytest

import crest
from crest._audit.headline import headline
from pages_made import audited, signals


def test_it_says_what_moves_the_predictions_and_how_far() -> None:
    before, after = audited(0.8), audited(0.0)
    moved = before.exchange.together.moved
    assert before.headline.startswith("The model reads the background: swapping offset")
    assert f"by {moved:.2f} standard deviations (limit 0.4), most of all the offset." in before.headline
    assert after.headline.startswith("The model reads the events: ")
    assert "by only 0.0" in after.headline


def test_a_premise_that_fails_comes_first() -> None:
    x, knock = signals()
    few = crest.audit(lambda x: x.mean((1, 2)), (x[:4], knock[:4]))
    assert few.headline == "Fewer than 8 trajectories are too few for a verdict."
    constant = crest.audit(lambda x: x.new_zeros(len(x)), x)
    assert constant.headline == "The prediction is the same for every trajectory, so it follows nothing."


@pytest.mark.parametrize(("verdict", "does"), [("events", "holds"), ("background", "fails")])
def test_trajectories_that_break_the_tie_are_told_if_they_decide(verdict: str, does: str) -> None:
    audit = audited(0.8)
    tie = dataclasses.replace(audit.tie, breaking=7, breaking_error=1.25, other_error=0.5)
    assert headline(verdict, audit.exchange, tie=tie, decided=True) == (
        f"The model {does} when target and condition part: error 1.25 on the 7 trajectories where they do, 0.5 on the others."
    )


def test_a_limit_within_the_interval_is_no_clear_case() -> None:
    exchange = audited(0.8).exchange
    near = dataclasses.replace(
        exchange, together=dataclasses.replace(exchange.together, moved=0.41, moved_interval=(0.3, 0.5))
    )
    assert headline("unclear", near).endswith(
        "0.41 standard deviations (0.30 to 0.50, and the limit of 0.4 lies between)."
    )
    assert "only" not in headline("events", near)
    assert headline("events", near).endswith("so the swap of the surroundings decides.")


def test_nothing_measured_and_nothing_declared() -> None:
    exchange = audited(0.8).exchange
    assert "of the predictions' variance follows the brief core" in headline(
        "background", dataclasses.replace(exchange, together=None)
    )
    assert "no verdict" in headline("unclear", dataclasses.replace(exchange, invariant=()))
    alone = dataclasses.replace(exchange, invariant=("offset",))
    assert headline("background", alone).endswith("(limit 0.4).")
