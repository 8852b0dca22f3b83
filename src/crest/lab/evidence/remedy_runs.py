"""The runs of the remedies: which systems, encoders and remedies, and what each trained model left."""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from crest.exchange.result import Exchange
from crest.exchange.sensitivity import Interval, Sensitivity
from crest.exchange.settings import ExchangeSettings
from crest.lab.encoders import ENCODERS
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.settings import DEVELOPMENT_SEED, FIVE, HEADLINE_SYSTEMS, SIMULATED_ENCODERS, THREE
from crest.lab.remedies import run_fields
from crest.lab.runs.record import Record, Shares
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import Sizes
from crest.lab.training import SCHEDULES
from crest.remedies import CONTROL, REMEDIES

# Half of the training trajectories: some four hundred models must not take more than an evening.
# our choice: docs/evidence/choices.md#evidence
_SIZES = Sizes(train=512)
# As many updates from half of the trajectories. our choice: docs/evidence/choices.md#evidence
_TRANSFORMER = dataclasses.replace(SCHEDULES["attention"], batch=16)
_AS_MEASURED = ExchangeSettings()
PLAIN = "attention"
_MEASURED = {name: one for name, one in REMEDIES.items() if one.measured}
_TRAINED: dict[str, dict[str, Any]] = {
    PLAIN: {"readout": "scored_attention", **run_fields(CONTROL)},
    **{
        name: {"readout": "crest" if one.needs_pooling else "scored_attention", **run_fields(name)}
        for name, one in _MEASURED.items()
        if one.needs_fit
    },
}
(REANCHORED,) = (name for name, one in _MEASURED.items() if not one.needs_fit)
REMEDY_NAMES = (*_TRAINED, REANCHORED)
"""What is compared: MLP-scored attention as it is, the trivial remedies, those of this package. `re-anchored` is the
plain model after training."""
TRIVIAL = tuple(name for name, one in _MEASURED.items() if one.front)
"""Remedies of one line in front of the model: what others must beat."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RemedyPlace:
    """A system in some setting, and an encoder."""

    system: str
    encoder: str
    regime: str = "default"
    system_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: range = THREE
    words: str = ""
    """What is special about the setting."""
    attributed: bool = False
    """Whether the attributions of other packages are measured too."""

    @property
    def name(self) -> str:
        """In words."""
        setting = f" ({self.words})" if self.words else ""
        return f"{named(self.system)}{setting}, {ENCODER_NAMES[self.encoder]}"

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of all of its specs."""
        shared = ("system", "regime", "system_options", "encoder")
        schedule = {"attention": _TRANSFORMER}.get(self.encoder, SCHEDULES[self.encoder])
        return {**{name: getattr(self, name) for name in shared}, "sizes": _SIZES, "schedule": schedule}

    def trained(self, remedy: str) -> dict[str, Any]:
        """Fields of the specs of a remedy."""
        fields = {**self.fields, "objective": "mse", **_TRAINED[remedy]}
        return {**fields, "readout_options": self.crest_options() if fields["readout"] == "crest" else {}}

    def crest_options(self, **options: Any) -> dict[str, Any]:
        """Options of a CREST here: its constants count steps of the signals, whatever the encoder's stride."""
        stride = ENCODERS[self.encoder].stride
        return {**options, **({"stride": stride} if stride > 1 else {})}

    def runs(self) -> tuple[RunSpec, ...]:
        """Every remedy on every seed, seed by seed; re-anchoring is measured on the plain model."""
        return tuple(
            RunSpec(**self.trained(name), measures=self._measures(name, seed), seed=seed)
            for seed in self.seeds
            for name in _TRAINED
        )

    def _measures(self, remedy: str, seed: int) -> tuple[str, ...]:
        """What is measured; attributions of other packages take as long as a short training, so on one seed."""
        more = ("reanchor",) if remedy == PLAIN else ()
        return ("exchange", *more, *(("attribution",) if self.attributed and seed == self.seeds[0] else ()))


