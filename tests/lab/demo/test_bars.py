import pytest

from crest.lab.demo.bars import _WIDTH, error_bars


def test_bars_are_as_long_as_values_are_large() -> None:
    found = error_bars({"before": 0.5, "the field": 0.1})
    assert found == [f"before     {'█' * _WIDTH} 0.500", f"the field  {'█' * (_WIDTH // 5)} 0.100"]


def test_nothing_has_no_bar() -> None:
    assert error_bars({"a": 0.0, "b": 0.0}, width=10) == ["a  0.000", "b  0.000"]
    assert error_bars({"a": 1.0, "b": 0.0}, block="#", width=3) == ["a  ### 1.000", "b  0.000"]
    assert error_bars({}) == []


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_what_has_no_length_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"^values\['a'\] must be 0 or more"):
        error_bars({"a": value})
