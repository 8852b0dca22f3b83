from typing import Any

import pytest

from crest.lab.evidence.theory import THEORY_EXPERIMENT
from crest.lab.evidence.theory_studies import DILUTION_STUDY, LAW, LAW_STUDY
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, duel, verdicts


def dilution(**changes: list[float]) -> dict[str, list[float]]:
    exact = {
        "epsilon": [0.001, 0.002, 0.004],
        "risk_id": [0.2, 0.2, 0.2],
        "simulated_id": [0.2, 0.2, 0.2],
        "risk_ood": [0.9, 0.9, 0.9],
        "simulated_ood": [0.9, 0.9, 0.9],
        "share": [0.0005, 0.002, 0.008],
        "simulated_share": [0.0005, 0.002, 0.008],
        "order": [2.0, 2.0, 2.0],
        "sensitivity": [1.0, 1.0, 1.0],
        "simulated_sensitivity": [1.0, 1.0, 1.0],
    }
    return exact | changes


def law(**changes: list[float]) -> dict[str, list[float]]:
    length = float(LAW["L"])
    exact = {
        "budget": [length / 2, length, 2 * length],
        "risk": [0.5, 0.3, 0.5],
        "simulated": [0.5, 0.3, 0.5],
    }
    return exact | changes


def theory(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> dict[str, Any]:
    return {DILUTION_STUDY.name: first or dilution(), LAW_STUDY.name: second or law()}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"simulated_id": [0.2, 0.219, 0.2]}, "holds"),
        ({"simulated_id": [0.2, 0.221, 0.2]}, "does not hold"),
        ({"simulated_ood": [0.879, 0.9, 0.9]}, "does not hold"),
        ({"simulated_share": [0.0005, 0.023, 0.008]}, "does not hold"),
        ({"simulated_share": [0.0005, 0.002, 0.0075]}, "holds"),
        ({"simulated_share": [0.0005, 0.002, 0.006]}, "partly"),
        ({"simulated_share": [-0.0005, 0.002, 0.008]}, "partly"),
    ],
    ids=["exact", "near", "ID off", "OOD off", "share off", "order 1.95", "order 1.79", "no order"],
)
def test_simulation_must_agree_with_the_closed_forms(changes: dict[str, list[float]], verdict: str) -> None:
    assert verdicts(THEORY_EXPERIMENT, studies=theory(dilution(**changes)))[0] == verdict


@pytest.mark.parametrize(
    ("simulated", "verdict"),
    [
        ([0.5, 0.31, 0.49], "holds"),
        ([0.5, 0.33, 0.5], "does not hold"),
        ([0.5, 0.3, 0.29], "does not hold"),
    ],
    ids=["minimum at the event's length", "off", "minimum elsewhere and off"],
)
def test_the_simulated_minimum_must_be_at_the_events_length(simulated: list[float], verdict: str) -> None:
    assert verdicts(THEORY_EXPERIMENT, studies=theory(second=law(simulated=simulated)))[1] == verdict


def test_a_minimum_one_grid_point_away_that_agrees_is_partly() -> None:
    flat = law(risk=[0.31, 0.3, 0.31], simulated=[0.3, 0.31, 0.31])
    assert verdicts(THEORY_EXPERIMENT, studies=theory(second=flat))[1] == "partly"


@pytest.mark.parametrize(
    ("seeds", "sensitivity", "verdict"),
    [(10, 1.0, "holds"), (9, 1.0, "holds"), (8, 1.0, "does not hold"), (10, 0.019, "does not hold")],
)
def test_the_gradient_must_be_on_the_events_more_than_credit_on_nine_of_ten_seeds(
    seeds: int, sensitivity: float, verdict: str
) -> None:
    """Of the stronger attention, whose credit is 0.25; CREST's and the other's play no part."""

    def rule(spec: RunSpec) -> Numbers:
        gradient = 0.26 if spec.seed < seeds else 0.25
        none = Numbers(id=0.12, gradient=0.0)
        return duel(scored=Numbers(gradient=gradient), dot=none, crest=none)(spec)

    study = dilution(sensitivity=[sensitivity] * 3)
    claim = claims(THEORY_EXPERIMENT, rule, studies=theory(study))[2]
    assert (claim.verdict, claim.seeds) == (verdict, 10)
    assert "ε = 0.002" in claim.measured
    assert claim.measured.count(f"on {seeds} of 10 seeds") == 2


def test_one_system_of_two_is_part_of_the_claim() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(gradient=0.1 if spec.system == "impact" else 0.9)

    assert verdicts(THEORY_EXPERIMENT, rule, studies=theory())[2] == "partly"


def test_studies_are_judged_without_trained_models_and_the_other_way_round() -> None:
    none = verdicts(THEORY_EXPERIMENT, studies=theory(), without=lambda spec: spec.seed == 0)
    assert none[:3] == ["holds", "holds", "not measured"]
    alone = verdicts(THEORY_EXPERIMENT, studies={LAW_STUDY.name: law()})
    assert alone[:3] == ["not measured", "holds", "not measured"]


def test_more_weight_on_the_selection_is_not_always_better() -> None:
    claim = claims(THEORY_EXPERIMENT, studies=theory())[3]
    assert (claim.verdict, claim.brief) == ("does not hold", "rises up to 0.44 and falls beyond")
