"""The names of published records hold for ever: see the rule in `naming`."""

import dataclasses
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crest.lab.ablations import AblatedCrestReadout
from crest.lab.evidence import CATALOG
from crest.lab.runs import naming
from crest.lab.runs import spec as spec_module
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.systems import SYSTEMS, CwruSystem, Sizes
from crest.lab.systems.cwru.files import RecordingFile
from crest.lab.training import Schedule
from crest.readouts import CrestConfig
from crest.recordings import RecordingOptions
from places import RESULTS

# Thousands of specs and records, whose types other tests check: with each call checked it takes four to twenty times as long.
pytestmark = pytest.mark.unchecked

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())

VALUES = {
    owner.__name__: owner
    for owner in (RunSpec, Sizes, Schedule, CrestConfig, RecordingOptions, *SYSTEMS.values())
}
PARTS = {owner.__name__: owner for registry in spec_module._PARTS.values() for owner in registry.values()}
# A run's CREST has the options of the ablations too, and its neutral values under CREST's name.
PARTS["CrestReadout"] = AblatedCrestReadout


def parameters(name: str) -> set[str]:
    if name in VALUES:
        return {field.name for field in dataclasses.fields(VALUES[name])}
    signature = inspect.signature(PARTS[name]).parameters.items()
    return {key for key, value in signature if value.default is not inspect.Parameter.empty}


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"system": "gear", "readout": "crest", "seed": 1000, **changes})


# -- what is published


def test_every_published_id_follows_from_its_stored_spec() -> None:
    store = Store(RESULTS)
    assert set(PUBLISHED["ids"]) <= store.ids()
    renamed = {name: store.read(name).spec.id for name in sorted(store.ids())}
    assert {name: now for name, now in renamed.items() if name != now} == {}


@pytest.mark.parametrize("name", sorted(PUBLISHED["parameters"]))
def test_what_was_added_since_has_a_neutral_value(name: str) -> None:
    added = parameters(name) - set(PUBLISHED["parameters"][name])
    assert added <= {*naming.NEUTRAL.get(name, {}), *naming.WITHOUT_EFFECT}, (
        f"give them a neutral value in {naming.__file__}"
    )


def test_neutral_values_are_of_parameters_that_exist() -> None:
    for name, values in naming.NEUTRAL.items():
        assert set(values) <= parameters(name)
        naming.canonical_json(values)


def test_what_is_gone_stays_in_the_names_of_runs_and_is_read_at_its_value_alone() -> None:
    assert all(not set(values) & parameters(name) for name, values in naming.FORMER.items())
    made = spec()
    assert made._canonical["keep"] == "last"
    assert RunSpec.from_dict({**made.to_dict(), "keep": "last"}) == made
    with pytest.raises(ValueError, match="keep"):
        RunSpec.from_dict({**made.to_dict(), "keep": "best_id"})


# -- growth, tried out

BEFORE = spec().id


class GrownReadout(AblatedCrestReadout):
    """CREST with a keyword that nobody had thought of."""

    def __init__(self, budget: Any = "pooled", *, extra: str = "usual", **others: Any) -> None:
        super().__init__(budget, **others)
        self.extra = extra


GrownReadout.__signature__ = inspect.signature(AblatedCrestReadout).replace(  # type: ignore[attr-defined]
    parameters=[
        *inspect.signature(AblatedCrestReadout).parameters.values(),
        inspect.Parameter("extra", inspect.Parameter.KEYWORD_ONLY, default="usual"),
    ]
)


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunSpec]:
    """CREST with one keyword more, under the name of the old one, and whatever options are asked for."""
    readouts = {**spec_module._PARTS["readout"], "crest": GrownReadout}
    monkeypatch.setitem(spec_module._PARTS, "readout", readouts)  # type: ignore[arg-type]
    monkeypatch.setattr(spec_module, "check_combination", lambda parts: None)

    def make(**options: Any) -> RunSpec:
        return spec(readout_options=options)

    return make


def test_a_new_keyword_without_a_neutral_value_renames_runs(grown: Callable[..., RunSpec]) -> None:
    assert grown().id != BEFORE


def test_a_new_keyword_is_left_out_at_its_neutral_value(
    grown: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(naming.NEUTRAL, "GrownReadout", {"extra": "usual"})
    assert grown().id == grown(extra="usual").id == BEFORE
    assert grown(extra="other").id != BEFORE
    # The default may move away from the neutral value: then the same spec is another run.
    monkeypatch.setitem(naming.NEUTRAL, "GrownReadout", {"extra": "other"})
    assert grown(extra="other").id == BEFORE != grown().id


@pytest.mark.parametrize("owner", ["RunSpec", "Sizes", "Schedule", "CrestConfig", "GearSystem"])
def test_fields_of_every_value_can_be_left_out(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for a new field: an old one that is declared neutral drops out of the hash."""
    changed = {
        "RunSpec": spec(observe_every=2),
        "Sizes": spec(sizes=Sizes(train=32)),
        "Schedule": spec(schedule=Schedule(epochs=60, learning_rate=1e-2, clip=2.0)),
        "CrestConfig": spec(readout_options={"config": {"sigma": 5.0}}),
        "GearSystem": spec(system_options={"teeth": 9}),
    }[owner]
    neutral = {
        "RunSpec": {"observe_every": 2},
        "Sizes": {"train": 32},
        "Schedule": {"clip": 2.0},
        "CrestConfig": {"sigma": 5.0},
        "GearSystem": {"teeth": 9},
    }[owner]
    before = changed._canonical
    monkeypatch.setitem(naming.NEUTRAL, owner, {**naming.NEUTRAL.get(owner, {}), **neutral})
    (name,) = neutral
    # A spec looks once.
    text = naming.canonical_json(dataclasses.replace(changed)._canonical)
    assert len(text) < len(naming.canonical_json(before))
    assert f'"{name}":' not in text


def test_what_cannot_change_a_number_does_not_name_a_run() -> None:
    assert spec(readout_options={"validate": False}).id == spec().id
    assert spec(readout_options={"validate": False}).resolved()["readout"]["validate"] is False


def test_a_later_option_without_effect_is_in_no_name_at_any_value(
    grown: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "WITHOUT_EFFECT", frozenset({"extra"}))
    assert grown().id == grown(extra="compiled").id == BEFORE
    assert grown(extra="compiled").resolved()["readout"]["extra"] == "compiled"


def test_what_a_recording_is_named_by_does_not_grow() -> None:
    """The rows of a table of recordings are hashed by their place: a new column would rename every run on them."""
    assert list(RecordingFile._fields) == PUBLISHED["columns"]["RecordingFile"]


def test_every_published_study_is_found_by_its_name() -> None:
    studies = {study.id for experiment in CATALOG.values() for study in experiment.studies}
    assert studies == set(PUBLISHED["studies"])
    assert all(path.stem in studies for path in (RESULTS / "studies").glob("*.json"))


def test_a_neutral_parameter_of_the_bearings_renames_no_study(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"window": 1024, "hop": 512}
    monkeypatch.setitem(naming.NEUTRAL, "CwruSystem", {"hop": 512})
    assert naming.naming(CwruSystem, parameters) == {"window": 1024}


def test_neutral_is_compared_as_json_not_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(naming.NEUTRAL, "Sizes", {"train": 1})
    assert naming.naming(Sizes, {"train": True, "id": 1}) == {"train": True, "id": 1}
    assert naming.naming(Sizes, {"train": 1, "id": 1}) == {"id": 1}
