import dataclasses
import json
from pathlib import Path

import pytest

from crest.lab.evaluation import Budget, Score
from crest.lab.runs.packed import line_of
from crest.lab.runs.record import FORMER_FIELDS, Look, Record
from crest.lab.runs.store import Store
from crest.probes import CreditMeans, DeletionCurve, Trace, Traces
from toy import tiny_spec

CREDIT = CreditMeans(cie=0.5, ecm=0.25, precision=0.125, chance=0.1, counted=8, without_events=1)


TRACE = Trace(
    split="id",
    index=0,
    y=0.5,
    cue=None,
    prediction=0.25,
    signals=[[0.0, 1.0], [2.0, 3.0]],
    events=[1],
    credit=[0.25, 0.75],
    transience=[0.5, 0.5],
    votes=None,
)
TRACES = Traces(channels=["a", "b"], sample_rate=2.0, rows=[TRACE, dataclasses.replace(TRACE, events=None)])


def record(**changes: object) -> Record:
    spec = tiny_spec(readout_options={"config": {"sigma": 4.0}})
    plain = Record(
        id=spec.id,
        spec=spec,
        resolved=spec.resolved(),
        score=Score(id=0.1, ood=0.4),
        credit={"id": CREDIT, "ood": dataclasses.replace(CREDIT, cie=0.75)},
        budget={"id": Budget(epsilon=0.1, alpha=0.7, width=0.5, tail=0.2, selected=0.15)},
        losses=[1.0, 0.5],
        looks=[
            Look(epoch=0, score=Score(id=1.0, ood=2.0), credit=CREDIT),
            Look(epoch=2, score=Score(id=0.1, ood=0.4), credit=None),
        ],
        deletion={"random": DeletionCurve(fractions=(0.0, 0.5), errors=(0.1, 0.3))},
        saliency=dataclasses.replace(CREDIT, ecm=0.5),
        traces=TRACES,
        seconds={"data": 0.5, "training": 1.5, "measuring": 0.25},
        peak_memory=123.5,
        versions={"torch": "2"},
        commit=None,
    )
    return dataclasses.replace(plain, **changes)


EMPTY = record(credit={}, budget={}, looks=[], deletion={}, saliency=None, traces=None, commit="abc+")


def test_text_and_back() -> None:
    for one in (record(), EMPTY):
        again = Record.from_dict(json.loads(one.to_json()))
        assert again == one
        assert again.to_json() == one.to_json()
        assert again.id == one.id


def test_the_text_of_what_the_probes_measured() -> None:
    """Published records have these words in this order: a value of the probes may not change them."""
    lines = dict(line.strip().rstrip(",").split(": ", 1) for line in record().to_json().splitlines()[1:-1])
    means = '"cie": 0.5, "ecm": 0.25, "precision": 0.125, "chance": 0.1, "counted": 8, "without_events": 1'
    assert lines['"credit"'].startswith(f'{{"id": {{{means}}}, "ood"')
    assert lines['"deletion"'] == '{"random": {"fractions": [0.0, 0.5], "errors": [0.1, 0.3]}}'
    row = (
        '{"split": "id", "index": 0, "y": 0.5, "cue": null, "prediction": 0.25, '
        '"signals": [[0.0, 1.0], [2.0, 3.0]], "events": [1], "credit": [0.25, 0.75], '
        '"transience": [0.5, 0.5], "votes": null}'
    )
    assert lines['"traces"'].startswith(f'{{"channels": ["a", "b"], "sample_rate": 2.0, "rows": [{row}, ')


def test_the_id_is_the_specs_and_stands_in_the_text() -> None:
    assert record().id == record().spec.id
    assert not record().stale
    assert record(id="gear-of-yesterday").stale
    assert json.loads(record().to_json())["id"] == record().id
    assert record().to_json().endswith("}\n")


def test_parts_come_back_as_what_they_were() -> None:
    again = Record.from_dict(json.loads(record().to_json()))
    assert isinstance(again.score, Score)
    assert isinstance(again.credit["ood"], CreditMeans)
    assert isinstance(again.budget["id"], Budget)
    assert isinstance(again.looks[0], Look)
    assert again.looks[0].credit == CREDIT
    assert again.looks[1].credit is None
    assert isinstance(again.deletion["random"], DeletionCurve)
    assert again.deletion["random"] == record().deletion["random"]
    assert isinstance(again.saliency, CreditMeans)
    assert isinstance(again.traces, Traces)
    assert again.traces.rows[0] == TRACE
    assert again.traces.rows[1].events is None


