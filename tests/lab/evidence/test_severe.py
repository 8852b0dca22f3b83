import dataclasses

import pytest

from crest.lab.evidence.severe import SEVERE_EXPERIMENT
from crest.lab.evidence.shown import Claim
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, column, duel, shown

MISLED = duel(
    crest=Numbers(id=0.1, ood=0.5, rated=2.0, events=1.0),
    dot=Numbers(id=0.3, ood=1.5, events=0.0),
    scored=Numbers(id=0.1, ood=1.2, events=0.0),
)


def found(name: str, **options) -> Claim:
    """The first claim whose words have this."""
    return next(claim for claim in claims(SEVERE_EXPERIMENT, **options) if name in claim.text)


@pytest.mark.parametrize(("error", "verdict"), [(1.01, "holds"), (0.99, "does not hold")])
def test_worse_than_a_guess_is_an_error_above_one_on_every_seed(error: float, verdict: str) -> None:
    def rule(spec: RunSpec) -> Numbers:
        return dataclasses.replace(MISLED(spec), ood=error) if spec.seed == 3 else MISLED(spec)

    claim = found("a guess out of distribution on Impact", rule=rule)
    assert (claim.verdict, claim.seeds) == (verdict, 5)
    # The form with the lower ID error counts, though the other errs more.
    assert "attention (MLP)" in claim.measured


@pytest.mark.parametrize(("error", "verdict"), [(0.59, "holds"), (0.89, "partly"), (0.91, "does not hold")])
def test_crest_must_reach_the_papers_change_there_too(error: float, verdict: str) -> None:
    def rule(spec: RunSpec) -> Numbers:
        return dataclasses.replace(MISLED(spec), ood=error) if spec.readout == "crest" else MISLED(spec)

    assert found("every seed, on Impact", rule=rule).verdict == verdict


def test_training_deletion_and_the_recurrent_encoder_are_judged_by_their_own_runs() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return (
            Numbers(ood=1.5) if spec.encoder == "gru" and spec.readout in ("last", "mean") else MISLED(spec)
        )

    texts = [claim.text for claim in claims(SEVERE_EXPERIMENT, rule) if claim.verdict == "holds"]
    assert sum("Deleting the true events is almost free" in text for text in texts) == 4
    assert sum("five times as much" in text for text in texts) == 4
    assert any("With a GRU" in text for text in texts)
    gone = {"without": lambda spec: spec.encoder == "gru"}
    assert found("With a GRU", rule=MISLED, **gone).verdict == "not measured"
    assert found("every seed, on Impact", rule=MISLED, **gone).verdict == "holds"


def test_every_readout_and_every_remedy_has_a_row_and_is_compared_with_the_stronger_attention() -> None:
    table = shown(SEVERE_EXPERIMENT, MISLED).tables[0]
    models = column(table, "model")
    for name in (
        "mean",
        "event window",
        "AC coupling",
        "high-pass",
        "level jitter",
        "exchange",
        "CREST + exchange",
    ):
        assert models.count(name) == 2
    row = dict(zip(models, column(table, "against attention"), strict=True))
    assert row["attention (MLP) *"] == ""
    assert row["CREST"] == "−58 %"
    # The models re-anchored after training have 0.3, whatever was trained.
    assert row["re-anchored attention (MLP)"] == "−75 %"


def test_without_a_record_nothing_is_claimed_or_drawn() -> None:
    there = shown(SEVERE_EXPERIMENT, without=lambda _: True)
    assert {claim.verdict for claim in there.claims} == {"not measured"}
    assert there.charts == ()
