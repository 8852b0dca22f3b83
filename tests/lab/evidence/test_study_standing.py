from crest.lab.evidence.experiment import Found
from crest.lab.evidence.study_standing import Contender, standing_of
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, record

UNDER = {"id": {"slow": 0.1}, "ood": {"fast": 0.7}}


def run(seed: int, **fields: object) -> RunSpec:
    plain = {"system": "gear", "readout": "mean", "measures": ("exchange", "reanchor"), "seed": seed}
    return RunSpec(**{**plain, **fields})


def contender(called: str, **fields: object) -> Contender:
    return Contender(encoder="pointwise", readout="mean", remedy=called, fields={"readout": "mean", **fields})


def test_a_contender_has_its_own_records_by_seed() -> None:
    runs = [
        run(1001),
        run(1000),
        run(1000, remedy="exchange"),
        run(1000, remedy="exchange", front="high_pass"),
        run(1002),
    ]
    records = {
        one.id: record(one, lambda spec: Numbers(id=spec.seed / 10_000, worst=0.8, conditions=UNDER))
        for one in runs[:4]
    }
    found = Found(runs, records, {})
    plain = standing_of(found, contender("trained longer"))
    assert (list(plain.outcomes), plain.declared) == ([1000, 1001], 3)
    assert plain.mean.id == 0.10005
    assert (plain.worst, plain.under("ood", "fast"), plain.under("id", "fast")) == (
        [0.8, 0.8],
        [0.7, 0.7],
        [],
    )
    again = standing_of(found, contender("re-anchored"))
    assert (again.mean.id, again.worst, again.under("ood", "fast")) == (0.15, [1.8, 1.8], [])
    exchanged = [
        standing_of(found, contender("exchange", remedy="exchange", **front))
        for front in ({}, {"front": "high_pass"})
    ]
    assert [[one.spec.front for one in each.records] for each in exchanged] == [["none"], ["high_pass"]]


def test_its_name_has_readout_front_and_remedy() -> None:
    whole = Contender(encoder="cnn", readout="crest", front="standardise", remedy="exchange", fields={})
    assert (whole.place, whole.name) == ("CNN", "CREST + standardise + exchange")
    assert contender("trained longer").name == "mean"
