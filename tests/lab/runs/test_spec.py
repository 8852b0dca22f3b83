import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from crest.lab.encoders import ENCODERS, PointwiseEncoder
from crest.lab.objectives import OBJECTIVES, GroupDro
from crest.lab.runs import spec as spec_module
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import SYSTEMS, GearSystem, Sizes, make_system
from crest.lab.training import SCHEDULES, Schedule
from crest.readouts import READOUTS, REFERENCES, CrestConfig, CrestReadout, signal_budget
from toy import tiny_spec, toy


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"system": "gear", "readout": "crest", "seed": 1000, **changes})


OF_CLASSES = {"objective": "cross_entropy", "system_options": {"threshold": 0.5}}

# -- the value


def test_a_spec_is_frozen_and_keyword_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec().seed = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        RunSpec("gear")  # type: ignore[call-arg, misc]
    for missing in ("system", "readout", "seed"):
        fields = {"system": "gear", "readout": "crest", "seed": 1000}
        del fields[missing]
        with pytest.raises(TypeError, match=missing):
            RunSpec(**fields)  # type: ignore[arg-type]


def test_the_encoders_schedule_unless_given() -> None:
    for encoder in ENCODERS:
        assert spec(encoder=encoder).schedule == SCHEDULES[encoder]
    assert spec(schedule=Schedule(epochs=7)).schedule == Schedule(epochs=7)


def test_defaults() -> None:
    plain = spec()
    assert (plain.regime, plain.encoder, plain.objective) == ("default", "pointwise", "mse")
    assert (plain.sizes, plain.observe_every, plain.measures) == (Sizes(), 0, ())


def test_equal_specs_are_one_key() -> None:
    assert spec() == spec()
    assert hash(spec()) == hash(spec())
    assert len({spec(), spec(), spec(seed=1001)}) == 2
    nested = {"config": {"sigma": 4.0}}
    assert len({spec(readout_options=nested), spec(readout_options=dict(nested))}) == 1


