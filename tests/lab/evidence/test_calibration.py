"""The table that the audit's limit comes from, on numbers made up."""

from crest.exchange.result import MOVES
from crest.lab.evidence.calibration import CALIBRATION_EXPERIMENT
from crest.lab.evidence.settings import DEVELOPMENT_SEED
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, shown


def right(spec: RunSpec) -> Numbers:
    """Attention breaks and its predictions move with the background; everything else holds."""
    plain = spec.readout == "scored_attention" and spec.remedy == "none"
    return Numbers(id=0.1, ood=0.8 if plain else 0.2, transient=0.3 if plain else 0.95, again=(0.1, 0.2, 0.95))


def test_only_the_development_seed_is_there() -> None:
    assert {spec.seed for spec in CALIBRATION_EXPERIMENT.runs} == {DEVELOPMENT_SEED}
    # Both simulators, four encoders, seven remedies.
    assert len(CALIBRATION_EXPERIMENT.runs) == 56


def test_every_limit_is_counted_and_the_one_that_was_taken_is_named() -> None:
    (table,) = shown(CALIBRATION_EXPERIMENT, right).tables
    rows = {row[0]: row[1:] for row in table.rows}
    # Eight ways in eight places, re-anchored ones among them.
    assert rows[f"{MOVES:.2f} (taken)"] == ("64", "0", "0", "0")
    assert sum("taken" in name for name in rows) == 1
    assert all(sum(map(int, counts[:3])) == 64 for counts in rows.values())

