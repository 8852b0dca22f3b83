"""What the exchange test found: shares of a prediction, and how far it moves."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from torch import Tensor

from crest._base.fragment import FindingMark, IntervalBar, bars, finding
from crest.exchange.sensitivity import Interval, Sensitivity

AuditVerdict: TypeAlias = Literal["events", "background", "unclear"]
"""What the prediction of a model follows."""
VERDICT_MARKS: dict[AuditVerdict, FindingMark] = {"events": "good", "unclear": "doubt", "background": "bad"}
"""How a verdict is coloured."""

# our choice: docs/evidence/choices.md#audit
FOLLOWS = 0.8
MOSTLY = 0.5
MOVES = 0.4
"""From here on declared nuisances move a prediction; in standard deviations of the predictions. Our choice: docs/evidence/choices.md#sensitivity"""
FELT = 0.2
"""From here on a nuisance is named among those that move a prediction. Our choice: docs/evidence/choices.md#sensitivity"""

# our choice: docs/evidence/choices.md#learnt
LEARNT = 0.8
# From here on it errs more than a constant prediction does by chance. our choice: docs/evidence/choices.md#learnt
_WORSE = 1.1


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionPairs:
    """The prediction for each trajectory on its own signal, and on that signal with what was declared taken from another one."""

    rows: Tensor
    """(N,), the place of each trajectory among the inputs."""
    own: Tensor
    """(N,), (N, 1) or (N, K), on the signals as they are."""
    exchanged: Tensor
    """The same on the exchanged signals."""
    targets: Tensor | None
    """(N,) or (N, L); None without targets."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Exchange:
    """Shares of a prediction's variance when transients and backgrounds are exchanged; they add up to one.

    A prediction that does not vary has no shares: `varies` is False, and the shares and intervals are NaN.

    Example:
        >>> nothing = (0.0, 0.0)
        >>> Exchange(transient=1.0, background=0.0, interaction=0.0, transient_interval=(1.0, 1.0),
        ...          background_interval=nothing, interaction_interval=nothing, background_alone=0.0, kind="core",
        ...          trajectories=128)
        Exchange of 128 trajectories, background: core
                       share   95 % interval
          transient    1.000   1.000 to 1.000
          background   0.000   0.000 to 0.000
          interaction  0.000   0.000 to 0.000
          R² between the predictions and those on the background alone: 0.000
    """

    transient: float
    """Share that follows the trajectory which gave the transient."""
    background: float
    """Share that follows the trajectory which gave the background."""
    interaction: float
    """Share that follows neither alone."""
    transient_interval: Interval
    """95 % of the bootstrap, over trajectories."""
    background_interval: Interval
    """The same for the background."""
    interaction_interval: Interval
    """The same for the interaction."""
    background_alone: float
    """Squared correlation between the predictions and those on the background alone; 0 if either does not vary."""
    kind: str
    """The kind of background, as `crest.background.split` names it."""
    trajectories: int
    """How many trajectories were exchanged."""
    moved: float = math.nan
    """How far the predictions move when the background is another's: root mean square, in standard deviations of the predictions
    on the signals as they are; NaN if those do not vary. Shares say what moves a prediction, this says how much."""
    moved_interval: Interval = (math.nan, math.nan)
    """The same interval for it."""
    what: str = "background"
    """What of a background was exchanged: all of it, or its spectrum."""
    constant_error: float | None = None
    """Error of the best prediction that is the same for all, the mean target or the most frequent class; None without targets."""
    nuisances: Mapping[str, Sensitivity] = field(default_factory=dict)
    """What the exchange of each nuisance that the signals have does to the predictions, by name."""
    together: Sensitivity | None = None
    """The same for the declared ones at once; None if that was not measured."""
    invariant: tuple[str, ...] = ()
    """The declared ones: what the prediction must not depend on."""
    exchanged_error: float | None = None
    """Error of the predictions on backgrounds of others against the target of the transient's trajectory; None without
    targets."""
    predictions: PredictionPairs | None = field(default=None, compare=False)
    """Predictions for single trajectories, for pages; None if nothing was declared, or if the result was read from a file."""

    @property
    def varies(self) -> bool:
        """Whether the prediction varied at all."""
        return not math.isnan(self.transient)

    @property
    def verdict(self) -> AuditVerdict:
        """What the prediction follows: the one reading of the test, for audit, watch and the rule.

        Events: the declared nuisances, exchanged together, move the prediction by less than `MOVES` standard deviations.
        Background: they move it by more. If the limit lies in the interval, the share of the transient decides: events from 0.8
        on, background below. It cannot speak for the background if the colour, which is exchanged with the surroundings too, was not
        declared and moves the prediction. What is left is unclear, as are predictions that do not vary.
        """
        return self.verdict_at(MOVES)

    def verdict_at(self, limit: float) -> AuditVerdict:
        """The verdict with another limit than `MOVES`: `crest report calibration` shows what the limit was set by."""
        if not self.varies:
            return "unclear"
        if self.together is None:
            return self._verdict_by_share
        if math.isnan(self.together.moved):
            return "unclear"
        low, high = self.together.moved_interval
        if high < limit or low >= limit:
            return "events" if high < limit else "background"
        colour = self.nuisances.get("colour")
        coloured = colour is not None and "colour" not in self.invariant and colour.moved >= FELT
        said = self._verdict_by_share
        return "unclear" if said == "background" and coloured else said

    @property
    def _verdict_by_share(self) -> AuditVerdict:
        """What the two-way test says: all that decides if nuisances were not measured."""
        low, high = self.transient_interval
        if low >= FOLLOWS:
            return "events"
        # Mostly both together, such as a load that scales the event: that may be right to read.
        return "background" if high < FOLLOWS and self.interaction <= MOSTLY else "unclear"

    @property
    def expected_error(self) -> float | None:
        """The error to expect once the declared nuisances no longer follow the target; None without targets.

        It is the error with these exchanged between trajectories. If nuisances were not measured, that on backgrounds of
        others.
        """
        return self.exchanged_error if self.together is None else self.together.error

    @property
    def absent(self) -> tuple[str, ...]:
        """The declared nuisances that the signals do not have, such as tones: nothing could be exchanged."""
        return tuple(name for name in self.invariant if self.nuisances and name not in self.nuisances)

    def movers(self, declared: bool = True) -> tuple[str, ...]:
        """Names of the declared nuisances, or of the others, that alone move the prediction, the strongest first.

        Example:
            >>> strong = Sensitivity(moved=0.9, moved_interval=(0.8, 1.0))
            >>> both = (0.5, 0.5)
            >>> found = Exchange(transient=0.5, background=0.5, interaction=0.0, transient_interval=both,
            ...                  background_interval=both, interaction_interval=both, background_alone=0.0, kind="core",
            ...                  trajectories=64, nuisances={"offset": strong, "gain": strong}, invariant=("offset",))
            >>> found.movers(), found.movers(declared=False)
            (('offset',), ('gain',))
        """
        some = [
            name
            for name, one in self.nuisances.items()
            if (name in self.invariant) == declared and one.moved >= FELT
        ]
        return tuple(sorted(some, key=lambda name: -self.nuisances[name].moved))

    def learnt(self, error: float) -> bool:
        """Whether a model with this error on data as in training has learnt its task: a fifth below a constant prediction."""
        return self.constant_error is None or error <= LEARNT * self.constant_error

    def train_first(self, error: float | None) -> tuple[str, ...]:
        """The advice to train a model that has hardly learnt its task; none if it has, or if that is not known."""
        known = [math.nan if one is None else one for one in (error, self.constant_error)]
        if error is None or not all(map(math.isfinite, known)) or self.learnt(error):
            return ()
        if error > _WORSE * known[1]:
            return (
                f"Its error is {error:.3g}, above that of a constant prediction, {known[1]:.3g}. Are its weights loaded, its classes in the order "
                "of its outputs, and the data like those that it was trained on?",
            )
        return (
            f"Train the model for longer first: it has hardly learnt its task. Its error is {error:.3g}, that of a constant prediction "
            f"{known[1]:.3g}. Until its error is far below, the audit cannot tell where it reads.",
        )

    def __repr__(self) -> str:
        what = ", spectra alone" if self.what == "spectrum" else ""
        head = f"Exchange of {self.trajectories} trajectories, background: {self.kind}{what}"
        if not self.varies:
            return f"{head}; the prediction does not vary, so it follows nothing (NaN)"
        rows = [head, f"{'':<13}{'share':>7}   95 % interval"]
        for name in ("transient", "background", "interaction"):
            low, high = getattr(self, f"{name}_interval")
            rows.append(f"  {name:<11}{getattr(self, name):>7.3f}   {low:.3f} to {high:.3f}")
        rows.append(
            f"  R² between the predictions and those on the background alone: {self.background_alone:.3f}"
        )
        if not math.isnan(self.moved):
            low, high = self.moved_interval
            rows.append(
                f"  on backgrounds of others the predictions move by {self.moved:.3f} ({low:.3f} to {high:.3f}) standard deviations"
            )
        rows += sensitivity_lines(self)
        if self.exchanged_error is not None:
            constant = (
                ""
                if self.constant_error is None
                else f"; of a constant prediction: {self.constant_error:.3g}"
            )
            rows.append(f"  error on backgrounds of others: {self.exchanged_error:.3g}{constant}")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        if not self.varies:
            return finding(repr(self), "doubt")
        shares = [
            IntervalBar(name, share, low, high, strong=name == "transient")
            for name, share, (low, high) in (
                ("transient", self.transient, self.transient_interval),
                ("background", self.background, self.background_interval),
                ("interaction", self.interaction, self.interaction_interval),
            )
        ]
        return finding(
            f"Exchange of {self.trajectories} trajectories: {self.verdict}",
            VERDICT_MARKS[self.verdict],
            parts=[sensitivity_bars(self), bars("shares of the predictions' variance", shares)],
        )


def exchange_numbers(exchange: Exchange) -> dict[str, Any]:
    """All its numbers by name, for JSON; predictions for single trajectories are left out."""
    found = asdict(replace(exchange, predictions=None))
    del found["predictions"]
    return found


def sensitivity_bars(exchange: Exchange) -> str:
    """The nuisances as a chart: how far each moves the predictions; declared ones in colour, with a star."""
    rows = [
        IntervalBar(name, one.moved, *one.moved_interval, strong=name.endswith("*"))
        for name, one in _sensitivity_rows(exchange).items()
    ]
    title = "exchanged between trajectories, each moves the predictions by (standard deviations; * declared)"
    return bars(title, rows, limit=MOVES)


def _sensitivity_rows(exchange: Exchange) -> dict[str, Sensitivity]:
    """The nuisances and all declared ones together, by name; declared ones with a star."""
    return {
        **{
            f"{name} *" if name in exchange.invariant else name: one
            for name, one in exchange.nuisances.items()
        },
        **({"all *": exchange.together} if exchange.together is not None and exchange.invariant else {}),
    }


def sensitivity_lines(exchange: Exchange) -> list[str]:
    """The nuisances as a table: how far each moves the predictions, and the error then; declared ones with a star."""
    cells = sensitivity_cells(exchange)
    if not cells:
        return []
    lines = [f"  {'exchanged':<12}{'moves by':>9}   95 % interval{'error':>11}"]
    lines += [f"  {name:<12}{moved:>9}   {interval}{error:>11}" for name, moved, interval, error in cells]
    return [*lines, "  * declared: the prediction must not depend on it"]


def sensitivity_cells(exchange: Exchange) -> list[tuple[str, str, str, str]]:
    """The same as text: name, how far it moves the predictions, the interval of that, and the error then."""
    return [
        (
            name,
            f"{one.moved:.2f}",
            f"{one.moved_interval[0]:.2f} to {one.moved_interval[1]:.2f}",
            "" if one.error is None else f"{one.error:.3g}",
        )
        for name, one in _sensitivity_rows(exchange).items()
    ]
