"""Record: what a finished run left, as plain numbers in one JSON."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from crest._base.arguments import require, require_fields
from crest.exchange.sensitivity import Interval, Sensitivity
from crest.lab.evaluation import Budget, Score
from crest.lab.runs.schema import restored
from crest.lab.runs.spec import RunSpec
from crest.probes import CreditMeans, DeletionCurve, Traces

FORMER_FIELDS = ("id_errors", "kept_epoch")
"""What records had while the epoch kept could be chosen. Every published run kept its last."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Look:
    """Errors and credit (ID) after some epochs, from the observer."""

    epoch: int
    score: Score
    credit: CreditMeans | None

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 0 or more", "epoch")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of the prediction's variance that follow the transient's donor, the background's, and neither alone.

    They add up to one; all are zero if the prediction does not vary.
    """

    transient: float
    background: float
    interaction: float
    background_alone: float
    """R² between the predictions and those on the background alone."""
    moved: float | None = None
    """How far the predictions move on exchanged backgrounds, in their standard deviations; None in records from before it was
    measured, and if the predictions do not vary."""
    exchanged_error: float | None = None
    """The error on exchanged backgrounds; None in records from before it was measured."""
    transient_interval: Interval | None = None
    """95 % interval of the transient's share by a bootstrap over trajectories; None as for `moved`."""
    background_interval: Interval | None = None
    """The same for the background's share."""
    moved_interval: Interval | None = None
    """The same for how far the predictions move."""
    nuisances: Mapping[str, Sensitivity] = dataclasses.field(default_factory=dict)
    """What the exchange of each nuisance does to the predictions; none in records from before it was measured."""
    together: Sensitivity | None = None
    """The same for offset, drift and tones at once; None as for the nuisances."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReanchoredScore:
    """A trained model after `crest.reanchor`."""

    score: Score
    exchange: Shares
    budget: str
    """The budget that leave-one-out chose."""
    leave_one_out: float
    """Its leave-one-out error on the training set."""
    spectral: Shares | None = None
    """The same as `exchange` with spectra alone exchanged; None in records from before it was measured."""
    conditions: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    """As `Record.conditions`."""
    worst: float | None = None
    """As `Record.worst`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RepairCandidate:
    """One model of a repair: its errors on ID and OOD data, and those by which it may be judged without an OOD label."""

    id: float
    ood: float
    expected: float
    """With the declared nuisances exchanged."""
    even: float | None = None
    """Averaged evenly over target x condition; None if candidates were not judged by it."""
    seconds: float = 0.0
    """What it took to make and measure it."""

    def __post_init__(self) -> None:
        require_fields(self, "be 0 or more", "seconds")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RepairScore:
    """A trained model after `crest.repair`, with gain, colour and rate declared too."""

    pick: str
    """What it picks if conditions are known."""
    without: str | None
    """What the rule picks of those that need no conditions, by the exchange; None if it cannot tell."""
    candidates: Mapping[str, RepairCandidate]
    """The models by name, the one that was given first."""
    verdict: str
    """What `crest.audit` says of the given model with conditions known."""
    verdict_without: str
    """What it says without."""
    breaking: int
    """How many ID trajectories break the tie of target and condition."""
    verdict_after: str = ""
    """What the audit says of the pick, asked as for `verdict`; empty in records from before it was asked."""
    worst: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The largest OOD error over target x condition, of the given model and of the pick."""

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 0 or more", "breaking")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attribution:
    """Credit (ID) with the attribution of another package as the score of each step."""

    credit: CreditMeans
    seconds: float
    """What the attribution took."""
    trajectories: int
    """For how many it was made."""

    def __post_init__(self) -> None:
        require_fields(self, "be 0 or more", "seconds")
        require_fields(self, "be a whole number, 0 or more", "trajectories")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """A finished run: its spec, what was measured, and what it took.

    A field that is added later has a default, which says what a record from before it means: docs/lab/runs.md#one-run.

    Args:
        id: the spec's when it was run: the name of the file.
        spec: what was run.
        resolved: every parameter that the spec stood for, defaults written out.
        score: root mean square errors, in and out of distribution; shares of wrong classes if the labels are classes.
        credit: credit per split ("id", "ood"); empty if the events are not known.
        budget: CREST's budget per split; empty for other readouts.
        losses: training loss of each epoch.
        looks: errors and credit during training, if the spec asks for them.
        deletion: what deleting steps does to the ID error, if the spec asks for it, by what chose them: "credit"
            at the pooling interface, "random", the true "events", and "rated", the readout's own rating
            (attention's weights, CREST's votes) if it has one.
        saliency: credit (ID) that the input gradient gives instead of the pooling interface, if the spec asks for it.
        traces: some trajectories step by step, if the spec asks for them.
        exchange: what the prediction follows when backgrounds are exchanged (ID), if the spec asks for it.
        spectral: the same with spectra alone exchanged; None also in records from before it was measured.
        reanchored: the same encoder with CREST and a head fitted again, if the spec asks for it.
        repaired: what `crest.repair` makes of the model, if the spec asks for it.
        attributions: what other packages show, if the spec asks for it: "integrated_gradients" (captum) and "wintsr"
            (tslens).
        rating: credit (ID) with the readout's own rating as the score of each step (CREST's votes, attention's weights), if the spec
            asks for it and events are known.
        worst: the largest OOD error over target x condition, if conditions are known; None also in records from before it was
            measured.
        conditions: the error under each condition by split ("id", "ood"), of your own recordings with a condition column; empty also
            in records from before it was measured.
        macro_f1: macro-F1 per split ("id", "ood"); empty if the labels are numbers.
        seconds: time of each part, in seconds.
        peak_memory: of the process, in MiB, when the run ended.
        versions: of Python and the packages that decide the numbers.
        commit: of the source tree; None outside of one.
    """

    id: str
    spec: RunSpec
    resolved: Mapping[str, Any]
    score: Score
    credit: Mapping[str, CreditMeans]
    budget: Mapping[str, Budget]
    losses: list[float]
    looks: list[Look]
    deletion: Mapping[str, DeletionCurve]
    saliency: CreditMeans | None
    traces: Traces | None
    seconds: Mapping[str, float]
    peak_memory: float
    versions: Mapping[str, str]
    commit: str | None
    exchange: Shares | None = None
    reanchored: ReanchoredScore | None = None
    attributions: Mapping[str, Attribution] = dataclasses.field(default_factory=dict)
    macro_f1: Mapping[str, float] = dataclasses.field(default_factory=dict)
    spectral: Shares | None = None
    repaired: RepairScore | None = None
    rating: CreditMeans | None = None
    worst: float | None = None
    conditions: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        require_fields(self, "be 0 or more", "peak_memory")
        for part, seconds in self.seconds.items():
            require(f"seconds.{part}", seconds, "be 0 or more")

    @property
    def stale(self) -> bool:
        """Whether the spec stands for other parameters by now: a new run of it would be another one."""
        return self.id != self.spec.id

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. A trace without a name has none, so that records from before there were names stay as they are."""
        found = dataclasses.asdict(self)
        for row in found["traces"]["rows"] if found["traces"] else ():
            if not row["name"]:
                del row["name"]
        return found

    def to_json(self) -> str:
        """The record as text, a line per field; NaN and infinity are refused."""
        lines = (
            f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
            for key, value in self.to_dict().items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Record":
        """The record that `to_dict` wrote. Its id is not compared: the constants may have changed since.

        Raises:
            ValueError: A field is missing or unknown, or is not what its annotation says.
        """
        known = {name: value for name, value in fields.items() if name not in FORMER_FIELDS}
        record: Record = restored(cls, known)
        return record
