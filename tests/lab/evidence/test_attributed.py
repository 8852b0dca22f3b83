"""The order of trained models, on numbers made up."""

import dataclasses

from crest.lab.evidence.attributed import attributed, judged_order, order_table
from crest.lab.evidence.audited import AUDIT_EXPERIMENT
from crest.lab.evidence.experiment import Found
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, record

RUNS = [spec for spec in AUDIT_EXPERIMENT.runs if spec.encoder == "cnn" and spec.seed < 2]


def kept(*, gradient: float) -> dict[str, list[Record]]:
    """Models that err by their place in the list: the exchange test knows it, the gradient as far as it is said to."""

    def rule(spec: RunSpec) -> Numbers:
        place = RUNS.index(spec) / len(RUNS)
        return Numbers(ood=0.2 + place, transient=0.9 - 0.8 * place, gradient=0.5 - gradient * place)

    return attributed(Found(RUNS, {spec.id: record(spec, rule) for spec in RUNS}, {}))


def test_only_models_with_attributions_are_compared() -> None:
    by_system = kept(gradient=0.1)
    assert list(by_system) == ["gear", "impact"]
    assert [len(records) for records in by_system.values()] == [7, 7]
    assert {one.spec.seed for records in by_system.values() for one in records} == {0}


def test_the_table_has_ranks_and_seconds() -> None:
    """Spectra that say the opposite of whole backgrounds order the other way round."""
    by_system = {
        system: [
            dataclasses.replace(one, spectral=other.spectral)
            for one, other in zip(records, reversed(records), strict=True)
        ]
        for system, records in kept(gradient=-0.1).items()
    }
    rows = {row[0]: row[1:] for row in order_table(by_system).rows}
    for exchanged, rank in (
        ("exchange of backgrounds", "1.00"),
        ("exchange of spectra, the audit's", "-1.00"),
    ):
        assert rows[f"{exchanged}: share that does not follow the transient"] == (
            "nothing",
            rank,
            rank,
            "0.5",
        )
        assert rows[f"{exchanged}: how far the predictions move"] == ("nothing", rank, rank, "0.5")
        assert rows[f"{exchanged}: error there"] == ("ID labels", rank, rank, "0.5")
    assert rows["captum, integrated gradients: share off the events"] == ("events", "-1.00", "-1.00", "2.0")
    assert rows["tslens, WinTSR: share off the events"] == ("events", "-1.00", "-1.00", "8.0")
    # The claim stays with whole backgrounds, for which it was named.
    assert "SG-Drive: +2.00 (" in judged_order(by_system).measured


def test_who_orders_as_well_is_not_beaten() -> None:
    assert judged_order(kept(gradient=0.1)).verdict == "holds"
    same = judged_order(kept(gradient=-0.1))
    assert same.verdict == "holds"
    assert "SG-Drive: +2.00 (" in same.measured


def test_who_says_the_same_of_all_orders_nothing() -> None:
    rows = {row[0].split(":")[0]: row[2] for row in order_table(kept(gradient=0.0)).rows}
    assert rows["captum, integrated gradients"] == "0.00"


def test_who_orders_worse_is_told() -> None:
    # The other way round for the exchange test: the errors fall where its share rises.
    turned = {
        system: [
            dataclasses.replace(one, score=other.score, attributions=other.attributions)
            for one, other in zip(records, reversed(records), strict=True)
        ]
        for system, records in kept(gradient=0.1).items()
    }
    assert judged_order(turned).verdict == "does not hold"