TEN_PLACES = tuple(
    RemedyPlace(
        system=system,
        encoder=encoder,
        seeds=FIVE if encoder in ("pointwise", "cnn") else THREE,
        attributed=True,
    )
    for system in HEADLINE_SYSTEMS
    for encoder in SIMULATED_ENCODERS
)
"""Both simulators with every encoder: five seeds if a run is cheap."""
DEVELOPMENT_PLACES = tuple(
    dataclasses.replace(place, seeds=range(DEVELOPMENT_SEED, DEVELOPMENT_SEED + 1), attributed=False)
    for place in TEN_PLACES
    if place.encoder != "attention"
)
"""The same on the development seed, but for the slowest encoder: limits and rules are set there."""
BEARING_PLACES = tuple(
    RemedyPlace(
        system="cwru", encoder=encoder, system_options={"standardized": True}, words="standardised windows"
    )
    for encoder in ("pointwise", "cnn")
)
"""Real bearings, each window standardised by itself."""
HARD_PLACES = (
    RemedyPlace(system="gear", encoder="pointwise", regime="diffuse_wear", words="diffuse wear"),
    RemedyPlace(system="gear", encoder="pointwise", regime="cue_on_event", words="cue on the event"),
    RemedyPlace(
        system="gear",
        encoder="pointwise",
        system_options={"load_spread": 0.3},
        words="load varies: the background is needed",
    ),
)
"""Where something that the remedies rest on is missing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOutcome:
    """What one trained model left: errors, and what its prediction follows."""

    id: float
    ood: float
    shares: Shares
    spectral: Shares | None = None
    """The same with spectra alone exchanged; None if that was not measured."""


RemedyModels: TypeAlias = Mapping[str, Mapping[int, ModelOutcome]]
"""The trained models of a place, by remedy and seed."""


def outcomes(found: Found, place: RemedyPlace) -> RemedyModels:
    """The outcomes in a place by remedy and seed: of the seeds that all remedies have so far, so that means compare."""
    every = each_outcome(found, place)
    shared = set.intersection(*(set(by_seed) for by_seed in every.values()))
    return {name: {seed: every[name][seed] for seed in sorted(shared)} for name in every} if shared else {}


def each_outcome(found: Found, place: RemedyPlace) -> RemedyModels:
    """All outcomes in a place by remedy and seed, as far as they are there."""
    records = {name: found.of(**place.trained(name)) for name in _TRAINED}
    return {
        name: {
            record.spec.seed: _outcome(record, name)
            for record in records[PLAIN if name == REANCHORED else name]
        }
        for name in REMEDY_NAMES
    }


def _outcome(record: Record, remedy: str) -> ModelOutcome:
    source = record.reanchored if remedy == REANCHORED else record
    if source is None or source.exchange is None:
        raise ValueError(f"record must have been measured by exchange, got {record.id}")
    return ModelOutcome(
        id=source.score.id, ood=source.score.ood, shares=source.exchange, spectral=source.spectral
    )


def by_spectra(models: RemedyModels) -> RemedyModels:
    """The models with the shares of exchanged spectra in the place of those of whole backgrounds, on the seeds that have them for all remedies."""
    shared = [seed for seed in models[PLAIN] if all(by[seed].spectral is not None for by in models.values())]
    if not shared:
        return {}
    return {name: {seed: seen_by_spectra(by[seed]) for seed in shared} for name, by in models.items()}


def by_nuisances(models: RemedyModels) -> RemedyModels:
    """The same on the seeds that were measured with nuisances exchanged, as the rule judges; on all that have spectra if none was."""
    seen = by_spectra(models)
    newer = [
        seed
        for seed in next(iter(seen.values()), {})
        if all(by[seed].shares.together for by in seen.values())
    ]
    return {name: {seed: by[seed] for seed in newer} for name, by in seen.items()} if newer else seen


def seen_by_spectra(one: ModelOutcome) -> ModelOutcome:
    """One model in this way."""
    if one.spectral is None:
        raise ValueError("one must have been measured with exchanged spectra, got None")
    return dataclasses.replace(one, shares=one.spectral)


def mean_of(by_seed: Mapping[int, ModelOutcome]) -> ModelOutcome:
    """The mean over seeds."""
    values = by_seed.values()
    shares = [one.shares for one in values]
    return ModelOutcome(
        id=statistics.fmean(one.id for one in values),
        ood=statistics.fmean(one.ood for one in values),
        shares=Shares(
            transient=statistics.fmean(one.transient for one in shares),
            background=statistics.fmean(one.background for one in shares),
            interaction=statistics.fmean(one.interaction for one in shares),
            background_alone=statistics.fmean(one.background_alone for one in shares),
            moved=_mean_known(one.moved for one in shares),
            exchanged_error=_mean_known(one.exchanged_error for one in shares),
            transient_interval=_mean_interval([one.transient_interval for one in shares]),
            together=mean_sensitivity([one.together for one in shares]),
        ),
    )


def as_exchange(shares: Shares, constant_error: float = 1.0) -> Exchange:
    """The shares in the form of the exchange test; what has no interval, such as a mean over seeds, is its own.

    Args:
        shares: of spectra.
        constant_error: of a constant prediction. Errors of the catalog are in standard deviations of the label, so it is 1.
    """
    nothing = shares.transient == shares.background == shares.interaction == 0
    return Exchange(
        transient=math.nan if nothing else shares.transient,
        background=math.nan if nothing else shares.background,
        interaction=math.nan if nothing else shares.interaction,
        transient_interval=shares.transient_interval or (shares.transient, shares.transient),
        background_interval=shares.background_interval or (shares.background, shares.background),
        interaction_interval=(shares.interaction, shares.interaction),
        background_alone=shares.background_alone,
        kind=_AS_MEASURED.kind,
        what=_AS_MEASURED.what,
        trajectories=_AS_MEASURED.trajectories,
        exchanged_error=shares.exchanged_error,
        constant_error=constant_error,
        moved=math.nan if shares.moved is None else shares.moved,
        moved_interval=shares.moved_interval or (math.nan, math.nan),
        nuisances=shares.nuisances,
        together=shares.together,
        invariant=() if shares.together is None else _AS_MEASURED.invariant,
    )


def mean_sensitivity(rows: Sequence[Sensitivity | None]) -> Sensitivity | None:
    """The mean over seeds; None if one was not measured."""
    known = [one for one in rows if one is not None]
    if not known or len(known) < len(rows):
        return None
    interval = _mean_interval([one.moved_interval for one in known])
    return Sensitivity(
        moved=statistics.fmean(one.moved for one in known),
        moved_interval=interval or (math.nan, math.nan),
        error=_mean_known(one.error for one in known),
    )


def _mean_interval(intervals: Sequence[Interval | None]) -> Interval | None:
    """The mean of both ends, as the interval of one model; None if one is not known."""
    known = [one for one in intervals if one is not None]
    if len(known) < len(intervals):
        return None
    low, high = zip(*known, strict=True)
    return statistics.fmean(low), statistics.fmean(high)


def _mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None if a value is not known."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return statistics.fmean(numbers) if len(numbers) == len(known) else None


def seed_by_seed(places: Iterable[RemedyPlace]) -> tuple[RunSpec, ...]:
    """The runs of some places, the first seed of all before the second of any: half of them is a smaller experiment."""
    runs = [spec for place in places for spec in place.runs()]
    return tuple(sorted(runs, key=lambda spec: spec.seed))
