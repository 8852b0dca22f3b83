from collections.abc import Callable

import pytest

from crest.lab.evidence.isolation import ISOLATION_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, shown, verdicts


def isolated(
    credit: dict[float, float], ood: dict[float, float], windows: dict[int, float]
) -> Callable[[RunSpec], Numbers]:
    """CiE@1 and OOD error by the weight of the auxiliary loss, and CiE@1 by window (512 is plain)."""

    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "scored_attention" or spec.objective_options:
            weight = spec.objective_options.get("weight", 0.0)
            return Numbers(cie=credit[weight], ood=ood[weight])
        return Numbers(cie=windows[spec.readout_options.get("window", 512)])

    return rule


STILL = {8: 0.2, 32: 0.2, 128: 0.24, 256: 0.25, 512: 0.2}


@pytest.mark.parametrize(
    ("credit", "ood", "verdict"),
    [
        ({0.01: 0.3, 0.1: 0.4, 1.0: 0.8}, {0.01: 0.5, 0.1: 0.5, 1.0: 0.19}, "holds"),
        ({0.01: 0.3, 0.1: 0.4, 1.0: 0.8}, {0.01: 0.1, 0.1: 0.1, 1.0: 0.29}, "partly"),
        ({0.01: 0.3, 0.1: 0.4, 1.0: 0.8}, {0.01: 0.1, 0.1: 0.1, 1.0: 0.39}, "does not hold"),
        ({0.01: 0.3, 0.1: 0.4, 1.0: 0.8}, {0.01: 0.1, 0.1: 0.1, 1.0: 0.45}, "does not hold"),
        ({0.01: 0.1, 0.1: 0.1, 1.0: 0.1}, {0.01: 0.1, 0.1: 0.1, 1.0: 0.1}, "does not hold"),
    ],
    ids=["error halved", "error down by a quarter", "error hardly down", "error up", "credit down"],
)
def test_supervision_is_judged_at_the_weight_with_the_most_credit(
    credit: dict[float, float], ood: dict[float, float], verdict: str
) -> None:
    scored = claims(ISOLATION_EXPERIMENT, isolated({0.0: 0.2} | credit, {0.0: 0.4} | ood, STILL))[1]
    assert "attention (MLP)" in scored.text
    assert (scored.verdict, scored.seeds, scored.smallest_p) == (verdict, 5, 2.0**-5)


def test_supervision_must_help_on_every_seed() -> None:
    credit = {0.0: 0.2, 0.01: 0.3, 0.1: 0.4, 1.0: 0.8}

    def rule(spec: RunSpec) -> Numbers:
        error = 0.41 if spec.seed == 2 else 0.1
        return isolated(credit, dict.fromkeys(credit, error) | {0.0: 0.4}, STILL)(spec)

    assert verdicts(ISOLATION_EXPERIMENT, rule)[1] == "does not hold"


def test_each_form_of_attention_has_its_own_verdict() -> None:
    def rule(spec: RunSpec) -> Numbers:
        taught = bool(spec.objective_options)
        helped = taught and spec.readout == "attention"
        return Numbers(cie=0.8 if taught else 0.2, ood=0.1 if helped else 0.4)

    assert verdicts(ISOLATION_EXPERIMENT, rule)[:2] == ["holds", "does not hold"]


@pytest.mark.parametrize(
    ("windows", "verdict"),
    [
        (STILL, "holds"),
        (STILL | {128: 0.4}, "partly"),
        (STILL | {8: 0.4}, "does not hold"),
    ],
    ids=["credit stays", "only a middle window moves it", "the smallest window moves it"],
)
def test_no_window_may_move_credit_onto_the_events(windows: dict[int, float], verdict: str) -> None:
    weights = dict.fromkeys((0.0, 0.01, 0.1, 1.0), 0.2)
    assert verdicts(ISOLATION_EXPERIMENT, isolated(weights, weights, windows))[2] == verdict


def test_the_two_controls_are_measured_apart() -> None:
    without = [spec for spec in ISOLATION_EXPERIMENT.runs if spec.readout == "windowed"]
    there = shown(ISOLATION_EXPERIMENT, without=lambda spec: spec.id == without[0].id)
    assert [claim.verdict for claim in there.claims] == ["does not hold", "does not hold", "not measured"]
