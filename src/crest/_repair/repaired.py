"""What `crest.repair` returns."""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from crest._base.doors import door
from crest._base.words import listed
from crest._pages.cards import Carded, Section, card
from crest._pages.writing import write_page
from crest._repair.reading import NOT_READABLE, read_choice, read_exchange, read_numbers
from crest._repair.saving import NUMBERS, finite, load_weights, save_weights
from crest._repair.structure import Structure
from crest.exchange.candidates import Candidate, Choice, larger_error
from crest.exchange.result import Exchange, exchange_numbers
from crest.exchange.rule import NEAR
from crest.probes.foreign import error_words
from crest.remedies.reanchored import Reanchored
from crest.remedies.registry import CONTROL

AS_IT_IS = "as it is"
"""The name of the model that was given, among the candidates."""

_COLUMNS = 80
# They train with the separation of the exchange test, and no kind of background holds gain or colour.
_UNSEEN = {"exchange of gain", "exchange of colour"}


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
    other_error: float | None = None
    """With backgrounds of another separation exchanged; None unless the remedy trains with the separation of the exchange test."""
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
            other_error=self.other_error,
        )

    @property
    def transient(self) -> float:
        """Share of its prediction that follows the transient."""
        return self.exchange.transient

    @property
    def expected_error(self) -> float | None:
        """Its error with the declared nuisances exchanged, or by the other separation if that is larger."""
        return larger_error(self.exchange.expected_error, self.other_error)

    @property
    def moved(self) -> float:
        """How far the declared nuisances move its predictions, in their standard deviations."""
        together = self.exchange.together
        return self.exchange.moved if together is None else together.moved

    @property
    def judged_by(self) -> float | None:
        """The error by which it is judged: the even one if there is one, else the expected one."""
        return self.expected_error if self.even_error is None else self.even_error

    @property
    def constant(self) -> float | None:
        """The error of a constant prediction, measured as the one by which it is judged; None if it is not known."""
        return self.exchange.constant_error if self.even_error is None else self.even_constant


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


def other_separation_note(candidates: Mapping[str, MeasuredModel]) -> list[str]:
    """What the expected error of candidates is that trained with the separation of the exchange test; nothing if none did.

    It also tells what a second test does not see, and which of them have none.

    Args:
        candidates: their numbers by name.
    """
    told = {name: one for name, one in candidates.items() if one.other_error is not None}
    alone = [name for name, one in candidates.items() if one.other_error is None and _unseen(name)]
    unseen = (
        [
            f"No second test judges {listed(alone)}, which also {'trains' if len(alone) == 1 else 'train'} with the separation of the exchange "
            "test: the expected error may be too low."
        ]
        if alone
        else []
    )
    if not told:
        return unseen
    numbers = (
        f"{name} ({_shown(one.exchange.expected_error)} and {_shown(one.other_error)})"
        for name, one in told.items()
    )
    return [
        "The exchange test separates signals as the training of these remedies does, so a second test with another separation "
        f"judges them too. The larger error counts: {', '.join(numbers)}.",
        "The second test swaps slow backgrounds, or periodic ones after an exchange of tones. It does not see gain or colour, and with slow "
        "backgrounds it does not see tones.",
        *unseen,
    ]


def _unseen(name: str) -> bool:
    """Whether a candidate trains with exchanges of gain or colour, by its name: `fitting_remedies` joins pieces by " + ", in short."""
    pieces = name.split(" + ")
    return any((f"exchange of {piece}" if len(pieces) > 1 else piece) in _UNSEEN for piece in pieces)


def beats(one: MeasuredModel, other: MeasuredModel) -> bool:
    """Whether the error that decides is clearly below another's: the rule would not take them for equal."""
    if one.judged_by is None or other.judged_by is None:
        return False
    return NEAR * one.judged_by < other.judged_by


