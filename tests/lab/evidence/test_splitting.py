import pytest

from crest.lab.evidence.splitting import SPLITTING_EXPERIMENT
from evidence_made import Numbers, claims


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(0.4, "holds"), (0.439, "holds"), (0.361, "holds"), (0.3, "partly"), (0.45, "does not hold")],
)
def test_splitting_may_change_the_error_by_a_tenth(error: float, verdict: str) -> None:
    there = claims(SPLITTING_EXPERIMENT, lambda spec: Numbers(ood=error if spec.readout_options else 0.4))
    assert [claim.verdict for claim in there] == [verdict] * 2
    assert [claim.smallest_p for claim in there] == [0.125] * 2
