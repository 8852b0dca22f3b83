import pytest

from crest.lab.evidence.theory_studies import DILUTION_STUDY, LAW_STUDY, budget_law, dilution
from crest.theory import budget_risk, credit_share, risk_id, risk_ood

MODEL = {"T": 1000, "s0": 1.0, "s1": 8.0, "gamma": 0.5}


def test_readers_are_simulated_beside_the_closed_forms_of_each_event_share() -> None:
    found = dilution(**MODEL, counts=[10, 300], n=50_000)
    assert found["epsilon"] == [0.01, 0.3]
    for place, epsilon in enumerate(found["epsilon"]):
        law = {"epsilon": epsilon, **MODEL}
        assert found["risk_id"][place] == float(risk_id(**law))
        assert found["risk_ood"][place] == float(risk_ood(**law))
        assert found["share"][place] == float(credit_share(**law))
        for closed, simulated in (
            ("risk_id", "simulated_id"),
            ("risk_ood", "simulated_ood"),
            ("share", "simulated_share"),
        ):
            assert found[simulated][place] == pytest.approx(found[closed][place], abs=0.03)
    assert {len(values) for values in found.values()} == {2}


def test_the_simulated_risk_is_lowest_at_the_events_length() -> None:
    found = budget_law(L=20, s0=2.0, budgets=[5, 20, 80], n=20_000)
    assert found["budget"] == [5.0, 20.0, 80.0]
    assert found["risk"] == [float(budget_risk(budget, 20, 2.0)) for budget in (5, 20, 80)]
    assert found["simulated"] == pytest.approx(found["risk"], abs=0.03)
    assert min(found["simulated"]) == found["simulated"][1]


def test_a_study_gives_the_same_each_time() -> None:
    options = {"L": 4, "s0": 1.0, "budgets": [2, 4], "n": 100}
    assert budget_law(**options) == budget_law(**options)


def test_the_kept_results_are_those_of_the_studies() -> None:
    assert (DILUTION_STUDY.id, LAW_STUDY.id) == ("dilution-335ac9796a", "budget_law-adccbde2b5")
