"""The tables of real recordings, on numbers made up."""

import dataclasses
from collections.abc import Callable

import pytest

from crest.lab.evidence.experiment import Found
from crest.lab.evidence.field import CLAIMS, FIELD_EXPERIMENT
from crest.lab.evidence.field_readers import FIELD_READERS
from crest.lab.evidence.shown import Shown, Table
from crest.lab.runs.record import Record, RepairCandidate, RepairScore
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, Rule, claims, column, duel, found, record, shown

READERS = {FIELD_READERS.name: [{"system": "sisfall", "reader": "offset alone", "id": 0.03, "ood": 0.5}]}


def breaking(spec: RunSpec) -> Numbers:
    """Average pooling breaks, attention less so and CREST least."""
    return Numbers(id=0.1, ood=0.4) if spec.readout == "mean" else duel()(spec)


def changed(rule: Rule, change: Callable[[RunSpec, RepairScore], RepairScore]) -> Shown:
    """What is shown of records whose repairs are changed."""
    there = found(FIELD_EXPERIMENT, rule, studies=READERS)

    def one(found_record: Record) -> Record:
        repaired = found_record.repaired
        return found_record if repaired is None else dataclasses.replace(
            found_record, repaired=change(found_record.spec, repaired)
        )  # fmt: skip

    records = {name: one(found_record) for name, found_record in there.records.items()}
    return FIELD_EXPERIMENT.show(Found(there.runs, records, there.studies))


def table(of: Shown, name: str) -> Table:
    return next(one for one in of.tables if one.name == name)


def claim_named(of: Shown, words: str) -> tuple[str, str]:
    (claim,) = [claim for claim in of.claims if words in claim.text]
    return claim.verdict, claim.measured


def test_every_claim_holds_where_repairs_help_and_the_audit_is_right() -> None:
    there = claims(FIELD_EXPERIMENT, breaking)
    assert [claim.verdict for claim in there] == ["holds"] * 6
    # A pick has 0.3 of the plain model's error here; 37 models with a tie and 14 without.
    assert there[0].measured == "MIT-BIH 0.30, SisFall 0.30"
    assert there[2].measured == "51 of 51, 0 false alarms"
    assert there[4].measured.startswith("lower in 11 of 11 places")
    assert there[5].measured == "higher with 4 of 4 encoders"


@pytest.mark.parametrize(
    ("gap", "measured"),
    [
        (0.16, "51 of 51, 0 false alarms"),
        (0.10, "0 of 0, 0 false alarms"),
        (0.04, "0 of 51, 51 false alarms"),
    ],
)
def test_only_clear_models_are_counted(gap: float, measured: str) -> None:
    there = shown(FIELD_EXPERIMENT, lambda _: Numbers(id=0.1, ood=0.1 + gap, ecm=0.2))
    assert claim_named(there, "The audit is right")[1] == measured


def test_a_repaired_model_is_counted_too() -> None:
    there = changed(breaking, lambda _, one: dataclasses.replace(one, verdict_after="events"))
    # 0.3 x 0.4 is 0.02 above the ID error.
    assert claim_named(there, "The audit is right") == ("holds", "102 of 102, 0 false alarms")
    assert column(table(there, "verdicts"), "models that") == ["break", "hold"] * 3


def harmed(spec: RunSpec, one: RepairScore) -> RepairScore:
    """The patch Transformer on SisFall gets worse without a tie."""
    if (spec.system, spec.encoder, spec.regime) != ("sisfall", "patch", "untied"):
        return one
    rows = {**one.candidates, "as it is": RepairCandidate(id=0.0, ood=0.0, expected=0.3, even=None)}
    return dataclasses.replace(one, candidates=rows)


def test_harm_is_told_with_its_place() -> None:
    there = changed(breaking, harmed)
    assert claim_named(there, "Without a tie") == (
        "does not hold",
        "worst: SisFall, patch Transformer, no error to 0.12",
    )
    assert column(table(there, "control"), "ratio")[-1] == "-"


