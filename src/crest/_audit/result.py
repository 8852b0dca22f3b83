"""What `crest.audit` returns."""

import dataclasses
import math
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crest._audit.curves import ResponseCurve
from crest._audit.readings import Deletion
from crest._audit.tied import TieReading
from crest._base.doors import door
from crest._base.files import whole_file
from crest.exchange.result import AuditVerdict, Exchange, sensitivity_lines
from crest.probes.result import CreditMeans
from crest.probes.traces import Traces
from crest.strangers.interface import Interface

_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class ConditionReading:
    """The trajectories of one condition."""

    error: float
    core_credit: float | None
    """Share of the credit on the most transient steps; None where the model was not looked into."""
    trajectories: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """Whether a model reads the events or the background: what was found, how sure that is, and what to do.

    `print(audit)` says it in words; `to_dict` has the numbers.
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
    """Change of the answers without the core; None where the answers do not vary."""
    sharp: float
    """Share of the trajectories in which a transient core stands out."""
    interface: Interface | None
    """Where features and pooled vector are; None where the model was not looked into."""
    core_credit: float | None
    """Share of the credit on the most transient steps of the inputs, at the pooling interface."""
    core_chance: float | None
    """The share of the steps that those are: what even credit would give."""
    concentration: float | None
    """Over what share of the steps the credit is spread; 1 if evenly."""
    credit: CreditMeans | None
    """CiE@1, ECM and Prec@|E| against chance, where events were given."""
    error: float | None
    """Root mean square error, or share of wrong classes, where targets were given."""
    by_condition: Mapping[Hashable, ConditionReading] | None
    """What was found under each condition, where conditions were given."""
    classes: tuple[str, ...]
    """Names of the classes, as `named` gives them, else their numbers; none if predictions or targets are numbers."""
    notes: tuple[str, ...]
    """What was assumed."""
    traces: Traces | None
    """Some trajectories step by step, for the page."""

    def __repr__(self) -> str:
        lines = [f"Audit of {self.trajectories} trajectories: {self.verdict}"]
        for words in self.reasons:
            lines += _wrapped(words)
        lines += self._numbers()
        if self.exchange.varies:
            lines += sensitivity_lines(self.exchange)
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

    def _numbers(self) -> list[str]:
        lines = []
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

    @property
    def expected_error(self) -> float | None:
        """The error to expect once the declared nuisances no longer follow the target; None without targets."""
        return self.exchange.expected_error

    @door
    def named(
        self, *, channels: Sequence[str] | None = None, classes: Sequence[str] | None = None
    ) -> "Audit":
        """The same audit with names for its page.

        Args:
            channels: of the signals, one for each channel.
            classes: in the order of the model's outputs; targets are their numbers, from 0.
        """
        found = self
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
            found = dataclasses.replace(found, classes=tuple(classes) if self.classes else ())
        return found

    @door
    def to_html(
        self,
        path: str | Path,
        *,
        after: "Audit | None" = None,
        title: str = "Audit",
        intro: str = "",
    ) -> Path:
        """Write the page: the finding, the numbers, and an explorer of some trajectories; return where it is.

        One file that needs no server and no network. Needs the lab extra.

        Args:
            path: of the file, which ends in .html.
            after: an audit of the repaired model on the same trajectories, to be shown beside.
            title: the heading.
            intro: a text under it; an empty line begins a paragraph.
        """
        place = Path(path)
        if place.suffix.lower() != ".html":
            raise ValueError(f"path must end in .html, got {str(path)!r}")
        try:
            from crest._audit.page import audit_page  # noqa: PLC0415
        except ImportError as missing:
            raise ImportError(f"to_html needs {missing.name}: pip install 'crest-readout[lab]'") from missing
        audits = {"as it is": self} if after is None else {"before": self, "after": after}
        with whole_file(place) as file:
            file.write(audit_page(audits, title=title, intro=intro).encode())
        return place

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; trajectories step by step are left out. NaN is None."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "traces"
        }
        result: dict[str, Any] = _plain(plain)
        return result


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
    # An option such as --class-names stays in one piece.
    return textwrap.wrap(
        words, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )
