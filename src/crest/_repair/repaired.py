"""What `crest.repair` returns."""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from crest._base.doors import door
from crest._repair.saving import finite, load_weights, save_weights
from crest._repair.structure import Structure
from crest.exchange.candidates import Candidate, Choice
from crest.exchange.result import Exchange
from crest.exchange.rule import NEAR
from crest.remedies.reanchored import Reanchored
from crest.remedies.registry import CONTROL

AS_IT_IS = "as it is"
"""The name of the model that was given, among the candidates."""

_COLUMNS = 80


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """The numbers of one candidate."""

    id_error: float
    """On held-out data as in training."""
    exchange: Exchange
    """Its exchange test, with the error once the declared nuisances no longer follow the target."""
    even_error: float | None = None
    """Averaged evenly over target x condition of the held-out data; None if candidates are not judged by that."""
    even_constant: float | None = None
    """That of a constant prediction, in the same way."""
    field_error: float | None = None
    """On the user's own data from another condition: shown, and never used to choose."""
    seconds: float = 0.0
    """What it took to make and measure it."""

    def candidate(self) -> Candidate:
        """What the rule is given of it; a ValueError for an error that is not 0 or more."""
        return Candidate(
            exchange=self.exchange,
            id_error=self.id_error,
            even_error=self.even_error,
            even_constant=self.even_constant,
        )

    @property
    def transient(self) -> float:
        """Share of its prediction that follows the transient."""
        return self.exchange.transient

    @property
    def expected_error(self) -> float | None:
        """Its error with the declared nuisances exchanged."""
        return self.exchange.expected_error

    @property
    def judged_by(self) -> float | None:
        """The error by which it is judged: the even one if there is one, else the expected one."""
        return self.expected_error if self.even_error is None else self.even_error


def control_note(name: str, candidates: Mapping[str, MeasuredModel]) -> list[str]:
    """What training longer gives without a remedy, beside what the chosen one gives; nothing if no remedy was trained.

    Args:
        name: of the chosen candidate.
        candidates: their numbers by name.
    """
    if CONTROL not in candidates or name == AS_IT_IS:
        return []
    if name == CONTROL:
        return ["No remedy is clearly better than training longer alone."]
    alone, chosen = candidates[CONTROL], candidates[name]
    what = "expected error" if chosen.even_error is None else "even error"
    found = (
        f"Training longer alone gives an {what} of {_shown(alone.judged_by)} (ID error {_shown(alone.id_error)}), {name} gives "
        f"{_shown(chosen.judged_by)} (ID error {_shown(chosen.id_error)})."
    )
    return [
        found
        if beats(chosen, alone)
        else f"{found} That is not clearly better: the gain may come from training longer."
    ]


def beats(one: MeasuredModel, other: MeasuredModel) -> bool:
    """Whether the error that decides is clearly below another's: the rule would not take them for equal."""
    if one.judged_by is None or other.judged_by is None:
        return False
    return NEAR * one.judged_by < other.judged_by


@dataclass(frozen=True, kw_only=True, repr=False)
class Repaired:
    """The repaired model, what was tried, and the numbers before and after.

    `print` it for a table. `save` writes it, `load` reads the model back.
    """

    model: nn.Module
    """In evaluation mode: the chosen candidate, or a copy of the model that was given."""
    name: str
    """The remedy that it got; "as it is" where the rule found none or could not tell."""
    choice: Choice
    """What the rule said, of every candidate."""
    candidates: Mapping[str, MeasuredModel]
    """The numbers of each, "as it is" first."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Remedies that were not tried or failed, and why."""
    notes: tuple[str, ...] = ()
    """What was found out or assumed, in sentences."""
    structure: Structure = field(default_factory=Structure)
    """How its build differs from that of the model that was given."""
    reanchored: Reanchored | None = None
    """What `crest.reanchor` reported, where it was tried."""

    @property
    def before(self) -> MeasuredModel:
        """The numbers of the model that was given."""
        return self.candidates[AS_IT_IS]

    @property
    def after(self) -> MeasuredModel:
        """The numbers of the repaired model."""
        return self.candidates[self.name]

    @property
    def control(self) -> MeasuredModel | None:
        """The numbers of the model trained longer without a remedy; None if nothing was trained."""
        return self.candidates.get(CONTROL)

    @property
    def changed(self) -> bool:
        """Whether the model differs from the one that was given."""
        return self.name != AS_IT_IS

    def to_dict(self) -> dict[str, Any]:
        """All numbers and words, for JSON; what is not finite is None."""
        rows = {
            name: {
                "id_error": one.id_error,
                "exchange": asdict(one.exchange),
                "expected_error": one.expected_error,
                "even_error": one.even_error,
                "field_error": one.field_error,
                "seconds": one.seconds,
                "better": self.choice.candidates[name].better,
                "reason": self.choice.candidates[name].reason,
            }
            for name, one in self.candidates.items()
        }
        found: dict[str, Any] = finite(
            {
                "name": self.name,
                "chosen": self.choice.name,
                "reason": self.choice.reason,
                "candidates": rows,
                "skipped": dict(self.skipped),
                "notes": list(self.notes),
                "structure": asdict(self.structure),
            }
        )
        return found

    @door
    def save(self, folder: str | Path) -> None:
        """Write `model.safetensors`, the weights, and `repaired.json`, the numbers, into a folder.

        The folder is made where it is missing; files of the same names are replaced, each as a whole. Needs
        safetensors. `Repaired.load` reads the model back.
        """
        save_weights(Path(folder), self.model, self.structure, self.to_dict())

    @staticmethod
    @door
    def load(
        folder: str | Path, model: nn.Module, *, fronts: Mapping[str, nn.Module] | None = None
    ) -> nn.Module:
        """The repaired model that `save` wrote, in evaluation mode.

        Args:
            folder: where it was saved.
            model: a model of the build that was given to `crest.repair`, with any weights; it is not changed.
            fronts: your own fronts by name, if `remedies=` had some: layers of the same build, with any weights.
        """
        return load_weights(Path(folder), model, fronts)

    def __repr__(self) -> str:
        verdict = (
            self.choice.reason
            if self.choice.name is not None
            else f"The rule cannot tell. {self.choice.reason}"
        )
        if len(self.candidates) == 1 and self.skipped:
            verdict = "No remedy was tried, so there was nothing to choose from."
        head = f"Repaired: {self.name if self.changed else 'nothing, the model stays as it is'}. {verdict}"
        rows: list[tuple[str, ...]] = [("", "ID error", "expected", "even", "field error")]
        for name, one in self.candidates.items():
            mark = "*" if name == self.name else " "
            numbers = (one.id_error, one.expected_error, one.even_error, one.field_error)
            rows.append((f"{mark} {name}", *map(_shown, numbers)))
        kept = [place for place in range(5) if place < 3 or any(row[place] for row in rows[1:])]
        widths = [max(len(row[place]) for row in rows) for place in kept]
        table = [
            "  ".join(
                row[place].rjust(width) if place else row[place].ljust(width)
                for place, width in zip(kept, widths, strict=True)
            ).rstrip()
            for row in rows
        ]
        reasons: dict[str, list[str]] = {}
        for name, why in self.skipped.items():
            reasons.setdefault(why, []).append(name)
        rest = [f"Not tried: {', '.join(names)}. {why}" for why, names in reasons.items()]
        lines = [*_wrapped(head), *table]
        for sentence in [*rest, *self.notes]:
            lines += _wrapped(sentence)
        return "\n".join(lines)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
