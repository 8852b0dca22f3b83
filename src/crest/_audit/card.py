"""An audit's part of a model card."""

from typing import TYPE_CHECKING

from crest._pages.cards import Section, bullets, markdown_table
from crest.exchange.result import sensitivity_cells

if TYPE_CHECKING:
    from crest._audit.result import Audit


def audit_sections(audit: "Audit") -> list[Section]:
    """What was audited, the verdict with its reasons, the nuisances, errors, and what to do."""
    exchange = audit.exchange
    data = [f"{audit.counted} looked at, of {audit.steps} steps each"]
    data += (
        []
        if audit.seconds is None
        else [f"{audit.seconds:.3g} s each, {audit.sample_rate:g} steps per second"]
    )
    data += (
        []
        if audit.groups is None
        else [f"{audit.groups} groups, such as recordings, over which intervals are"]
    )
    data += [] if not audit.classes else [f"classes: {', '.join(audit.classes)}"]
    data += [] if audit.interface is None else [f"pooling interface: {audit.interface}"]
    declared = ", ".join(exchange.invariant) or "nothing"
    sections = [
        Section("Audit: what was audited", bullets(data)),
        Section(
            f"Audit: verdict {audit.verdict}",
            bullets([f"declared, which predictions must not depend on: {declared}", *audit.reasons]),
        ),
    ]
    cells = sensitivity_cells(exchange) if exchange.varies else []
    if cells:
        head = [
            "exchanged (* declared)",
            "moves predictions by (standard deviations)",
            "95 % interval",
            "error",
        ]
        sections.append(Section("Audit: nuisances", markdown_table(head, cells)))
    if audit.error is not None:
        errors = {
            "as it is": audit.error,
            "with what was declared exchanged (expected)": audit.expected_error,
            "of a constant prediction": exchange.constant_error,
            "on data as in training": audit.id_error,
        }
        rows = [[name, f"{value:.3g}"] for name, value in errors.items() if value is not None]
        rows += [
            [f"condition {name}, {one.trajectories} trajectories", f"{one.error:.3g}"]
            for name, one in (audit.by_condition or {}).items()
        ]
        sections.append(Section("Audit: errors", markdown_table(["error", "value"], rows)))
    sections.append(Section("Audit: what to do", bullets(audit.advice)))
    return [*sections, *([Section("Audit: assumed", bullets(audit.notes))] if audit.notes else [])]