@dataclass(frozen=True, kw_only=True, repr=False)
class Repaired:
    """The repaired model, what was tried, and the numbers before and after.

    `print` it for a table, `to_html` writes a page with pictures. `save` writes it, `load` reads it back.
    """

    model: nn.Module
    """In evaluation mode: the chosen candidate, or a copy of the model that was given."""
    name: str
    """The remedy that it got; "as it is" if the rule found none or could not tell."""
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
    """What `crest.reanchor` reported, if it was tried."""
    conditions: tuple[str, ...] = ()
    """The condition of each held-out trajectory, for the page; none without conditions, and not saved."""

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
                "exchange": exchange_numbers(one.exchange),
                "expected_error": one.expected_error,
                "other_error": one.other_error,
                "even_error": one.even_error,
                "even_constant": one.even_constant,
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

        The folder is made if it is missing; files of the same names are replaced, each as a whole. Needs
        safetensors. `Repaired.load` reads it back.
        """
        save_weights(Path(folder), self.model, self.structure, self.to_dict())

    @staticmethod
    @door
    def load(
        folder: str | Path, model: nn.Module, *, fronts: Mapping[str, nn.Module] | None = None
    ) -> "Repaired":
        """What `save` wrote: the repaired model as `Repaired.model`, in evaluation mode, and all numbers and sentences.

        What `crest.reanchor` reported is not saved. Folders that earlier versions wrote are read too.

        Args:
            folder: where it was saved.
            model: a model of the build that was given to `crest.repair`, with any weights; it is not changed.
            fronts: your own fronts by name, if `remedies=` had some: layers of the same build, with any weights.
        """
        place = Path(folder)
        loaded, structure = load_weights(place, model, fronts)
        numbers = read_numbers(place)
        try:
            rows: dict[str, Any] = numbers["candidates"]
            exchanges = {name: read_exchange(row["exchange"]) for name, row in rows.items()}
            candidates = {
                name: MeasuredModel(
                    id_error=row["id_error"],
                    exchange=exchanges[name],
                    even_error=row["even_error"],
                    even_constant=row.get("even_constant"),
                    other_error=row.get("other_error"),
                    field_error=row["field_error"],
                    seconds=row["seconds"],
                )
                for name, row in rows.items()
            }
            return Repaired(
                model=loaded,
                name={name: name for name in candidates}[numbers["name"]],
                choice=read_choice(numbers, exchanges),
                candidates=candidates,
                skipped=dict(numbers["skipped"]),
                notes=tuple(numbers["notes"]),
                structure=structure,
            )
        except NOT_READABLE as error:
            what = error_words(error)
            raise ValueError(f"{place / NUMBERS} is not what Repaired.save wrote: {what}") from error

    @property
    def verdict(self) -> str:
        """What the rule said, in a sentence."""
        if len(self.candidates) == 1 and self.skipped:
            return "No remedy was tried, so there was nothing to choose from."
        return (
            self.choice.reason
            if self.choice.name is not None
            else f"The rule cannot tell. {self.choice.reason}"
        )

    @property
    def reasons_skipped(self) -> dict[str, list[str]]:
        """Why remedies were not tried or failed, with the names of those that share a reason."""
        reasons: dict[str, list[str]] = {}
        for name, why in self.skipped.items():
            reasons.setdefault(why, []).append(name)
        return reasons

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from crest._repair.card import repaired_fragment  # noqa: PLC0415

        return repaired_fragment(self)

    def card_sections(self) -> list[Section]:
        """Its part of a model card, in order."""
        from crest._repair.card import repaired_sections  # noqa: PLC0415

        return repaired_sections(self)

    @door
    def to_card(
        self,
        path: str | Path | None = None,
        *,
        audit: Carded | None = None,
        title: str = "Model card",
        about: str = "",
        date: str = "",
    ) -> str:
        """A model card in Markdown: the remedy, the candidates with their errors, what was assumed, versions.

        Args:
            path: of a file that ends in .md, if it is to be written; a warning tells if one is replaced.
            audit: of the repaired model, what `crest.audit` returned, which then stands first on the card.
            title: the heading.
            about: what the model is, in your words: Markdown.
            date: as you write it; the card has none by default.
        """
        of: list[Carded] = [self] if audit is None else [audit, self]
        return card(of, title=title, about=about, date=date, path=path)

    @door
    def to_html(self, path: str | Path, *, title: str = "Repair", intro: str = "") -> Path:
        """Write the page: what the remedy did, before and after, all that was tried, and the numbers; return where it is.

        One file that needs no server and no network. Needs the lab extra. For trajectories step by step, audit both models and
        use `Audit.to_html` with `after=`. Predictions are coloured by condition if conditions were given. Predictions for single
        trajectories are not saved, so the page of a repair that `load` read has no picture of them.

        Args:
            path: of the file, which ends in .html; a warning tells if one is replaced.
            title: the heading.
            intro: a text below the pictures; an empty line begins a paragraph.
        """

        def maker() -> Callable[[], str]:
            from crest._repair.page import repaired_page  # noqa: PLC0415

            return partial(repaired_page, self, title=title, intro=intro)

        return write_page(path, maker)

    def __repr__(self) -> str:
        head = (
            f"Repaired: {self.name if self.changed else 'nothing, the model stays as it is'}. {self.verdict}"
        )
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
        rest = [f"Not tried: {', '.join(names)}. {why}" for why, names in self.reasons_skipped.items()]
        lines = [*_wrapped(head), *table]
        for sentence in [*rest, *self.notes]:
            lines += _wrapped(sentence)
        return "\n".join(lines)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
