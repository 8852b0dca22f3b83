"""What an exchange test found, made by hand."""

import math

from crest.exchange.result import Exchange


def found(transient: float, **more: float) -> Exchange:
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
    assert "Its error is 0.825, that of a constant answer 0.99." in advice


def test_an_error_that_is_not_finite_advises_nothing() -> None:
    for error, constant in ((math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)):
        assert found(0.75, constant_error=constant).train_first(error) == ()
