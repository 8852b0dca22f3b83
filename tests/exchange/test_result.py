"""What an exchange test found, made by hand."""

import math
from typing import Any

import pytest
import torch

from crest.exchange.result import FELT, Exchange, PredictionPairs, exchange_numbers, sensitivity_lines
from crest.exchange.sensitivity import Sensitivity


def found(transient: float, **more: Any) -> Exchange:
    rest = 1 - transient
    return Exchange(
        transient=transient,
        background=rest,
        interaction=0.0,
        transient_interval=(transient - 0.1, transient + 0.1),
        background_interval=(rest - 0.1, rest + 0.1),
        interaction_interval=(0.0, 0.0),
        background_alone=0.25,
        kind="slow",
        trajectories=40,
        **more,
    )


def test_nothing_is_absent_where_no_nuisance_was_measured() -> None:
    assert found(0.75, invariant=("offset", "drift")).absent == ()


def test_it_prints_shares_with_their_intervals() -> None:
    lines = repr(found(0.75)).splitlines()
    assert lines[0] == "Exchange of 40 trajectories, background: slow"
    assert lines[2].split() == ["transient", "0.750", "0.650", "to", "0.850"]
    assert lines[-1].endswith("0.250")


def test_it_prints_what_was_measured_beside_them() -> None:
    text = repr(found(0.75, moved=0.5, exchanged_error=0.3, constant_error=1.25))
    assert "the predictions move by 0.500" in text
    assert text.endswith("error on backgrounds of others: 0.3; of a constant prediction: 1.25")


def test_a_prediction_without_shares_does_not_vary() -> None:
    assert found(0.0).varies
    nothing = found(math.nan)
    assert not nothing.varies
    assert repr(nothing).endswith("the prediction does not vary, so it follows nothing (NaN)")


def test_a_fifth_below_a_constant_is_learnt() -> None:
    one = found(0.75, constant_error=0.99)
    assert [one.learnt(error) for error in (0.2, 0.79, 0.8, 0.825, 3.0)] == [True, True, False, False, False]
    assert found(0.75).learnt(100.0)
    assert one.train_first(0.2) == one.train_first(None) == ()
    (wrong,) = one.train_first(1.2 * one.constant_error)
    assert "Are its weights loaded, its classes in the order of its outputs" in wrong
    assert "longer" not in wrong
    (advice,) = one.train_first(0.825)
    assert "Its error is 0.825, that of a constant prediction 0.99." in advice


def test_an_error_that_is_not_finite_advises_nothing() -> None:
    for error, constant in ((math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)):
        assert found(0.75, constant_error=constant).train_first(error) == ()


def test_movers_come_with_the_strongest_first() -> None:
    sizes = {"drift": 0.5, "offset": 0.9, "tones": 0.7, "gain": 0.8}
    moving = {name: Sensitivity(moved=moved, moved_interval=(moved, moved)) for name, moved in sizes.items()}
    one = found(0.75, nuisances=moving, invariant=("offset", "drift", "tones"))
    assert one.movers() == ("offset", "tones", "drift")
    assert one.movers(declared=False) == ("gain",)


def test_the_row_of_all_needs_something_declared_and_measured_together() -> None:
    some = Sensitivity(moved=0.5, moved_interval=(0.4, 0.6))

    def names(**more: Any) -> list[str]:
        return [line[2:14].strip() for line in sensitivity_lines(found(0.75, **more))[1:-1]]

    measured = {"offset": some, "gain": some}
    assert names(nuisances=measured, invariant=("offset",), together=some) == ["offset *", "gain", "all *"]
    assert names(nuisances=measured, together=some) == ["offset", "gain"]
    assert names(nuisances=measured, invariant=("offset",)) == ["offset *", "gain"]
    assert names() == []


def test_a_notebook_shows_the_shares_and_the_verdict() -> None:
    page = found(0.95, moved=0.5)._repr_html_()
    assert "Exchange of 40 trajectories: events" in page
    assert "0.95 (0.85 to 1.05)" in page
    assert 'aria-label="good"' in page
    assert 'aria-label="bad"' in found(0.25)._repr_html_()
    assert "does not vary" in found(math.nan)._repr_html_()


@pytest.mark.parametrize(("moved", "verdict"), [(FELT, "unclear"), (FELT - 1e-9, "background")])
def test_a_colour_that_is_just_felt_leaves_it_open(moved: float, verdict: str) -> None:
    open_one = Sensitivity(moved=0.4, moved_interval=(0.1, 0.9))
    colour = Sensitivity(moved=moved, moved_interval=(moved, moved))
    one = found(0.25, together=open_one, nuisances={"colour": colour}, invariant=("offset",))
    assert one.verdict == verdict


def test_numbers_for_json_leave_single_predictions_out() -> None:
    one = torch.zeros(2)
    pairs = PredictionPairs(rows=one, own=one, exchanged=one, targets=None)
    assert exchange_numbers(found(0.75, predictions=pairs)) == exchange_numbers(found(0.75))
    assert "predictions" not in exchange_numbers(found(0.75))
