import re
from pathlib import Path

import pytest

from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.study_file import study_of
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, column, shown
from studies_made import made_study

PLACE = "my_encoder.py:make_encoder"


def study(folder: Path, **recordings: object) -> Experiment:
    return study_of(
        made_study(folder, recordings=recordings, models={"remedies": ["none", "high_pass", "reanchor"]})
    )


def numbers(spec: RunSpec) -> Numbers:
    """CREST follows the transient, and has the lower ID error with the encoder of one's own."""
    if spec.readout != "crest":
        return Numbers(id=0.1 + spec.seed / 10, ood=0.8, transient=0.2, again=(0.3, 0.5, 0.55))
    return Numbers(id=0.12 if spec.encoder == "own" else 0.14, ood=0.2, cie=0.75, transient=0.9)


def test_a_row_has_both_errors_credit_and_shares(tmp_path: Path) -> None:
    models, _ = shown(study(tmp_path), numbers).tables
    assert column(models, "model") == [
        "mean", "mean + high-pass", "mean + re-anchored", "CREST", "CREST + high-pass"
    ] * 2  # fmt: skip
    assert models.rows[0] == (
        "pointwise", "mean", "0.150 ± 0.071", "0.800 ± 0.000", "0.25 ± 0.00", "0.12 ± 0.00", "0.20 ± 0.00", "0.80 ± 0.00", "2/2"
    )  # fmt: skip
    assert models.rows[2][2:6] == ("0.300 ± 0.000", "0.500 ± 0.000", "—", "—")
    assert models.rows[8][0] == PLACE


def test_a_front_is_part_of_a_models_name_and_of_what_is_found(tmp_path: Path) -> None:
    factors = {"fronts": ["none", "standardise"], "remedies": ["none", "exchange", "reanchor"]}
    made = study_of(made_study(tmp_path, models={"encoders": ["pointwise"], "readouts": ["mean"], **factors}))

    def by_front(spec: RunSpec) -> Numbers:
        fronted = "standardise" in (spec.front, spec.remedy)
        return Numbers(
            id=0.1 + 0.2 * fronted + 0.01 * (spec.remedy == "exchange"), again=(0.5 + fronted, 0.5, 0.5)
        )

    models = shown(made, by_front).tables[0]
    assert dict(zip(column(models, "model"), [cell[:5] for cell in column(models, "ID error")], strict=True)) == {
        "mean": "0.100", "mean + exchange": "0.110", "mean + re-anchored": "0.500",
        "mean + standardise": "0.300", "mean + standardise + exchange": "0.310", "mean + standardise + re-anchored": "1.500",
    }  # fmt: skip
    assert column(models, "seeds") == ["2/2"] * 6


def test_the_rule_picks_for_each_encoder_and_of_all(tmp_path: Path) -> None:
    _, rule = shown(study(tmp_path), numbers).tables
    assert column(rule, "encoder") == ["pointwise", PLACE, "all"]
    assert column(rule, "pick") == ["CREST", "CREST", f"{PLACE}, CREST"]
    assert column(rule, "OOD error") == ["0.200"] * 3
    background = shown(study(tmp_path), lambda _: Numbers(transient=0.1, again=(0.1, 0.1, 0.1))).tables[1]
    assert column(background, "pick") == ["cannot tell"] * 3
    assert column(background, "ID error") == ["—"] * 3


def test_without_ood_no_error_is_called_so(tmp_path: Path) -> None:
    found = shown(study(tmp_path, condition=None, ood=None), numbers)
    assert not any("OOD error" in table.header for table in found.tables)
    assert [[series.name for series in panel.series] for panel in found.charts[0].panels] == [["ID"], ["ID"]]
    assert "Nothing is held out as OOD" in found.notes[-1]
    held = shown(study(tmp_path), numbers)
    assert [series.name for series in held.charts[0].panels[0].series] == ["ID", "OOD"]


def test_a_pick_that_is_no_better_than_a_guess_is_called_so(tmp_path: Path) -> None:
    found = shown(study(tmp_path), lambda spec: Numbers(id=0.82, transient=0.9, again=(1.1, 1.1, 0.9)))
    ending = "hardly better than a guess, which has 1.000: train longer before you trust it."
    assert [why.endswith(ending) for why in column(found.tables[1], "why")] == [True] * 3
    assert not any("guess" in why for why in column(shown(study(tmp_path), numbers).tables[1], "why"))


def test_a_guess_among_classes_is_always_the_commonest_of_those_that_are_not_ood(tmp_path: Path) -> None:
    made_study(tmp_path)
    table = tmp_path / "table.csv"
    # Of the six slow recordings two are worn; the fast ones, which are OOD, are none of a guess's business.
    table.write_text(table.read_text().replace("worn", "ok", 1).replace(",worn", ",bad", 1))
    made = study_of(made_study(tmp_path, recordings={"label": "state"}, models={"encoders": ["pointwise"]}))
    poor = shown(made, lambda spec: Numbers(id=0.28, transient=0.9))
    assert "A guess, always the commonest of 3 classes, is wrong in about 0.33 of the cases" in poor.notes[0]
    why = "hardly better than a guess, which has 0.333: train longer before you trust it."
    assert column(poor.tables[1], "why")[0].endswith(why)
    good = shown(made, lambda spec: Numbers(id=0.2, transient=0.9))
    assert "guess" not in column(good.tables[1], "why")[0]


