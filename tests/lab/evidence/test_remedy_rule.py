"""What the rule picks, against what hindsight knows."""

import pytest

from crest.lab.evidence.remedy_rule import picked
from crest.lab.evidence.remedy_runs import TEN_PLACES, ModelOutcome
from crest.lab.runs.record import Shares


def test_regret_is_against_the_best_in_hindsight() -> None:
    def outcome(seen: float, unseen: float, transient: float) -> dict[int, ModelOutcome]:
        shares = Shares(transient=transient, background=1 - transient, interaction=0.0, background_alone=0.0)
        return {0: ModelOutcome(id=seen, ood=unseen, shares=shares)}

    pick = picked(TEN_PLACES[0], {"attention": outcome(0.1, 0.5, 0.9), "CREST": outcome(0.2, 0.4, 0.9)})
    assert (pick.name, pick.best) == ("attention", "CREST")
    assert pick.regret == pytest.approx(0.25)
    assert pick.change == 0