def test_the_worst_cell_before_and_after() -> None:
    worst = {"as it is": 0.9, "balanced": 0.2}
    there = changed(breaking, lambda _, one: dataclasses.replace(one, worst=worst))
    assert set(column(table(there, "repairs"), "worst cell")) == {"0.90 -> 0.20"}
    assert set(column(table(shown(FIELD_EXPERIMENT, breaking), "repairs"), "worst cell")) == {"-"}
    # Seeds from before it was measured are told.
    one = changed(breaking, lambda spec, one: dataclasses.replace(one, worst=worst if spec.seed == 0 else {}))
    assert set(column(table(one, "repairs"), "worst cell")) == {"0.90 -> 0.20 (of 1)", "0.90 -> 0.20"}


def test_nothing_is_claimed_before_all_runs_are_there() -> None:
    there = shown(FIELD_EXPERIMENT, breaking, without=lambda spec: spec.encoder == "patch" and spec.seed == 2)
    assert there.claims == CLAIMS
    assert {row[1] for row in table(there, "repairs").rows} >= {"patch Transformer", "GRU"}


def test_the_first_table_waits_for_experts_and_repairs() -> None:
    whole = shown(FIELD_EXPERIMENT, breaking)
    rows = table(whole, "worth").rows
    assert [row[0].split(":")[0] for row in rows] == ["MIT-BIH", "SisFall", "SisFall", "HIT-SM"]
    expert = "0.10 / 0.40 (each window standardised)"
    assert rows[0][1:] == ("0.10 / 0.40", expert, "0.10 / 0.12", "better")
    assert rows[2][0] == "SisFall: falls, posture not tied"
    assert rows[2][2] == ""
    partly = shown(FIELD_EXPERIMENT, breaking, without=lambda spec: spec.remedy == "envelope")
    assert "worth" not in [one.name for one in partly.tables]


def test_the_first_table_shows_the_better_of_two_experts() -> None:
    def numbers(spec: RunSpec) -> Numbers:
        made = breaking(spec)
        return dataclasses.replace(made, ood=0.2) if spec.remedy == "high_pass" else made

    rows = table(shown(FIELD_EXPERIMENT, numbers), "worth").rows
    assert rows[0][2] == "0.10 / 0.20 (0.5 Hz high-pass)"
    assert rows[3][2] == "0.10 / 0.40 (each window standardised)"


def test_the_first_table_tells_harm() -> None:
    def harmless(spec: RunSpec, one: RepairScore) -> RepairScore:
        if spec.regime != "untied":
            return one
        rows = {**one.candidates, "as it is": RepairCandidate(id=0.0, ood=0.0, expected=0.3, even=None)}
        return dataclasses.replace(one, candidates=rows)

    assert column(table(changed(breaking, harmless), "worth"), "in the field it is") == [
        *["better"] * 2,
        "**worse**",
        "better",
    ]


def test_readers_and_ratings_are_shown_where_they_were_measured() -> None:
    assert "readers" not in [one.name for one in shown(FIELD_EXPERIMENT, breaking).tables]
    there = shown(FIELD_EXPERIMENT, breaking, studies=READERS)
    assert table(there, "readers").rows == (("SisFall", "offset alone", "0.03 / 0.50"),)
    # Made records have no rating.
    assert set(column(table(there, "credit"), "rating: CiE@1")) == {"-"}
    rated = {
        name: dataclasses.replace(one, rating=one.credit["id"] if "rating" in one.spec.measures else None)
        for name, one in found(FIELD_EXPERIMENT, breaking).records.items()
    }
    again = FIELD_EXPERIMENT.show(Found(FIELD_EXPERIMENT.runs, rated, {}))
    assert column(table(again, "credit"), "rating: CiE@1") == column(table(again, "credit"), "CiE@1")


def test_the_dial_has_its_ties() -> None:
    dial = table(shown(FIELD_EXPERIMENT, breaking), "dial")
    assert column(dial, "tie") == ["0.90", "0.99", "0.90", "0.95", "0.99"]


def test_a_record_of_each_kind_can_be_made() -> None:
    kinds = {spec.measures for spec in FIELD_EXPERIMENT.runs}
    assert kinds == {(), ("rating",), ("exchange", "repair")}
    assert record(FIELD_EXPERIMENT.runs[0], breaking).repaired is not None
