"""An audit as notebooks show it: the first screen of its page, as one piece of HTML."""

from typing import TYPE_CHECKING

from crest._base.fragment import finding, table
from crest.exchange.result import VERDICT_MARKS, sensitivity_bars

if TYPE_CHECKING:
    from crest._audit.result import Audit


def audit_fragment(audit: "Audit") -> str:
    """The verdict, why, what moves the predictions, errors by condition, and what to do."""
    parts = [sensitivity_bars(audit.exchange)] if audit.exchange.varies else []
    if audit.error is not None:
        errors = {
            "as it is": audit.error,
            "with what was declared exchanged": audit.expected_error,
            "of a constant prediction": audit.exchange.constant_error,
            "on data as in training": audit.id_error,
        }
        rows = [[name, f"{value:.3g}"] for name, value in errors.items() if value is not None]
        parts.append(table(["error", ""], rows))
    if audit.by_condition:
        rows = [
            [str(name), f"{one.error:.3g}", str(one.trajectories)] for name, one in audit.by_condition.items()
        ]
        parts.append(table(["condition", "error", "trajectories"], rows))
    return finding(
        f"Audit of {audit.counted}: {audit.verdict}",
        VERDICT_MARKS[audit.verdict],
        sentences=audit.reasons,
        parts=parts,
        todo=audit.advice,
        notes=audit.notes,
    )
