import dataclasses
import json
import math

import pytest
from torch import nn

import crest
from crest._repair import AS_IT_IS, MeasuredModel
from crest._repair.treatments import REPAIRS


def exchange(transient: float, error: float | None = 0.5) -> crest.Exchange:
    rest = 1 - transient
    return crest.Exchange(
        transient=transient, background=rest, interaction=0.0, transient_interval=(transient, transient),
        background_interval=(rest, rest), interaction_interval=(0.0, 0.0), background_alone=rest, kind="core",
        trajectories=128, exchanged_error=error,
    )  # fmt: skip


def made(rows: dict[str, MeasuredModel], **options: object) -> crest.Repaired:
    choice = crest.choose({name: (row.exchange, row.id_error) for name, row in rows.items()})
    return crest.Repaired(
        model=nn.Identity(), name=choice.name or AS_IT_IS, choice=choice, candidates=rows, **options
    )  # fmt: skip


ROWS = {
    AS_IT_IS: MeasuredModel(id_error=0.14, exchange=exchange(0.01), field_error=1.35),
    **{
        name: MeasuredModel(id_error=0.2 + place, exchange=exchange(0.9), field_error=12345.678)
        for place, name in enumerate(REPAIRS)
    },
}


def test_before_and_after() -> None:
    found = made(ROWS)
    assert found.name == "re-anchored"
    assert found.changed
    assert found.before.id_error == 0.14
    assert found.after.transient == 0.9
    assert found.after.exchanged_error == 0.5


def test_the_table_fits_a_terminal() -> None:
    words = "RuntimeError: " + "a long message of somebody's training " * 8
    found = made(ROWS, skipped={"A": words, "B": words, "C": "No."}, notes=("A note, " * 30,))
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line.startswith("* ")).split()[:3] == ["*", "re-anchored", "0.2"]
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
        "Repaired: CREST. The lowest ID error of the candidates that follow the",
        "  transient.",
        "            ID error  transient  exchanged  field error",
        "  as it is       0.1       0.25        1.5            2",
        "* CREST        0.125       0.75       0.25          0.5",
        "A note.",
    ]


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
