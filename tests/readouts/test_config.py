import dataclasses

import pytest

from crest.readouts import CrestConfig
from manual import anchors
from places import DOCS


def test_every_constant_says_where_it_comes_from() -> None:
    written_down = anchors(DOCS / "evidence" / "choices.md")
    for name, source in CrestConfig.sources().items():
        assert source.startswith(("paper: ", "our choice: docs/evidence/choices.md#")), name
        if source.startswith("our"):
            assert source.split("#")[1] in written_down, name
    assert set(CrestConfig.sources()) == {field.name for field in dataclasses.fields(CrestConfig)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 0.0}, "sigma must be positive, got 0.0"),
        ({"dilation": -1}, "dilation must be a whole number, 0 or more, got -1"),
        ({"delta": 0.0}, r"delta must lie in \[1e-30, 1e30\], got 0.0"),
        ({"delta": 1e200}, r"delta must lie in \[1e-30, 1e30\], got 1e\+200"),
        ({"gate_width": 0.0}, r"gate_width must lie in \[1e-30, 1e30\]"),
        ({"epsilon_min": 0.4}, "epsilon_min and epsilon_max must satisfy"),
        ({"alpha_max": 1.2}, "alpha_min and alpha_max must satisfy"),
        ({"momentum": 1.0}, r"momentum must lie in \[0, 1\), got 1.0"),
    ],
)
def test_config_is_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrestConfig(**options)


@pytest.mark.parametrize("name", ["core_slope", "core_offset", "gate_start", "alpha_offset", "alpha_slope"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_every_constant_is_finite(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must lie in \[-1e30, 1e30\], got {value}"):
        CrestConfig(**{name: value})