def test_an_old_id_is_no_error() -> None:
    old = Record.from_dict({**record().to_dict(), "id": "gear-old-0000000000"})
    assert old == record(id="gear-old-0000000000")
    assert old.stale


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(bad: float) -> None:
    curve = DeletionCurve(fractions=(0.0, 0.5), errors=(0.1, bad))
    trace = dataclasses.replace(TRACE, prediction=bad)
    for broken in (
        record(losses=[bad]),
        record(credit={"id": dataclasses.replace(CREDIT, ecm=bad)}),
        record(saliency=dataclasses.replace(CREDIT, cie=bad)),
        record(deletion={"random": curve}),
        record(traces=dataclasses.replace(TRACES, rows=[trace])),
    ):
        with pytest.raises(ValueError, match="not JSON compliant"):
            broken.to_json()


def test_a_damaged_score_is_refused_on_reading() -> None:
    fields = record().to_dict()
    fields["score"] = {"id": 0.1}
    with pytest.raises(ValueError, match="score has no ood"):
        Record.from_dict(fields)


@pytest.mark.parametrize("change", [{"errors": None}, {"colour": [1.0]}])
def test_a_damaged_curve_is_refused_on_reading(change: dict[str, object]) -> None:
    fields = json.loads(record().to_json())
    curve = {**fields["deletion"]["random"], **change}
    fields["deletion"]["random"] = {name: values for name, values in curve.items() if values is not None}
    with pytest.raises(ValueError, match=r"deletion.random has (no errors|colour)"):
        Record.from_dict(fields)


def test_a_record_of_an_older_crest_says_what_it_lacks() -> None:
    fields = record().to_dict()
    del fields["deletion"]
    with pytest.raises(ValueError, match="it has no deletion"):
        Record.from_dict(fields)


def test_a_record_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().peak_memory = 1.0  # type: ignore[misc]


# -- growth


@dataclasses.dataclass(frozen=True, kw_only=True)
class GrownRecord(Record):
    """A record with a field that nobody had thought of, and what records from before it mean."""

    remedy: str = "none"


def grown(**changes: object) -> GrownRecord:
    return GrownRecord(
        **{field.name: getattr(EMPTY, field.name) for field in dataclasses.fields(EMPTY)}, **changes
    )


def test_a_record_from_before_a_field_has_its_default() -> None:
    again = GrownRecord.from_dict(json.loads(EMPTY.to_json()))
    assert again == grown()
    assert again.remedy == "none"
    assert GrownRecord.from_dict(json.loads(grown(remedy="other").to_json())).remedy == "other"


def test_a_field_that_only_a_newer_version_knows_is_named() -> None:
    with pytest.raises(ValueError, match="it has remedy, which this version of crest does not know"):
        Record.from_dict(json.loads(grown().to_json()))


@pytest.mark.parametrize("form", ["file", "line"])
def test_a_store_says_what_to_do_about_the_record_of_a_newer_version(form: str, tmp_path: Path) -> None:
    store, newer = Store(tmp_path), grown()
    if form == "file":
        store.path(newer.id).write_text(newer.to_json())
    else:
        store.packed.path.write_bytes(line_of(newer)[0] + b"\n")
    with pytest.raises(
        ValueError, match=r"\(it has remedy, which .*\): update crest if a newer one wrote it"
    ):
        store.read(newer.id)


def test_a_part_of_a_newer_version_is_named_too(tmp_path: Path) -> None:
    fields = record().to_dict()
    fields["credit"]["id"]["remedy"] = "none"
    store = Store(tmp_path)
    store.path(record().id).write_text(json.dumps(fields))
    with pytest.raises(
        ValueError, match=r"\(credit.id has remedy, which .*\): update crest if a newer one wrote it"
    ):
        store.read(record().id)


def test_fields_that_were_added_since_have_a_default() -> None:
    """Parts of a record are held by test_naming.py, which reads every published one."""
    fields = dataclasses.fields(Record)
    needed = {
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    published = json.loads((Path(__file__).parent / "published.json").read_text())["record"]
    assert needed <= set(published) <= {*FORMER_FIELDS, *(field.name for field in fields)}
