from collections.abc import Mapping

import pytest

from crest.exchange.candidates import Choice
from crest.lab.evidence.study_finding import fails_in_field, study_finding
from crest.lab.evidence.study_standing import Contender, Standing
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, record


def standing(id_error: float, ood: float, worst: float | None = None) -> Standing:
    spec = RunSpec(system="gear", readout="mean", seed=1000, measures=("exchange",))
    found = record(spec, lambda _: Numbers(id=id_error, ood=ood, worst=worst))
    contender = Contender(encoder="cnn", readout="mean", remedy="trained longer", fields={})
    return Standing(contender=contender, records=[found], declared=1)


def told(models: Mapping[str, Standing], pick: str | None, **changes: object) -> str:
    choice = Choice(name=pick, reason="", by="exchange", lowest_error="", candidates={})
    options = {"has_ood": True, "error": "error", "guess": 1.0, **changes}
    return study_finding(list(models.values()), (choice, models), **options)


def test_a_model_fails_that_loses_more_than_half_of_its_lead_over_a_guess() -> None:
    assert [fails_in_field(0.1, ood, 1.0) for ood in (0.54, 0.56, 1.2)] == [False, True, True]
    assert [fails_in_field(0.1, ood, 0.5) for ood in (0.29, 0.31)] == [False, True]


def test_it_says_who_fails_what_the_rule_picks_and_what_was_best_in_hindsight() -> None:
    poor = {"a": standing(0.1, 0.75, 0.9), "b": standing(0.1, 0.79, 1.1)}
    assert told(poor, "b") == (
        "Every model fails in the field: mean error 0.10 → 0.77, 1.00 in the worst group. The rule picks b (0.10 → 0.79). "
        "Best in hindsight, by the labels of the field: a (0.10 → 0.75)."
    )
    assert told(poor, "a").endswith("The rule picks a (0.10 → 0.75), which is the best in hindsight too.")
    assert "The rule cannot tell which model to take. Best in hindsight" in told(poor, None)
    mixed = {**poor, "c": standing(0.1, 0.2)}
    # Without a worst group of every model there is no mean over them.
    assert told(mixed, "c").startswith(
        "2 of 3 models fail in the field: mean error 0.10 → 0.58. The rule picks c"
    )
    assert told({"b": poor["b"], "c": mixed["c"]}, "c").startswith("1 of 2 models fails in the field")
    assert told({"c": mixed["c"]}, "c").startswith("No model fails in the field: error 0.10 → 0.20. The rule")


def test_models_that_learnt_nothing_do_not_count() -> None:
    found = told({"a": standing(0.1, 0.7), "lame": standing(0.9, 0.9)}, "a")
    assert found.startswith(
        "Every model that learnt the label (1 of 2) fails in the field: error 0.10 → 0.70."
    )
    models = {"a": standing(0.1, 0.7), "b": standing(0.1, 0.2), "lame": standing(0.9, 0.9)}
    assert told(models, "a").startswith(
        "1 of the 2 models that learnt the label (of 3) fails in the field: mean"
    )
    assert told({"lame": standing(0.9, 0.9)}, "lame") == (
        "No model has learnt the label: the lowest ID error is 0.90, and a guess has 1.00. Train for longer, or look at labels "
        "and windows first."
    )


@pytest.mark.parametrize("pick", ["a", None])
def test_without_ood_nothing_is_said_about_the_field_and_nothing_in_hindsight(pick: str | None) -> None:
    found = told({"a": standing(0.1, 0.77)}, pick, has_ood=False, error="error rate", guess=0.5)
    assert "0.77" not in found
    assert "hindsight" not in found
    assert found.endswith("No condition is held out, so the error rate in the field is unknown.")
    assert found.startswith(
        "The rule cannot tell" if pick is None else "The rule picks a: ID error rate 0.10."
    )
