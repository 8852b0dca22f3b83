"""Which remedy when: tables of numbers made up."""

from crest.lab.evidence.remedy_guide import CUES, guide_tables, mean_change
from crest.lab.evidence.remedy_rule import picked
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    PLAIN,
    TEN_PLACES,
    ModelOutcome,
    RemedyModels,
    RemedyPlace,
)
from crest.lab.evidence.shown import Table
from crest.lab.runs.record import Shares

PLACES = (*TEN_PLACES, *BEARING_PLACES, *HARD_PLACES)


def outcome(seen: float, unseen: float, transient: float) -> ModelOutcome:
    shares = Shares(
        transient=transient,
        background=1 - transient,
        interaction=0.0,
        background_alone=0.0,
        exchanged_error=1.1 - transient,
    )
    return ModelOutcome(id=seen, ood=unseen, shares=shares)


def made(crest: float = 0.3, transient: float = 0.9) -> RemedyModels:
    """Two seeds: plain attention follows the background, CREST has this OOD error on the first and 0.1 more on the second."""
    return {
        PLAIN: {0: outcome(0.1, 0.8, 0.2), 1: outcome(0.1, 0.8, 0.2)},
        "AC coupling": {0: outcome(0.1, 0.6, 0.3), 1: outcome(0.1, 0.6, 0.3)},
        "high-pass": {0: outcome(0.3, 1.0, 0.9), 1: outcome(0.3, 1.0, 0.9)},
        "CREST": {0: outcome(0.2, crest, transient), 1: outcome(0.2, crest + 0.1, transient)},
    }


def tables(everywhere: dict[RemedyPlace, RemedyModels]) -> dict[str, Table]:
    picks = [picked(place, models) for place, models in everywhere.items()]
    return {table.name: table for table in guide_tables(everywhere, picks)}


def test_the_pick_stands_with_its_worst_seed_beside_the_trivial_remedies() -> None:
    rows = tables({place: made() for place in PLACES})["which"].rows
    assert [row[0] for row in rows[:3]] == ["pointwise"] * 3
    assert len(rows) == len(PLACES)
    assert rows[0] == (
        *("pointwise", "SG-Drive: level of the speed", "0.100 / 0.800", "CREST", "0.200 / 0.350"),
        *("−56 %", "−50 %", "−25 %", "+25 %", "2"),
    )
    assert any(row[1] == "SG-Drive: level of the speed; diffuse wear" for row in rows)


def test_an_encoder_has_its_median_and_its_worst_place() -> None:
    first, second = (place for place in TEN_PLACES if place.encoder == "gru")
    (row,) = tables({first: made(0.35), second: made(0.75)})["by encoder"].rows
    assert row[:2] == ("GRU", "2")
    assert row[2] == "−25 % (+0 %)"
    assert mean_change(made(0.35), "CREST") == 0.4 / 0.8 - 1


def test_where_the_pick_does_not_help_it_is_told_what_fails() -> None:
    helped, missed, hopeless = TEN_PLACES[:3]
    no_remedy = made(0.8)
    no_remedy = {**no_remedy, "AC coupling": no_remedy["high-pass"]}
    rows = tables({helped: made(), missed: made(0.8), hopeless: no_remedy})["without help"].rows
    assert [(row[2], row[4], row[-1]) for row in rows] == [
        ("CREST", "AC coupling", "the rule"),
        ("CREST", PLAIN, "every remedy"),
    ]


def test_where_the_rule_cannot_tell_the_plain_model_stands() -> None:
    lost = outcome(0.1, 0.8, 0.1)
    cannot = {name: {0: lost, 1: lost} for name in made()}
    shown = tables({TEN_PLACES[0]: cannot})
    assert shown["which"].rows[0][3] == shown["without help"].rows[0][2] == f"{PLAIN} (cannot tell)"


def test_every_system_has_its_cue_in_words() -> None:
    assert {place.system for place in PLACES} == set(CUES)


def test_without_records_nothing_is_said() -> None:
    assert all(table.rows == () for table in tables({}).values())