def test_the_worst_group_stands_beside_the_mean_and_errors_under_each_condition_below(tmp_path: Path) -> None:
    def measured(spec: RunSpec) -> Numbers:
        under = {"id": {"900 rpm": 0.2, "600 rpm": 0.1 + spec.seed / 10}, "ood": {"1200 rpm": 0.8}}
        return Numbers(worst=0.9, conditions=under)

    models, _, conditions = shown(study(tmp_path), measured).tables
    assert models.header[3:5] == ("OOD error", "worst group")
    assert [row[4] for row in models.rows[:3]] == ["0.900 ± 0.000", "0.900 ± 0.000", "1.900 ± 0.000"]
    assert "largest OOD error over label x condition" in models.caption
    # In the order of their numbers.
    assert conditions.header == ("encoder", "model", "ID, 600 rpm", "ID, 900 rpm", "OOD, 1200 rpm")
    assert conditions.rows[0] == ("pointwise", "mean", "0.150 ± 0.071", "0.200 ± 0.000", "0.800 ± 0.000")
    assert conditions.rows[2][1:] == ("mean + re-anchored", "—", "—", "—")
    # Nothing held out: neither a worst group of OOD windows nor a column of them.
    models, _, conditions = shown(study(tmp_path, condition=None, ood=None), measured).tables
    assert "worst group" not in models.header
    assert conditions.header[2:] == ("ID, 600 rpm", "ID, 900 rpm")


def test_one_condition_alone_has_no_table(tmp_path: Path) -> None:
    found = shown(
        study(tmp_path, condition=None, ood=None), lambda _: Numbers(conditions={"id": {"slow": 0.2}})
    )
    assert [table.name for table in found.tables] == ["models", "rule"]


def test_the_headline_is_the_finding_and_says_when_runs_are_missing(tmp_path: Path) -> None:
    made = study(tmp_path)
    assert shown(made, numbers).headline.startswith("4 of 10 models fail in the field: mean error 0.1")
    some = shown(made, numbers, without=lambda spec: spec.seed == 1).headline
    assert some.startswith("So far, with runs missing: ")
    assert shown(made, numbers, without=lambda _: True).headline == ""


def test_what_is_missing_is_counted_and_the_rest_is_shown(tmp_path: Path) -> None:
    made = study(tmp_path)
    some = shown(made, numbers, without=lambda spec: spec.readout == "crest" and spec.seed == 1)
    assert column(some.tables[0], "seeds")[:5] == ["2/2", "2/2", "2/2", "1/2", "1/2"]
    assert "Not all models have the same seeds yet" in some.tables[1].caption
    none = shown(made, numbers, without=lambda _: True)
    assert column(none.tables[0], "ID error") == ["—"] * 10
    assert not none.charts


def test_labels_that_are_names_are_trained_as_classes_and_errors_are_shares_of_wrong_ones(
    tmp_path: Path,
) -> None:
    made = study_of(
        made_study(
            tmp_path,
            recordings={"label": "state", "condition": None, "ood": None},
            models={"encoders": ["pointwise"], "remedies": ["none", "reanchor"], "seeds": 1},
        )
    )
    assert {spec.objective for spec in made.runs} == {"cross_entropy"}
    assert {tuple(spec.system_options["classes"]) for spec in made.runs} == {("ok", "worn")}
    told = shown(made, numbers)
    assert "Error rates are shares of windows with a wrong class" in told.notes[0]
    assert [[word for word in table.header if "error" in word] for table in told.tables] == [
        ["ID error rate"]
    ] * 2
    assert "lowest error on exchanged signals" in column(told.tables[1], "why")[0]
    assert (told.charts[0].caption[:11], told.charts[0].panels[0].y_label) == ("Error rates", "error rate")
    words = " ".join([*told.notes, *(table.caption for table in told.tables)])
    assert not re.search("deviation|RMSE|[Ee]rrors? (?!rate)", words)
    first = made.quick().runs[0]
    record = run(first)
    # A share of 16 windows, or of as many as there are.
    assert 0 <= record.score.id <= 1
    assert set(record.macro_f1) == {"id", "ood"}


@pytest.mark.parametrize("remedy", ["none", "high_pass"])
def test_a_trial_is_found_by_its_models_too(tmp_path: Path, remedy: str) -> None:
    trial = study_of(made_study(tmp_path, models={"remedies": [remedy]})).quick()
    assert column(shown(trial, numbers).tables[0], "seeds") == ["1/1"] * 4
