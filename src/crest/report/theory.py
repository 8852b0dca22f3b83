"""Figures of the theory: the dilution of Proposition 1 and the budget law of Theorem 1. Needs matplotlib."""

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crest import rng
from crest.theory import (
    TwoChannel,
    budget_risk,
    risk_id,
    risk_id_limit,
    risk_ood,
    risk_ood_limit,
    simulated_budget_risk,
    simulated_risks,
)

# three of Okabe and Ito's eight colours, which colour-blind readers tell apart
ID_COLOUR = "#0072B2"
OOD_COLOUR = "#D55E00"
BUDGET_COLOUR = "#009E73"
QUIET = "#666666"


def _note(
    axes: Axes,
    text: str,
    at: tuple[float | int, float | int],
    offset: tuple[int, int],
    *,
    colour: str = QUIET,
    ha: Literal["left", "right"] = "left",
) -> None:
    axes.annotate(
        text, at, xytext=offset, textcoords="offset points", ha=ha, va="bottom", color=colour, fontsize=9
    )


def _tidy(axes: Axes, title: str, top: float) -> None:
    axes.set_xscale("log")
    axes.set_ylim(0, top)
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def draw_dilution(
    axes: Axes,
    *,
    T: int = 1000,
    s0: float = 1.0,
    s1: float = 8.0,
    gamma: float = 0.5,
    n: int = 400_000,
    seed: int = 0,
) -> None:
    """Draw R_id and R_ood over epsilon (Proposition 1) with simulated readers on the curves.

    The default s1 and gamma put S_B near 4, where both sides of the failure are visible: a small risk with
    the cue, and one above the mean predictor's without it.

    Args:
        axes: Where to draw.
        T: Steps; epsilon runs from 1 / T to 1/2.
        s0: Noise scale of the event channel.
        s1: Noise scale of the background channel.
        gamma: Cue strength.
        n: Samples to fit each simulated reader to, and to test it on.
        seed: Seed of the simulation.
    """
    epsilon = np.geomspace(1 / T, 0.5, 200)
    counts = np.unique(np.geomspace(1, T / 2, 8).round().astype(int)).tolist()
    generator = rng.generator(seed, "report/dilution")
    points = [
        simulated_risks(TwoChannel(T=T, epsilon=count / T, s0=s0, s1=s1, gamma=gamma), n, generator)
        for count in counts
    ]
    seen = risk_id(epsilon=epsilon, T=T, s0=s0, s1=s1, gamma=gamma)
    unseen = risk_ood(epsilon=epsilon, T=T, s0=s0, s1=s1, gamma=gamma)
    limits = risk_id_limit(T=T, s1=s1, gamma=gamma), risk_ood_limit(T=T, s1=s1, gamma=gamma)

    share = np.array(counts) / T
    axes.axhline(1, color=QUIET, linewidth=0.8, label="mean predictor")
    _note(axes, "mean predictor", (0.5, 1), (0, 2), ha="right")
    series = [
        ("id", "in distribution", ID_COLOUR, seen, limits[0], [risks.id for risks in points]),
        ("ood", "cue removed", OOD_COLOUR, unseen, limits[1], [risks.ood for risks in points]),
    ]
    for key, name, colour, curve, limit, risks in series:
        level = float(limit)
        axes.axhline(level, color=colour, linewidth=1, linestyle=":", label=f"{key} limit")
        axes.plot(epsilon, curve, color=colour, linewidth=1.8, label=f"{key} law")
        axes.plot(share, risks, "o", color=colour, markersize=5, label=f"{key} simulated")
        _note(axes, rf"$R_{{\mathrm{{{key}}}}}$, {name}", (1 / T, level), (0, 5), colour=colour)
        _note(axes, r"limit $\varepsilon \to 0$", (0.5, level), (0, 2), colour=colour, ha="right")
    axes.set_xlabel(r"event share $\varepsilon$")
    axes.set_ylabel("normalized mean squared error")
    _tidy(axes, "Dilution: laws (lines), fitted readers (dots)", top=1.4)


def draw_budget_law(
    axes: Axes, *, L: int = 20, T: int = 400, s0: float = 2.0, n: int = 200_000, seed: int = 0
) -> None:
    """Draw the U of R(K) over the budget K (Theorem 1) with simulated selectors on it and K = L marked.

    Args:
        axes: Where to draw.
        L: Event steps.
        T: Steps; K runs from 1 to T.
        s0: Noise scale of the event channel.
        n: Samples to fit each simulated reader to, and to test it on.
        seed: Seed of the simulation.
    """
    K = np.unique(np.geomspace(1, T, 400).round())
    budgets: list[int] = sorted({*np.geomspace(1, T, 9).round().astype(int).tolist(), L})
    generator = rng.generator(seed, "report/budget_law")
    points = [simulated_budget_risk(budget, L, s0, n, generator) for budget in budgets]
    lowest = float(budget_risk(L, L, s0))

    axes.axvline(L, color=QUIET, linewidth=1, linestyle=":", label="K = L")
    axes.plot(K, budget_risk(K, L, s0), color=BUDGET_COLOUR, linewidth=1.8, label="law")
    axes.plot(budgets, points, "o", color=BUDGET_COLOUR, markersize=5, label="simulated")
    _note(axes, f"$K = L = {L}$", (L, 0), (5, 6))
    _note(axes, "events left out", (1, lowest), (0, 0))
    _note(axes, "background let in", (T, lowest), (0, 0), ha="right")
    axes.set_xlabel("selected steps $K$")
    axes.set_ylabel("risk $R(K)$ of the best selector")
    _tidy(axes, "Budget law (line), ideal selectors (dots)", top=1.0)


def theory_figure() -> Figure:
    """Figure with the dilution on the left and the budget law on the right, at the default parameters."""
    # a bare Figure, not pyplot's: nothing global to close, and no display needed
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_dilution(left)
    draw_budget_law(right)
    return figure
