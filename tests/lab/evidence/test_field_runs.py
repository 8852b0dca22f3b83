"""Which runs the field has: counted by hand, and each of them can be named."""

from collections import Counter

from crest.lab.evidence.field_runs import (
    CLASSIFIED,
    DIAL,
    EXPERTS,
    FIELD_SYSTEMS,
    MAIN_ENCODER,
    RIVALS,
    dial_runs,
    expert_runs,
    field_runs,
    field_spec,
    readout_runs,
    repair_runs,
    rival_fields,
    rival_runs,
)
from crest.lab.evidence.vibration import VIBRATION_EXPERIMENT


def test_the_runs_by_hand() -> None:
    # 14 repairs and 7 controls, 10 experts, 4 rivals x 5, 3 readouts x 14, and 2 or 3 ties x 2 x 3.
    parts = {
        system: [
            len(part(system)) for part in (repair_runs, expert_runs, rival_runs, readout_runs, dial_runs)
        ]
        for system in FIELD_SYSTEMS
    }
    assert parts == {
        "mitbih": [14, 10, 20, 42, 12],
        "sisfall": [14, 10, 20, 42, 18],
        "hitsm": [9, 10, 20, 27, 0],
    }
    assert [len(repair_runs(system, "untied")) for system in CLASSIFIED] == [7, 7]
    runs = field_runs()
    assert len(runs) == len({spec.id for spec in runs}) == 282
    assert Counter(spec.system for spec in runs) == {"mitbih": 105, "sisfall": 111, "hitsm": 66}


def test_what_is_worth_most_comes_first() -> None:
    first = field_runs()[:28]
    assert all("repair" in spec.measures and spec.regime == "default" for spec in first)


def test_classes_are_trained_by_cross_entropy_and_numbers_by_squares() -> None:
    plain = {system: field_spec(system, MAIN_ENCODER[system], 1000).objective for system in FIELD_SYSTEMS}
    assert plain == {"mitbih": "cross_entropy", "sisfall": "cross_entropy", "hitsm": "mse"}
    assert field_spec("mitbih", "residual", 1000, **rival_fields("mitbih", "IRM")).objective == "irm"


def test_bearings_are_as_they_were_measured_before() -> None:
    """So that their repairs are those of `vibration`."""
    before = {spec.id for spec in VIBRATION_EXPERIMENT.runs}
    main = [spec for spec in repair_runs("hitsm") if spec.encoder == MAIN_ENCODER["hitsm"]]
    assert len(main) == 5
    assert {spec.id for spec in main} <= before


def test_groups_of_the_rivals() -> None:
    assert rival_fields("mitbih", "group DRO")["objective_options"] == {"groups": 2}
    assert rival_fields("hitsm", "last layer again")["objective_options"] == {"groups": 3}
    # Which finds its groups by itself.
    assert rival_fields("sisfall", "just train twice")["objective_options"] == {}
    assert {spec.objective for spec in rival_runs("sisfall")} == {one["objective"] for one in RIVALS.values()}


def test_a_dial_has_no_setting_that_the_default_has() -> None:
    assert "tie_95" not in DIAL["mitbih"]
    assert {len(one) for one in EXPERTS.values()} == {2}
