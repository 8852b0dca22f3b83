import dataclasses
import json
import math

import pytest
from torch import nn

import crest
from crest._repair import AS_IT_IS, MeasuredModel
from crest._repair.repaired import beats, control_note, other_separation_note
from crest.remedies import CONTROL, REMEDIES


def exchange(transient: float, error: float | None = 0.5) -> crest.Exchange:
    rest = 1 - transient
    return crest.Exchange(
        transient=transient, background=rest, interaction=0.0, transient_interval=(transient, transient),
        background_interval=(rest, rest), interaction_interval=(0.0, 0.0), background_alone=rest, kind="core",
        trajectories=128, exchanged_error=error, constant_error=1.0,
    )  # fmt: skip


def made(rows: dict[str, MeasuredModel], **options: object) -> crest.Repaired:
    tests = {name: (row.exchange, row.id_error) for name, row in rows.items()}
    choice = crest.choose(tests, keep=AS_IT_IS)
    return crest.Repaired(
        model=nn.Identity(), name=choice.name or AS_IT_IS, choice=choice, candidates=rows, **options
    )  # fmt: skip


ROWS = {
    AS_IT_IS: MeasuredModel(id_error=0.14, exchange=exchange(0.01, 1.5), field_error=1.35),
    **{
        name: MeasuredModel(id_error=0.2 + place, exchange=exchange(0.9), field_error=12345.678)
        for place, name in enumerate(REMEDIES)
    },
}


def test_before_and_after() -> None:
    found = made(ROWS)
    assert found.name == CONTROL
    assert found.changed
    assert found.before.id_error == 0.14
    assert found.after.transient == 0.9
    assert found.after.expected_error == found.after.judged_by == 0.5


def test_the_table_fits_a_terminal() -> None:
    words = "RuntimeError: " + "a long message of somebody's training " * 8
    found = made(ROWS, skipped={"A": words, "B": words, "C": "No."}, notes=("A note, " * 30,))
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line.startswith("* ")).split()[:3] == ["*", "trained", "longer"]
    assert "field error" in str(found)
    assert "Not tried: A, B. RuntimeError" in str(found)
    without = {name: dataclasses.replace(row, field_error=None) for name, row in ROWS.items()}
    assert "field error" not in str(made(without))


def test_the_table_by_hand() -> None:
    rows = {
        AS_IT_IS: MeasuredModel(id_error=0.1, exchange=exchange(0.25, 1.5), field_error=2.0),
        "CREST": MeasuredModel(id_error=0.125, exchange=exchange(0.75, 0.25), field_error=0.5),
    }
    assert str(made(rows, notes=("A note.",))).splitlines() == [
        "Repaired: CREST. It has the lowest error on exchanged signals.",
        "            ID error  expected  field error",
        "  as it is       0.1       1.5            2",
        "* CREST        0.125      0.25          0.5",
        "A note.",
    ]


def test_where_a_tie_is_broken_the_even_error_has_a_column_and_decides() -> None:
    def even(id_error: float, expected: float, even: float) -> MeasuredModel:
        return MeasuredModel(id_error=id_error, exchange=exchange(0.25, expected), even_error=even)

    rows = {AS_IT_IS: even(0.1, 0.2, 0.75), CONTROL: even(0.1, 0.2, 0.7), "CREST": even(0.125, 0.5, 0.25)}
    choice = crest.choose({name: row.candidate() for name, row in rows.items()}, keep=AS_IT_IS)
    assert (choice.name, choice.by) == ("CREST", "conditions")
    found = crest.Repaired(model=nn.Identity(), name="CREST", choice=choice, candidates=rows)
    assert str(found).splitlines()[-4:] == [
        "                  ID error  expected  even",
        "  as it is             0.1       0.2  0.75",
        "  trained longer       0.1       0.2   0.7",
        "* CREST              0.125       0.5  0.25",
    ]
    assert found.after.judged_by == 0.25
    assert beats(rows["CREST"], rows[CONTROL])
    (note,) = control_note("CREST", rows)
    assert note == (
        "Training longer alone gives an even error of 0.7 (ID error 0.1), CREST gives 0.25 (ID error 0.125)."
    )
    assert found.to_dict()["candidates"]["CREST"]["even_error"] == 0.25


def test_where_nothing_is_chosen_it_says_why() -> None:
    found = made({AS_IT_IS: ROWS[AS_IT_IS]})
    assert str(found).startswith(
        "Repaired: nothing, the model stays as it is. The rule cannot tell. No candidate"
    )
    assert found.to_dict()["chosen"] is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_dict_for_machines(value: float) -> None:
    row = dataclasses.replace(ROWS[AS_IT_IS], field_error=value)
    told = made({**ROWS, AS_IT_IS: row}).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["candidates"][AS_IT_IS]["field_error"] is None
    assert told["candidates"]["CREST"]["field_error"] == 12345.678
    assert told["structure"]["front"] is None


def row(error: float) -> MeasuredModel:
    return MeasuredModel(id_error=0.1, exchange=exchange(0.9, error))


def test_what_training_longer_gives_stands_beside_the_pick() -> None:
    def said(chosen: str, **errors: float) -> list[str]:
        rows = {name.replace("_", " "): row(error) for name, error in errors.items()}
        return control_note(chosen, rows)

    assert said("CREST", as_it_is=1.0, CREST=0.2) == []
    assert said(AS_IT_IS, as_it_is=1.0, trained_longer=2.0) == []
    (clear,) = said("CREST", as_it_is=1.0, trained_longer=0.8, CREST=0.2)
    assert clear == (
        "Training longer alone gives an expected error of 0.8 (ID error 0.1), CREST gives 0.2 (ID error 0.1)."
    )
    (close,) = said("CREST", as_it_is=1.0, trained_longer=0.8, CREST=0.73)
    assert close.endswith("That is not clearly better: the gain may come from training longer.")
    (itself,) = said(CONTROL, as_it_is=1.0, trained_longer=0.8, CREST=0.9)
    assert itself == "No remedy is clearly better than training longer alone."


def test_better_is_what_the_rule_can_tell_apart() -> None:
    assert beats(row(0.83), row(1.0))
    assert not beats(row(0.84), row(1.0))
    assert not beats(MeasuredModel(id_error=0.1, exchange=exchange(0.9, None)), row(1.0))


def test_the_control_is_read_by_name() -> None:
    assert made({AS_IT_IS: row(1.0)}).control is None
    assert made({AS_IT_IS: row(1.0), CONTROL: row(0.5)}).control == row(0.5)


def test_what_the_second_test_does_not_see_is_told() -> None:
    plain = MeasuredModel(id_error=0.1, exchange=exchange(0.9))
    judged = dataclasses.replace(plain, other_error=0.7)
    assert other_separation_note({"AC coupling": plain, "mine": plain}) == []
    alone = {"exchange of gain": plain, "high-pass + colour": plain, "AC coupling": plain}
    (note,) = other_separation_note(alone)
    assert note.startswith(
        "No second test judges exchange of gain and high-pass + colour, which also train with the separation"
    )
    both, sees = other_separation_note({"core exchange": judged, "gain + tones": judged})
    assert both.endswith("The larger error counts: core exchange (0.5 and 0.7), gain + tones (0.5 and 0.7).")
    assert "does not see gain or colour" in sees
    assert len(other_separation_note({"core exchange": judged, **alone})) == 3
    # Their names are those of the registry.
    assert {name for name in REMEDIES if other_separation_note({name: plain})} == {
        "exchange of gain",
        "exchange of colour",
    }
