"""What the rule picks, against what hindsight knows."""

import pytest

from crest.lab.evidence.remedy_rule import picked, picked_by_error
from crest.lab.evidence.remedy_runs import TEN_PLACES, ModelOutcome
from crest.lab.runs.record import Shares


def outcome(
    seen: float, unseen: float, transient: float, exchanged: float | None = None
) -> dict[int, ModelOutcome]:
    """Of one seed."""
    shares = Shares(
        transient=transient,
        background=1 - transient,
        interaction=0.0,
        background_alone=0.0,
        exchanged_error=exchanged,
    )
    return {0: ModelOutcome(id=seen, ood=unseen, shares=shares)}


def test_regret_is_against_the_best_in_hindsight() -> None:
    pick = picked(TEN_PLACES[0], {"attention": outcome(0.1, 0.5, 0.9), "CREST": outcome(0.2, 0.4, 0.9)})
    assert (pick.name, pick.best) == ("attention", "CREST")
    assert pick.regret == pytest.approx(0.25)
    assert pick.change == 0


def test_the_lowest_error_on_exchanged_backgrounds_whatever_the_shares() -> None:
    models = {"attention": outcome(0.1, 0.5, 0.9, 0.4), "CREST": outcome(0.2, 0.4, 0.1, 0.3)}
    pick = picked_by_error(TEN_PLACES[0], models)
    assert (pick.name, pick.seeds, pick.regret) == ("CREST", 1, 0.0)


def test_a_model_without_that_error_is_refused() -> None:
    with pytest.raises(ValueError, match="error on exchanged backgrounds"):
        picked_by_error(TEN_PLACES[0], {"attention": outcome(0.1, 0.5, 0.9)})
