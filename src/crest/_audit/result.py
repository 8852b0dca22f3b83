"""What `crest.audit` returns."""

import dataclasses
import math
import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crest._audit.curves import ResponseCurve
from crest._audit.readings import Deletion
from crest._audit.separated import SeparatedTrajectory
from crest._audit.tied import TieReading
from crest._base.arguments import require
from crest._base.doors import door
from crest._pages.cards import Section, card
from crest._pages.writing import write_page
from crest.exchange.result import AuditVerdict, Exchange, exchange_numbers, sensitivity_lines
from crest.probes.result import CreditMeans
from crest.probes.traces import Traces
from crest.strangers.interface import Interface

_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class ConditionReading:
    """The trajectories of one condition."""

    error: float
    core_credit: float | None
    """Share of the credit on the most transient steps; None if the model was not looked into."""
    trajectories: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """Whether a model reads the events or the background: what was found, how sure that is, and what to do.

    `print(audit)` says it in words, `to_html` writes a page with pictures; `to_dict` has the numbers.
    """

    verdict: AuditVerdict
    """"events", "background" or "unclear"."""
    reasons: tuple[str, ...]
    """The evidence, in sentences."""
    advice: tuple[str, ...]
    """What to do, the first thing first."""
    trajectories: int
    """How many were looked at."""
    exchange: Exchange
    """What the predictions follow when backgrounds are exchanged."""
    curves: Mapping[str, ResponseCurve]
    """How the predictions change on signals that are louder (gain), slower (rate) or shifted (offset)."""
    tie: TieReading | None
    """How far target and condition are tied, and the error where they part; None without conditions."""
    deletion: Deletion | None
    """How far the predictions move without the core; None if they do not vary."""
    sharp: float
    """Share of the trajectories in which a transient core stands out."""
    interface: Interface | None
    """Where features and pooled vector are; None if the model was not looked into."""
    core_credit: float | None
    """Share of the credit on the most transient steps of the inputs, at the pooling interface."""
    core_chance: float | None
    """The share of the steps that those are: the share that evenly spread credit would have."""
    concentration: float | None
    """Over what share of the steps the credit is spread; 1 if evenly."""
    credit: CreditMeans | None
    """CiE@1, ECM and Prec@|E| against chance, if events were given."""
    error: float | None
    """Root mean square error, or share of wrong classes, if targets were given."""
    by_condition: Mapping[Hashable, ConditionReading] | None
    """What was found under each condition, if conditions were given."""
    classes: tuple[str, ...]
    """Names of the classes, as `named` gives them, else their numbers; none if predictions or targets are numbers."""
    notes: tuple[str, ...]
    """What was assumed."""
    traces: Traces | None
    """Some trajectories step by step, for the page."""
    brought: int | None = None
    """How many trajectories there are in all; None if the batches do not tell."""
    groups: int | None = None
    """Over how many groups the bootstrap of the intervals is; None if it is over trajectories."""
    id_error: float | None = None
    """The error on data as in training, if it was given."""
    steps: int = 0
    """Of each trajectory, padding included."""
    sample_rate: float | None = None
    """Steps per second, as `named` gives it; None if it is not known."""
    names: tuple[str, ...] = ()
    """What each trajectory that was looked at is called, as `named` gives it."""
    headline: str = ""
    """The finding in a sentence, as the page opens with it."""
    separated: SeparatedTrajectory | None = None
    """One trajectory taken apart, for the page; None if nothing that was declared could be exchanged."""
    conditions: tuple[str, ...] = ()
    """The condition of each trajectory that was looked at, for the page; none without conditions."""

    def __repr__(self) -> str:
        lines = [f"Audit of {self.counted}: {self.verdict}"]
        for words in self.reasons:
            lines += _wrapped(words)
        lines += self._numbers()
        if self.exchange.varies:
            lines += sensitivity_lines(self.exchange)
            lines += [_CURVES_HEAD] if self.curves else []
            lines += [_curve_line(name, curve) for name, curve in self.curves.items()]
        if self.tie is not None:
            lines += [
                "  target x condition: trajectories (error)",
                *(f"    {line}" for line in self.tie.lines()),
            ]
        elif self.by_condition:
            lines.append(f"  {'condition':<24}{'error':>8}{'credit on core':>16}")
            for name, one in self.by_condition.items():
                share = "" if one.core_credit is None else f"{one.core_credit:.2f}"
                lines.append(f"  {name!s:<24.24}{one.error:>8.3g}{share:>16}")
        lines.append("What to do:")
        for words in self.advice:
            lines += _wrapped(words)
        if self.notes:
            lines.append("Assumed:")
            for words in self.notes:
                lines += _wrapped(words)
        return "\n".join(lines)

    @property
    def counted(self) -> str:
        """How many trajectories were looked at, of how many, in words."""
        of = f" of {self.brought}" if self.brought is not None and self.brought > self.trajectories else ""
        return f"{self.trajectories}{of} trajectories"

    @property
    def seconds(self) -> float | None:
        """The length of the longest trajectory; None if the sample rate is not known."""
        return None if self.sample_rate is None else self.steps / self.sample_rate

    def _numbers(self) -> list[str]:
        lines = []
        if self.seconds is not None:
            lines.append(
                f"  {self.steps} steps each, {self.seconds:.3g} s at {self.sample_rate:g} steps per second"
            )
        if self.groups is not None:
            lines.append(f"  95 % intervals: bootstrap over {self.groups} groups of trajectories")
        if self.error is not None:
            beside = self.exchange.expected_error
            other = "" if beside is None else f", with what was declared exchanged {beside:.3g}"
            constant = self.exchange.constant_error
            least = "" if constant is None else f", of a constant prediction {constant:.3g}"
            lines.append(f"  error {self.error:.3g}{other}{least}")
        if self.credit is not None:
            given = self.credit
            lines.append(
                f"  events: CiE@1 {given.cie:.2f}, Prec@|E| {given.precision:.2f}, ECM {given.ecm:.2f}, chance {given.chance:.2f}"
            )
        return lines

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from crest._audit.fragment import audit_fragment  # noqa: PLC0415

        return audit_fragment(self)

    def card_sections(self) -> list[Section]:
        """Its part of a model card, in order."""
        from crest._audit.card import audit_sections  # noqa: PLC0415

        return audit_sections(self)

    @door
    def to_card(
        self,
        path: str | Path | None = None,
        *,
        title: str = "Model card",
        about: str = "",
        date: str = "",
    ) -> str:
        """A model card in Markdown: what was audited, the verdict, the nuisances, errors, what to do, versions.

        Args:
            path: of a file that ends in .md, if it is to be written; a warning tells if one is replaced.
            title: the heading.
            about: what the model is, in your words: Markdown.
            date: as you write it; the card has none by default.
        """
        return card([self], title=title, about=about, date=date, path=path)

    @property
    def expected_error(self) -> float | None:
        """The error to expect once the declared nuisances no longer follow the target; None without targets."""
        return self.exchange.expected_error

    @door
    def named(
        self,
        *,
        channels: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        trajectories: Sequence[str] | None = None,
        sample_rate: float | None = None,
    ) -> "Audit":
        """The same audit with names for its text and its page.

        Args:
            channels: of the signals, one for each channel.
            classes: in the order of the model's outputs; targets are their numbers, from 0.
            trajectories: of those that were looked at, the first ones of the batches: such as file, start and condition.
            sample_rate: steps per second; times are then in seconds.
        """
        found = self
        if sample_rate is not None:
            require("sample_rate", sample_rate, "be positive")
            found = dataclasses.replace(found, sample_rate=float(sample_rate))
        if trajectories is not None:
            if isinstance(trajectories, str) or len(trajectories) < self.trajectories:
                raise ValueError(
                    f"trajectories must name each of the {self.trajectories} that were looked at, got {len(trajectories)} names"
                )
            found = dataclasses.replace(found, names=tuple(map(str, trajectories[: self.trajectories])))
        if channels is not None:
            own = () if self.traces is None else self.traces.channels
            if isinstance(channels, str) or len(channels) != len(own):
                raise ValueError(f"channels must name each of {len(own)} channels, got {channels!r}")
            if self.traces is not None:
                traces = dataclasses.replace(self.traces, channels=list(channels))
                found = dataclasses.replace(found, traces=traces)
        if classes is not None:
            if isinstance(classes, str) or len(set(classes)) < len(classes):
                raise ValueError(f"classes must be different names, got {classes!r}")
            # One logit tells two classes apart, and has no list of them.
            if not self.classes and len(classes) > 2:
                raise ValueError(
                    f"classes must come with a model that gives logits (B, K), got one number for each trajectory and {classes!r}"
                )
            if self.classes and len(classes) != len(self.classes):
                raise ValueError(
                    f"classes must name each of {len(self.classes)} outputs of the model, got {classes!r}"
                )
            found = dataclasses.replace(
                found, classes=tuple(classes) if self.classes else (), tie=self._named_tie(classes)
            )
        return found

    def _named_tie(self, classes: Sequence[str]) -> TieReading | None:
        """The tie with names for the rows of classes, which have their numbers, or the names of before; ranges stay."""
        names = dict(zip(map(str, range(len(classes))), classes, strict=True))
        names |= dict(zip(self.classes, classes, strict=False))
        if self.tie is None or not all(target in names for target in self.tie.targets):
            return self.tie
        return dataclasses.replace(self.tie, targets=tuple(names[target] for target in self.tie.targets))

    @door
    def to_html(
        self,
        path: str | Path,
        *,
        after: "Audit | None" = None,
        title: str = "Audit",
        intro: str = "",
    ) -> Path:
        """Write the page: the finding with its pictures, an explorer of some trajectories, and the numbers; return where it is.

        One file that needs no server and no network. Needs the lab extra.

        Args:
            path: of the file, which ends in .html; a warning tells if one is replaced.
            after: an audit of the repaired model on the same trajectories, to be shown beside.
            title: the heading.
            intro: a text below the pictures; an empty line begins a paragraph.
        """
        if after is not None:
            self._require_beside(after)
        audits = {"as it is": self} if after is None else {"before": self, "after": after}

        def maker() -> Callable[[], str]:
            from crest._audit.page import audit_page  # noqa: PLC0415

            return partial(audit_page, audits, title=title, intro=intro)

        return write_page(path, maker)

    def _require_beside(self, after: "Audit") -> None:
        """Refuse an audit of other trajectories, conditions or outputs: the page shows both in the same pictures."""
        if after.trajectories != self.trajectories:
            raise ValueError(
                f"after must be an audit of the same {self.trajectories} trajectories, got one of {after.trajectories}"
            )
        # Conditions may be known to one of the two alone.
        differ = [
            place
            for place, both in enumerate(zip(self.conditions, after.conditions, strict=False))
            if len(set(both)) > 1
        ]
        if differ:
            own, other = self.conditions[differ[0]], after.conditions[differ[0]]
            raise ValueError(
                f"after must have the same conditions, got {other!r} and not {own!r} for trajectory {differ[0]}"
            )
        if self.classes and after.classes and len(after.classes) != len(self.classes):
            raise ValueError(
                f"after must be of a model with the same {len(self.classes)} classes, got {len(after.classes)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; trajectories step by step are left out. NaN is None."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _OF_THE_PAGE
        }
        result: dict[str, Any] = _plain(plain)
        return result


_CURVES_HEAD = "  above, signals are exchanged as they differ in your data; below, every signal is changed"
_OF_THE_PAGE = ("traces", "separated", "conditions")


def _curve_line(name: str, curve: ResponseCurve) -> str:
    """One response curve in a line: what is done, and how far predictions move."""
    what, still = {"gain": ("gain x", 1.0), "rate": ("stretched by ", 1.0), "offset": ("shifted by ", 0.0)}[
        name
    ]
    told = ", ".join(
        f"{value:g}: {moved:.2f}"
        for value, moved in zip(curve.values, curve.moved, strict=True)
        if value != still
    )
    return f"  moves by, {what}{told}"


def _plain(value: Any) -> Any:
    if isinstance(value, Exchange):
        return _plain(exchange_numbers(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _wrapped(words: str) -> list[str]:
    # An option such as --channels-first stays in one piece.
    return textwrap.wrap(
        words, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )
