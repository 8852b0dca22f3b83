import pytest

from crest.lab.evidence.remedy_runs import ModelOutcome
from crest.lab.evidence.thresholds import ClearCase, threshold_table
from crest.lab.runs.record import Shares
from evidence_made import column


def shares(background: float, moved: float | None = None) -> Shares:
    return Shares(
        transient=1 - background, background=background, interaction=0.0, background_alone=0.0, moved=moved
    )


def case(whole: float, spectral: float | None, *, breaks: bool) -> ClearCase:
    seen = None if spectral is None else shares(spectral)
    return ClearCase(ModelOutcome(id=0.1, ood=0.2, shares=shares(whole), spectral=seen), breaks)


def test_each_number_is_counted_where_it_was_measured() -> None:
    table = threshold_table(
        [
            case(0.6, 0.1, breaks=False),
            case(0.9, 0.3, breaks=True),
            case(0.4, 0.25, breaks=True),
            case(0.1, None, breaks=False),
        ]
    )
    # Nobody measured how far predictions move, nor the error: these have no row.
    assert column(table, "exchanged") == ["spectra", "backgrounds", "backgrounds"]
    assert column(table, "right") == ["3 of 3", "2 of 4", "3 of 4"]
    assert column(table, "threshold") == ["0.20", "0.50", "0.16"]


@pytest.mark.parametrize(("share", "right"), [(0.19, "1 of 1"), (0.21, "0 of 1")])
def test_the_limit_of_the_audit_is_that_of_its_verdict(share: float, right: str) -> None:
    assert column(threshold_table([case(0.0, share, breaks=False)]), "right")[0] == right


def test_nothing_measured_has_no_row() -> None:
    assert threshold_table([]).rows == ()
