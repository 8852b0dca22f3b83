"""A repair as notebooks show it, and its part of a model card."""

from typing import TYPE_CHECKING

from crest._base.fragment import FindingMark, finding, table
from crest._pages.cards import Section, bullets, markdown_table
from crest._repair.undeclared import undeclared_harms

if TYPE_CHECKING:
    from crest._repair.repaired import Repaired


def repaired_fragment(repaired: "Repaired") -> str:
    """The pick, why, and the errors of all candidates: green for a clear pick.

    Amber if the rule cannot tell, or if what was not declared now moves the model and it errs then.
    """
    harms = undeclared_harms(repaired.before, repaired.after)
    mark: FindingMark = "doubt" if repaired.choice.name is None or harms else "good"
    head = "the model stays as it is" if not repaired.changed else repaired.name
    names, rows = candidate_rows(repaired)
    return finding(
        f"Repaired: {head}",
        mark,
        sentences=[repaired.verdict, *not_tried(repaired)],
        parts=[table(names, rows)],
        notes=repaired.notes,
    )


def repaired_sections(repaired: "Repaired") -> list[Section]:
    """What was chosen and why, the errors of all candidates, what was not tried, and what was assumed."""
    names, rows = candidate_rows(repaired)
    declared = ", ".join(repaired.before.exchange.invariant) or "nothing"
    what = f"remedy: {repaired.name}" if repaired.changed else "the model stays as it is"
    told = [what, repaired.verdict, f"declared, which predictions must not depend on: {declared}"]
    sections = [
        Section("Repair", bullets(told)),
        Section("Repair: candidates", markdown_table(names, rows)),
    ]
    lost = not_tried(repaired)
    sections += [Section("Repair: not tried", bullets(lost))] if lost else []
    return [*sections, *([Section("Repair: assumed", bullets(repaired.notes))] if repaired.notes else [])]


def candidate_rows(repaired: "Repaired") -> tuple[list[str], list[list[str]]]:
    """A row for each candidate, the chosen one with a star; columns that are empty everywhere are left out."""
    columns = {
        "ID error": "id_error",
        "expected": "expected_error",
        "even": "even_error",
        "field error": "field_error",
    }
    numbers = {
        title: [getattr(one, name) for one in repaired.candidates.values()] for title, name in columns.items()
    }
    kept = {title: of for title, of in numbers.items() if any(value is not None for value in of)}
    rows = [
        [
            f"{name} *" if name == repaired.name else name,
            *("" if of[place] is None else f"{of[place]:.3g}" for of in kept.values()),
            f"{repaired.candidates[name].moved:.2f}",
        ]
        for place, name in enumerate(repaired.candidates)
    ]
    return ["candidate (* chosen)", *kept, "declared move it by"], rows


def not_tried(repaired: "Repaired") -> list[str]:
    """What was not tried or failed, and why."""
    return [f"Not tried: {', '.join(names)}. {why}" for why, names in repaired.reasons_skipped.items()]
