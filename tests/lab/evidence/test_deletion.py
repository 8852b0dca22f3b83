import pytest

from crest.lab.evidence.deletion import DELETION_EXPERIMENT, harm
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, duel, found, verdicts


def test_harm_is_the_growth_at_a_tenth_of_the_steps_and_without_all_events() -> None:
    def rule(spec: RunSpec) -> Numbers:
        growth = 1 + 2 * spec.seed
        return Numbers(credit=growth, events=7 * growth)

    records = found(DELETION_EXPERIMENT, rule).of(system="gear", readout="crest")[:2]
    assert harm(records, "credit") == pytest.approx(2)
    assert harm(records, "credit", at=0.25) == pytest.approx(6)
    assert harm(records, "events") == pytest.approx(14)


@pytest.mark.parametrize(("weights", "credit"), [(0.2, 0.001), (0.001, 0.2)])
@pytest.mark.parametrize(
    ("ours", "verdict"), [(1.01, "holds"), (0.99, "partly"), (0.51, "partly"), (0.49, "does not hold")]
)
def test_the_selected_steps_are_compared_with_those_whose_loss_is_worst_for_attention(
    ours: float, verdict: str, weights: float, credit: float
) -> None:
    """Of its weights and its credit; CREST's credit does not count, and each form of attention is judged by itself."""
    rule = duel(
        crest=Numbers(rated=ours, credit=50.0),
        scored=Numbers(credit=credit, rated=weights),
        dot=Numbers(id=0.12, credit=50.0, rated=50.0),
    )
    assert verdicts(DELETION_EXPERIMENT, rule)[::2] == ["does not hold", verdict] * 2


def test_random_steps_must_hurt_less_than_selected_ones() -> None:
    rule = duel(crest=Numbers(rated=1.0, random=1.1), scored=Numbers(credit=0.1, rated=0.1))
    assert verdicts(DELETION_EXPERIMENT, rule)[::2] == ["does not hold"] * 4


def test_steps_whose_loss_helps_attention_are_no_division_by_zero() -> None:
    for growth in (0.0, -0.01):
        assert (
            verdicts(DELETION_EXPERIMENT, duel(scored=Numbers(credit=growth, rated=growth)))[2::4]
            == ["holds"] * 2
        )


@pytest.mark.parametrize(
    ("spared", "most", "verdict"),
    [(10, 0.05, "holds"), (9, 0.049, "partly"), (5, 0.049, "partly"), (9, 0.051, "does not hold")],
)
def test_events_are_almost_free_where_attentions_error_grows_by_less_than_a_quarter(
    spared: int, most: float, verdict: str
) -> None:
    def rule(spec: RunSpec) -> Numbers:
        growth = 0.024 if spec.seed < spared else most
        return duel(scored=Numbers(events=growth), dot=Numbers(id=0.12, events=5.0))(spec)

    there = claims(DELETION_EXPERIMENT, rule)
    assert [claim.verdict for claim in there[1::2]] == ["does not hold", verdict] * 2
    assert f"on {spared} of 10 seeds" in there[3].measured
