"""What the rule picks, against what hindsight knows."""

import pytest

from crest._repair import AS_IT_IS, MeasuredModel
from crest._repair.repair import ruled
from crest.lab.evidence import CATALOG
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.remedy_rule import exchanged_error, picked
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    PLAIN,
    TEN_PLACES,
    ModelOutcome,
    as_exchange,
    by_nuisances,
    mean_of,
    outcomes,
)
from crest.lab.runs.record import Shares
from crest.lab.runs.store import Store
from places import RESULTS, ROOT


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
    models = {"attention": outcome(0.1, 0.5, 0.9, 0.3), "CREST": outcome(0.2, 0.4, 0.9, 0.2)}
    pick = picked(TEN_PLACES[0], models)
    assert (pick.name, pick.best) == ("attention", "CREST")
    assert pick.regret == pytest.approx(0.25)
    assert pick.change == 0


def test_the_lowest_error_on_exchanged_backgrounds_whatever_the_shares() -> None:
    models = {"attention": outcome(0.1, 0.5, 0.7, 0.4), "CREST": outcome(0.2, 0.4, 0.1, 0.3)}
    pick = picked(TEN_PLACES[0], models)
    assert (pick.name, pick.seeds, pick.regret) == ("CREST", 1, 0.0)


def test_a_model_without_that_error_is_refused() -> None:
    with pytest.raises(ValueError, match="error on exchanged backgrounds"):
        exchanged_error(outcome(0.1, 0.5, 0.9)[0])
    with pytest.raises(ValueError, match="candidate 'attention' was tested without"):
        picked(TEN_PLACES[0], {"attention": outcome(0.1, 0.5, 0.9)})


@pytest.mark.slow
def test_the_picks_that_the_manual_shows_are_those_of_repair_on_the_same_records() -> None:
    """The manual shows what `crest.repair` would take of the kept models, by its own code, and not what another rule would."""
    experiment = CATALOG["remedies"]
    store = Store(RESULTS)
    there = store.ids()
    records = {spec.id: store.record(spec) for spec in experiment.runs if spec.id in there}
    found = Found(experiment.runs, records, {})
    page = (ROOT / "docs" / "user" / "helps.md").read_text()
    table = page.split("<!-- rule start -->")[1].split("<!-- rule end -->")[0].strip().splitlines()[2:]
    shown = {}
    for line in table:
        place, pick, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        shown[place] = pick.removesuffix(" (cannot tell)")
    places = (*TEN_PLACES, *BEARING_PLACES, *HARD_PLACES)
    assert set(shown) == {place.name for place in places}
    for place in places:
        models = by_nuisances(outcomes(found, place))
        rows = {
            AS_IT_IS if name == PLAIN else name: MeasuredModel(
                id_error=mean_of(by_seed).id, exchange=as_exchange(mean_of(by_seed).shares)
            )
            for name, by_seed in models.items()
        }
        assert (ruled(rows).name or AS_IT_IS).replace(AS_IT_IS, PLAIN) == shown[place.name], place.name