def test_a_spec_survives_pickling() -> None:
    one = tiny_spec(readout_options={"config": {"sigma": 4.0}})
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(one)).id == one.id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"system": "pump"},
            "system must be one of gear, impact, cwru, hitsm, mitbih, sisfall, recordings, got 'pump'",
        ),
        ({"regime": "loud"}, r"regime of gear must be one of default, weak_cue, .*, got 'loud'"),
        (
            {"encoder": "lstm"},
            "encoder must be one of pointwise, local, gru, attention, cnn, residual, patch, own, got 'lstm'",
        ),
        ({"readout": "median"}, r"readout must be one of mean, last, .*event_window, got 'median'"),
        (
            {"objective": "mae"},
            r"objective must be one of mse, cross_entropy, .*, got 'mae'",
        ),
        ({"objective": "cross_entropy"}, "one for numbers, such as mse, if the labels are numbers"),
        (
            {"system_options": {"threshold": 0.5}},
            "objective must be cross_entropy if the labels are 2 classes",
        ),
        (
            {"readout": "event_window", "measures": ("exchange",)},
            "measures must be without attribution, exchange, reanchor and repair",
        ),
        ({"remedy": "hope"}, "remedy must be one of none, high_pass, jitter, exchange, .*, got 'hope'"),
        ({"remedy": "high_pass", "remedy_options": {"kind": "fast"}}, "kind must be one of level, slow"),
        (
            {"remedy": "jitter", "remedy_options": {"size": 1}},
            "remedy jitter has no option size; it has scale",
        ),
        ({"front": "exchange"}, "front must be one of none, high_pass, .*, got 'exchange'"),
        (
            {"front": "whiten"},
            "front must come with a remedy that changes batches, got whiten with the remedy none",
        ),
        (
            {"front": "whiten", "remedy": "high_pass"},
            "front must come with a remedy that changes batches, got whiten with the remedy high_pass",
        ),
        (
            {"front": "high_pass", "front_options": {"kind": "fast"}, "remedy": "exchange"},
            "kind must be one of level, slow",
        ),
        ({"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
        ({"observe_every": -1}, "observe_every must be a whole number, 0 or more, got -1"),
        (
            {"system_options": {"speed": 1}},
            r"^regime and system_options must be those of gear: gear has no parameter speed; it has steps, .*",
        ),
        ({"system_options": {"steps": 1}}, "steps must be a whole number, 2 or more, got 1"),
        (
            {"encoder": "local", "encoder_options": {"layers": 3, "depth": 1}},
            "encoder local has no option depth, layers; it has width, hidden, kernel",
        ),
        ({"encoder_options": {"channels": 3}}, "encoder pointwise has no option channels"),
        (
            {"readout": "attention", "readout_options": {"width": 3}},
            "readout attention has no option width; it has validate",
        ),
        ({"readout_options": {"window": 3}}, "readout crest has no option window; it has budget, "),
        ({"objective_options": {"step": 1.0}}, "objective mse has no option step"),
        (
            {"readout_options": {"config": {"sigmaa": 3.0}}},
            "config must be one of sigma, dilation, .* got 'sigmaa'",
        ),
        ({"readout_options": {"config": {"sigma": -3.0}}}, "sigma must be positive, got -3.0"),
        ({"readout_options": {"alpha": float("nan")}}, "options must be plain values, as JSON has them"),
        ({"encoder_options": {"hidden": object()}}, "options must be plain values, as JSON has them"),
        ({"measures": ("traces", "aura")}, "measures must be one of attribution, .*traces, got 'aura'"),
    ],
)
def test_a_bad_field_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spec(**change)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1.0}, r"seed must be a whole number, 0 or more, got 1\.0"),
        ({"seed": True}, "seed must be a whole number, 0 or more, got True"),
        ({"observe_every": True}, "observe_every must be a whole number, 0 or more, got True"),
        ({"observe_every": "2"}, "observe_every must be a whole number, 0 or more, got '2'"),
    ],
)
def test_a_wrong_type_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spec(**change)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    "change",
    [
        lambda: {"seed": np.int64(1000)},
        lambda: {"observe_every": np.int64(1)},
        lambda: {"sizes": Sizes(train=np.int64(8))},
        lambda: {"schedule": Schedule(epochs=1, learning_rate=np.float32(0.01))},
    ],
)
def test_a_number_that_no_record_can_hold_is_refused_at_once(change: Callable[[], dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="fields must be plain values, as JSON has them: Object of type "):
        spec(**change())


def test_a_folder_given_as_a_path_is_refused_before_training_and_not_after() -> None:
    with pytest.raises(ValueError, match="options must be plain values"):
        spec(system="cwru", system_options={"folder": Path("recordings")})


def test_seed_zero_is_a_seed() -> None:
    assert spec(seed=0).seed == 0


# -- its id


@pytest.mark.parametrize(
    ("change", "stem"),
    [
        ({}, "gear-pointwise-crest-s1000"),
        ({"regime": "coarse_mesh"}, "gear-coarse_mesh-pointwise-crest-s1000"),
        ({"objective": "group_dro", "encoder": "gru"}, "gear-gru-crest-group_dro-s1000"),
        ({"remedy": "high_pass"}, "gear-pointwise-crest-high_pass-s1000"),
        ({"front": "envelope", "remedy": "exchange"}, "gear-pointwise-crest-envelope-exchange-s1000"),
        (
            {"system": "cwru", "regime": "bearing", "readout": "mean", "seed": 3},
            "cwru-bearing-pointwise-mean-s3",
        ),
    ],
)
def test_the_stem_is_readable(change: dict[str, Any], stem: str) -> None:
    found, _, digest = spec(**change).id.rpartition("-")
    assert found == stem
    assert re.fullmatch("[0-9a-f]{10}", digest)


@pytest.mark.parametrize(
    "one",
    [
        spec(readout_options={"budget": 0.25, "config": {"sigma": 4.0}}),
        spec(system="impact", regime="hard_contact"),
        *(spec(readout=name) for name in [*READOUTS, *REFERENCES]),
        *(
            spec(objective=name, readout="attention")
            for name, kind in OBJECTIVES.items()
            if not kind.of_classes
        ),
        spec(**OF_CLASSES),
    ],
    ids=lambda one: one.id,
)
def test_the_id_and_the_data_key_are_safe_file_names(one: RunSpec) -> None:
    for name in (one.id, one.data_key):
        assert re.fullmatch("[a-z0-9_-]{5,120}", name)


DISTINCT: list[dict[str, Any]] = [
    {},
    {"seed": 1001},
    {"system": "impact"},
    {"regime": "coarse_mesh"},
    {"system_options": {"teeth": 20}},
    OF_CLASSES,
    {**OF_CLASSES, "system_options": {"threshold": 0.6}},
    {"sizes": Sizes(train=1023)},
    {"sizes": Sizes(id=255)},
    {"sizes": Sizes(ood=255)},
    {"encoder": "gru"},
    {"encoder_options": {"hidden": 65}},
    {"encoder_options": {"width": 16}},
    {"readout": "mean"},
    {"readout_options": {"budget": "trajectory"}},
    {"readout_options": {"budget": 0.2}},
    {"readout_options": {"alpha": 0.2}},
    {"readout_options": {"split": True}},
    {"readout_options": {"config": {"sigma": 4.0}}},
    {"readout_options": {"config": {"sigma": 4.0, "dilation": 3}}},
    {"objective": "group_dro"},
    {"objective": "group_dro", "objective_options": {"step": 0.02}},
    {"objective": "group_dro", "objective_options": {"groups": 3}},
    {"remedy": "exchange"},
    {"remedy": "exchange", "remedy_options": {"kind": "level"}},
    {"remedy": "high_pass"},
    {"remedy": "exchange", "front": "high_pass"},
    {"remedy": "exchange", "front": "high_pass", "front_options": {"kind": "level"}},
    {"encoder": "gru", "readout_options": {"run_up": 3}},
    {"schedule": Schedule(epochs=1)},
    {"schedule": Schedule(epochs=1, batch=16)},
    {"schedule": Schedule(epochs=1, learning_rate=1e-3)},
    {"schedule": Schedule(epochs=1, weight_decay=1e-3)},
    {"schedule": Schedule(epochs=1, clip=2.0)},
    {"observe_every": 2},
    {"measures": ("traces",)},
    {"measures": ("deletion", "traces")},
]


def test_the_id_changes_with_every_field_that_matters() -> None:
    ids = [spec(**change).id for change in DISTINCT]
    assert [ids.count(one) for one in ids] == [1] * len(ids)


def test_a_run_up_names_a_run_where_an_encoder_can_have_one() -> None:
    """A step that sees no other has none: what was published before anybody looked for it keeps its name."""
    assert spec().id == spec(readout_options={"run_up": 0}).id != spec(readout_options={"run_up": "auto"}).id
    assert spec().model(3).readout.run_up is None
    assert spec(encoder="gru").model(3).readout.run_up is not None
    assert spec().resolved()["readout"]["run_up"] == 0
    recurrent = {"encoder": "gru"}
    assert spec(**recurrent).id != spec(**recurrent, readout_options={"run_up": 0}).id


def test_a_budget_of_the_signals_is_that_of_what_the_encoder_gets() -> None:
    asked = spec(readout_options={"budget": "signals"}, remedy="high_pass")
    training = toy(24)
    made = asked.model_for(training)
    made.standardize.fit(torch.as_tensor(training.x, dtype=torch.float32))
    reached: list[torch.Tensor] = []
    made.encoder.register_forward_pre_hook(lambda _, given: reached.append(given[0]))
    made.features(torch.as_tensor(training.x, dtype=torch.float32))
    assert made.readout.budget == signal_budget(reached[0])
    assert made.readout.running is None
    plain = spec(readout_options={"budget": "signals"})
    assert plain.model_for(training).readout.budget != made.readout.budget
    narrow = {"budget": "signals", "config": {"epsilon_max": 0.03}}
    assert spec(readout_options=narrow).model_for(training).readout.budget == pytest.approx(0.03)
    half = spec(readout_options={"budget": "half signals"}).model_for(training)
    assert half.readout.budget == plain.model_for(training).readout.budget / 2


def test_a_budget_of_the_signals_needs_them() -> None:
    asked = spec(readout_options={"budget": "signals"})
    assert asked.id != spec().id
    assert asked.resolved()["readout"]["budget"] == "signals"
    with pytest.raises(ValueError, match=r"^budget must be given as a number, .* for budget='signals'$"):
        asked.model(3)


def test_every_field_is_among_those() -> None:
    changed = {name for change in DISTINCT for name in change}
    assert changed == {field.name for field in dataclasses.fields(RunSpec)}


@pytest.mark.parametrize(
    "same",
    [
        {"encoder_options": {"hidden": 64, "width": 32}},
        {"readout_options": {"budget": "pooled", "split": False}},
        {"readout_options": {"config": None}},
        {"readout_options": {"config": {}}},
        {"readout_options": {"config": {"sigma": 6.0, "dilation": 2}}},
        {"system_options": {"teeth": 12}},
        {"schedule": SCHEDULES["pointwise"]},
        {"sizes": Sizes(train=1024)},
        {"regime": "default", "objective": "mse"},
        {"measures": ()},
    ],
)
def test_a_default_written_out_is_the_same_run(same: dict[str, Any]) -> None:
    assert spec(**same).id == spec().id


def test_the_order_of_options_does_not_matter() -> None:
    one = spec(readout_options={"budget": 0.2, "config": {"sigma": 4.0, "dilation": 3}})
    two = spec(readout_options={"config": {"dilation": 3, "sigma": 4.0}, "budget": 0.2})
    assert one.id == two.id
    assert one == two


def test_what_is_measured_is_a_set() -> None:
    one = spec(measures=("traces", "deletion"))
    assert one.measures == ("deletion", "traces")
    assert one.id == spec(measures=("deletion", "traces", "deletion")).id


def test_the_id_changes_with_crests_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Changed(CrestConfig):
        sigma: float = 9.0

    before, other = spec().id, spec(readout="mean").id
    monkeypatch.setattr("crest.lab.runs.combination.CrestConfig", Changed)
    monkeypatch.setattr(spec_module, "CrestConfig", Changed)
    assert spec().id != before
    assert spec(readout="mean").id == other


def test_the_id_changes_with_the_defaults_of_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    class WiderEncoder(PointwiseEncoder):
        def __init__(self, channels: int, width: int = 32, *, hidden: int = 128) -> None:
            super().__init__(channels, width, hidden=hidden)

    class FasterDro(GroupDro):
        def __init__(self, step: float = 0.5, groups: int = 4) -> None:
            super().__init__(step, groups)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class LouderGear(GearSystem):
        response_noise: float = 0.1

    changes = [
        (ENCODERS, "pointwise", WiderEncoder),
        (OBJECTIVES, "group_dro", FasterDro),
        (SYSTEMS, "gear", LouderGear),
        (SCHEDULES, "pointwise", Schedule(epochs=3)),
    ]
    ids = {spec(objective="group_dro").id}
    for registry, name, changed in changes:
        with monkeypatch.context() as patch:
            patch.setitem(registry, name, changed)  # type: ignore[arg-type]
            ids.add(spec(objective="group_dro").id)
    assert len(ids) == 5
    assert spec(objective="group_dro").id in ids


def test_a_new_format_makes_records_and_data_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = spec()
    run, data = before.id, before.data_key
    monkeypatch.setattr(spec_module, "FORMAT", spec_module.FORMAT + 1)
    assert spec().id != run
    assert spec().data_key != data


def test_where_the_recordings_lie_does_not_matter() -> None:
    here, there = (spec(system="cwru", system_options={"folder": place}) for place in ("a", "b"))
    assert here.id == there.id == spec(system="cwru").id
    assert here.data_key == there.data_key
    assert spec(system="cwru", system_options={"held_load": 2}).id != here.id


def test_classes_are_those_of_the_system_and_name_the_run() -> None:
    sizes = spec(system="cwru", system_options={"size_classes": True}, objective="cross_entropy")
    assert sizes.classes == ("0.007 in", "0.014 in", "0.021 in", "0.028 in")
    plain = spec(system="cwru")
    assert (plain.classes, spec(**OF_CLASSES).classes) == ((), ("no fault", "fault"))
    # What came later is no part of the name at its neutral value.
    assert spec(system="cwru", system_options={"size_classes": False}).id == plain.id
    assert sizes.data_key != plain.data_key


# -- its data


def test_the_data_depend_on_system_seed_and_sizes_alone() -> None:
    same = [
        {"readout": "mean"},
        {"encoder": "gru"},
        {"encoder_options": {"hidden": 8}},
        {"readout_options": {"budget": 0.2}},
        {"objective": "group_dro"},
        {"objective": "group_dro", "objective_options": {"step": 0.02}},
        {"schedule": Schedule(epochs=1)},
        {"observe_every": 2},
        {"measures": ("traces",)},
    ]
    assert {spec(**change).data_key for change in same} == {spec().data_key}
    for readout in [*READOUTS, *REFERENCES]:
        assert spec(readout=readout).data_key == spec().data_key
    other = [
        {},
        {"seed": 1001},
        {"system": "impact"},
        {"regime": "coarse_mesh"},
        {"system_options": {"teeth": 20}},
        {"sizes": Sizes(train=10)},
        {"sizes": Sizes(id=10)},
        {"sizes": Sizes(ood=10)},
    ]
    assert len({spec(**change).data_key for change in other}) == len(other)
    assert spec().data_key.startswith("gear-s1000-")


# -- plain values


@pytest.mark.parametrize(
    "one",
    [
        spec(),
        tiny_spec(),
        spec(schedule=Schedule(epochs=3, batch=7, learning_rate=1e-3)),
        spec(readout_options={"budget": 0.25, "config": {"sigma": 4.0}}, encoder_options={"hidden": 8}),
        spec(objective="group_dro", objective_options={"step": 0.3}, observe_every=3),
        spec(measures=("saliency", "deletion")),
        spec(system="cwru", regime="bearing", system_options={"folder": "data", "steps": 512}),
    ],
    ids=lambda one: one.id,
)
def test_plain_values_and_back(one: RunSpec) -> None:
    assert RunSpec.from_dict(one.to_dict()) == one
    text = json.dumps(one.to_dict(), allow_nan=False)
    again = RunSpec.from_dict(json.loads(text))
    assert again == one
    assert again.id == one.id
    assert again.data_key == one.data_key
    assert isinstance(again.sizes, Sizes)
    assert isinstance(again.schedule, Schedule)


def test_plain_values_name_every_field() -> None:
    assert set(spec().to_dict()) == {field.name for field in dataclasses.fields(RunSpec)}


def test_missing_fields_take_their_defaults() -> None:
    assert RunSpec.from_dict({"system": "gear", "readout": "crest", "seed": 1000}) == spec()
    assert RunSpec.from_dict({"system": "gear", "readout": "crest", "seed": 1000, "schedule": None}) == spec()


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^spec has no field colour, speed; it has system, regime, "):
        RunSpec.from_dict({**spec().to_dict(), "speed": 3, "colour": 1})


# -- its model


def test_the_model_is_the_specs() -> None:
    model = spec(
        encoder="local",
        encoder_options={"width": 8, "kernel": 3},
        readout_options={"budget": 0.25, "config": {"sigma": 4.0}},
    ).model(3)
    assert (model.encoder.channels, model.encoder.width) == (3, 8)
    assert isinstance(model.readout, CrestReadout)
    assert (model.readout.budget, model.readout.config) == (0.25, CrestConfig(sigma=4.0))


def test_no_config_is_the_default_config() -> None:
    readout = spec(readout_options={"config": None}).model(3).readout
    assert isinstance(readout, CrestReadout)
    assert readout.config == CrestConfig()


def test_the_models_weights_come_from_the_seed() -> None:
    first, again, other = spec(encoder="gru"), spec(encoder="gru"), spec(encoder="gru", seed=1001)
    one, two, three = (part.model(3).state_dict() for part in (first, again, other))
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    assert not torch.equal(one["head.weight"], three["head.weight"])


# -- the systems behind it


def test_every_system_and_setting_can_be_named() -> None:
    for system, kind in SYSTEMS.items():
        assert type(make_system(system)) is kind
        assert make_system(system) == kind()
    assert make_system("gear", "coarse_mesh") == GearSystem(ripple=0.06)
    assert make_system("cwru", "bearing").split == "bearing"
    assert make_system("cwru").split == "load"


def test_changes_go_on_top_of_the_setting() -> None:
    assert make_system("gear", "coarse_mesh", teeth=20) == GearSystem(ripple=0.06, teeth=20)
    assert make_system("gear", "coarse_mesh", ripple=0.01) == GearSystem(ripple=0.01)


def test_a_whole_number_for_a_fraction_names_the_same_run() -> None:
    whole, fraction = (
        RunSpec(
            system="gear",
            readout="attention",
            seed=1000,
            objective="event_auxiliary",
            objective_options={"weight": w},
        )
        for w in (2, 2.0)
    )
    assert whole.id == fraction.id
    assert whole == fraction


def test_equal_means_the_same_run() -> None:
    plain = RunSpec(system="gear", readout="crest", seed=1000)
    explicit = RunSpec(system="gear", readout="crest", seed=1000, readout_options={"budget": "pooled"})
    assert plain == explicit
    assert len({plain, explicit}) == 1
    assert plain != "gear"


def test_the_setting_leaves_out_the_seed_and_the_looks_alone() -> None:
    one = RunSpec(system="gear", readout="crest", seed=1000)
    assert one.setting == dataclasses.replace(one, seed=1001).setting
    assert one.setting == dataclasses.replace(one, observe_every=3).setting
    assert one.setting == dataclasses.replace(one, measures=("saliency",)).setting
    assert one.setting != dataclasses.replace(one, sizes=Sizes(train=8)).setting
    assert one.setting != dataclasses.replace(one, regime="rare_events").setting


def test_options_are_a_copy() -> None:
    options = {"budget": 0.1}
    spec = RunSpec(system="gear", readout="crest", seed=1000, readout_options=options)
    options["budget"] = 0.2
    assert spec.readout_options == {"budget": 0.1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"readout": "mean", "objective": "event_auxiliary"}, "readout must have learned step weights"),
        ({"readout": "crest", "readout_options": {"budget": 2}}, r"budget must be .*, got 2"),
        ({"readout": "mean", "encoder": "local", "encoder_options": {"kernel": 4}}, "kernel must be odd"),
        (
            {"readout": "mean", "encoder_options": {"hidden": "64"}},
            "options must be of the right type|hidden",
        ),
        ({"readout": "crest", "readout_options": {"config": 5}}, "config must be a mapping"),
    ],
)
@pytest.mark.unchecked
def test_what_cannot_be_trained_is_refused_at_once(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RunSpec(system="gear", seed=1000, **fields)


def test_everything_that_it_stands_for_is_written_out() -> None:
    spec = RunSpec(system="gear", readout="crest", seed=1000)
    parts = spec.resolved()
    assert parts["system"]["teeth"] == 12
    assert parts["readout"]["config"]["sigma"] == 6.0
    assert parts["encoder"]["hidden"] == 64
    assert json.loads(json.dumps(parts)) == parts
