import dataclasses
from collections.abc import Callable

import pytest

from crest.lab.evidence.compare import percent
from crest.lab.evidence.convergence import CONVERGENCE_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from crest.lab.training import SCHEDULES
from evidence_made import Numbers, claims, column, shown


def ending(*falls: float) -> Callable[[RunSpec], Numbers]:
    """The ID error falls by so much in the last tenth: of the first runs, in order; the others stand still."""
    by_run = dict(zip((spec.id for spec in CONVERGENCE_EXPERIMENT.runs), falls, strict=False))

    def rule(spec: RunSpec) -> Numbers:
        last = 0.2 * (1 - by_run.get(spec.id, 0.0))
        # The fall between epochs 56 and 60 alone is small: the look at 52 is the one that counts.
        return Numbers(
            course=((0, 1.0, 1.0, 0.1), (52, 0.2, 0.5, 0.1), (56, last, 0.5, 0.1), (60, last, 0.5, 0.1))
        )

    return rule


@pytest.mark.parametrize(
    ("falls", "verdict"),
    [
        ([0.049] * 8, "holds"),
        ([0.3, 0.051], "partly"),
        ([0.051] * 4 + [0.03] * 4, "does not hold"),
        ([-0.1] * 8, "holds"),
    ],
    ids=["hardly falls", "two runs fall", "most runs fall", "rises"],
)
def test_the_id_error_must_hardly_fall_in_the_last_tenth(falls: list[float], verdict: str) -> None:
    claim, *_ = claims(CONVERGENCE_EXPERIMENT, ending(*falls))
    assert claim.verdict == verdict
    assert f"at most {max(falls):.1%}" in claim.measured


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (0.091, "holds"),
        (0.089, "partly"),
        (0.081, "partly"),
        (0.079, "does not hold"),
        (0.109, "holds"),
        (0.119, "partly"),
        (0.152, "does not hold"),
    ],
)
@pytest.mark.parametrize(
    ("place", "encoder", "options"),
    [(0, "pointwise", {}), (1, "pointwise", {"budget": "signals"}), (2, "gru", {})],
    ids=["as it is", "signals", "GRU"],
)
def test_twice_the_epochs_must_hardly_change_the_id_error_of_any(
    error: float, verdict: str, place: int, encoder: str, options: dict[str, str]
) -> None:
    def rule(spec: RunSpec) -> Numbers:
        long = spec.training.epochs == 2 * SCHEDULES[encoder].epochs
        asked = ("impact", encoder, "crest", options)
        changed = long and asked == (spec.system, spec.encoder, spec.readout, dict(spec.readout_options))
        return Numbers(id=error if changed else 0.1)

    def settled(spec: RunSpec) -> Numbers:
        return dataclasses.replace(rule(spec), course=ending()(spec).course)

    there = list(claims(CONVERGENCE_EXPERIMENT, settled))
    claim = there.pop(place)
    assert [claim.verdict, *(other.verdict for other in there)] == [verdict, "holds", "holds"]
    assert ("budget of the signals" in claim.text, "GRU" in claim.text) == (bool(options), encoder == "gru")
    lowest, highest = sorted([error / 0.1 - 1, 0.0])
    assert f"change it by {percent(lowest)} to {percent(highest)}" in claim.measured


def test_every_run_shows_its_course() -> None:
    there = shown(CONVERGENCE_EXPERIMENT, ending(0.049))
    assert column(there.tables[0], "fall") == ["4.9%"] + ["0.0%"] * 29
    assert column(there.tables[0], "epochs") == (
        ["60"] * 8 + ["120"] * 6 + ["60"] * 2 + ["120"] * 2 + ["40"] * 4 + ["80"] * 4 + ["160"] * 4
    )
    assert column(there.tables[0], "budget") == (
        ["", "", "", "0.100"] * 2 + ["", "", "0.100"] * 2 + ["0.100"] * 4 + ["", "0.100"] * 6
    )
    # ID and OOD error of the fourteen runs of the usual length.
    assert sum(len(panel.series) for panel in there.charts[0].panels) == 28
