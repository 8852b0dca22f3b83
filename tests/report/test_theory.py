from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crest.report.theory import draw_budget_law, draw_dilution, theory_figure
from crest.theory import budget_risk, risk_id, risk_id_limit, risk_ood, risk_ood_limit


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def line(axes: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [line for line in axes.lines if line.get_label() == label]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


@pytest.mark.parametrize(("key", "law", "tolerance"), [("id", risk_id, 0.005), ("ood", risk_ood, 0.01)])
def test_dilution_points_lie_on_the_curves(axes: Axes, key: str, law, tolerance: float) -> None:
    rest = {"T": 200, "s0": 1.5, "s1": 4.0, "gamma": 0.5}
    draw_dilution(axes, n=200_000, **rest)
    epsilon, curve = line(axes, f"{key} law")
    share, points = line(axes, f"{key} simulated")
    assert len(share) >= 6
    np.testing.assert_allclose(curve, law(epsilon=epsilon, **rest))
    np.testing.assert_allclose(points, law(epsilon=share, **rest), atol=tolerance)
    assert axes.get_xscale() == "log"


def test_dilution_shows_both_limits_and_the_mean_predictor(axes: Axes) -> None:
    draw_dilution(axes, T=100, s1=4.0, gamma=0.5, n=1000)
    ends = {"T": 100, "s1": 4.0, "gamma": 0.5}
    levels = {"mean predictor": 1.0, "id limit": risk_id_limit(**ends), "ood limit": risk_ood_limit(**ends)}
    for label, level in levels.items():
        np.testing.assert_allclose(line(axes, label)[1], level)


def test_budget_points_lie_on_the_u(axes: Axes) -> None:
    draw_budget_law(axes, L=10, T=200, s0=1.5)
    K, curve = line(axes, "law")
    budgets, points = line(axes, "simulated")
    assert 10 in budgets
    np.testing.assert_allclose(curve, budget_risk(K, 10, 1.5))
    np.testing.assert_allclose(points, budget_risk(budgets, 10, 1.5), atol=0.005)
    assert K[curve.argmin()] == budgets[points.argmin()] == line(axes, "K = L")[0][0] == 10


def test_figure_saves(tmp_path: Path) -> None:
    figure = theory_figure()
    assert len(figure.axes) == 2
    figure.savefig(tmp_path / "theory.png")
    assert (tmp_path / "theory.png").stat().st_size > 10_000
