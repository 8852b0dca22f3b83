"""RunSpec: everything that determines a training run, as a frozen value with a name of its own."""

import collections
import dataclasses
import functools
import inspect
import json
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from crest._base.arguments import require_choice, require_fields, require_known
from crest._base.doors import door_leaving
from crest.lab.ablations import LAB_READOUTS
from crest.lab.encoders import ENCODERS, OWN_ENCODERS
from crest.lab.model import Model, Standardize, make_model
from crest.lab.objectives import OBJECTIVES
from crest.lab.remedies import RUN_FRONTS, RUN_REMEDIES, make_remedy
from crest.lab.runs.combination import (
    asks_for_signals,
    built_options,
    check_combination,
    crest_constants,
    share_of_signals,
)
from crest.lab.runs.naming import FORMER, digest, naming, plain_copy
from crest.lab.systems import RECORDED, Sizes, make_system
from crest.lab.training import OWN_SCHEDULE, SCHEDULES, Schedule
from crest.readouts import REFERENCES, CrestConfig, signal_budget
from crest.recordings import Trajectories

FORMAT = 1
"""Raised when the same spec would give other numbers; old records are then made again."""

Options = Mapping[str, Any]

MEASURES = ("attribution", "deletion", "exchange", "rating", "reanchor", "repair", "saliency", "traces")
"""What a run measures on request beside errors, credit and budget."""

_PARTS: dict[str, Mapping[str, Any]] = {
    "encoder": collections.ChainMap(OWN_ENCODERS, ENCODERS),
    "readout": LAB_READOUTS,
    "objective": OBJECTIVES,
    "remedy": RUN_REMEDIES,
    "front": RUN_FRONTS,
}


@door_leaving("seed", "observe_every")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RunSpec:
    """One training run.

    The id names everything that determines the numbers, defaults included (the simulator's parameters,
    CREST's constants, the encoder's sizes, the schedule), so a record is found again only while all of them
    are the same. What was added to the package later is left out at its neutral value (`crest.lab.runs.naming`).

    Args:
        system: gear, impact, cwru, hitsm, mitbih, sisfall, or your own recordings.
        regime: a named setting of the system.
        system_options: further changes of its parameters.
        encoder: a key of `ENCODERS`, or own.
        encoder_options: the encoder's own keyword arguments.
        readout: a key of `LAB_READOUTS`.
        readout_options: the readout's own keyword arguments; CREST's `config` is a mapping of its changes, and its budget may
            be "signals": what `crest.signal_budget` finds on the training signals as the encoder gets them; or "half signals".
        objective: a key of `OBJECTIVES`.
        objective_options: the objective's own keyword arguments.
        remedy: what helps beside the readout, a key of `RUN_REMEDIES`.
        remedy_options: the remedy's own keyword arguments.
        front: what stands in front of the model beside a remedy that changes batches, a key of `RUN_FRONTS`. A front alone is the
            remedy, so that one run has one name.
        front_options: the front's own keyword arguments.
        seed: of data, initial weights and batch order. 0 to 9 are reported, 1000 and up are for development.
        sizes: trajectories per split.
        schedule: by default the encoder's.
        observe_every: epochs between looks at errors and credit during training; 0 for none.
        measures: what else is measured, of `MEASURES`: the harm of deleting steps, what the prediction follows when
            backgrounds are exchanged, how well the readout's own rating of steps finds the events, the same model re-anchored, what a repair makes of it, where the input gradient is and where the attributions
            of other packages are, some trajectories step by step.

    Example:
        >>> spec = RunSpec(system="gear", readout="crest", seed=1000)
        >>> spec.id.rpartition("-")[0], spec == RunSpec.from_dict(spec.to_dict())
        ('gear-pointwise-crest-s1000', True)
    """

    system: str
    regime: str = "default"
    system_options: Options = dataclasses.field(default_factory=dict)
    encoder: str = "pointwise"
    encoder_options: Options = dataclasses.field(default_factory=dict)
    readout: str
    readout_options: Options = dataclasses.field(default_factory=dict)
    objective: str = "mse"
    objective_options: Options = dataclasses.field(default_factory=dict)
    remedy: str = "none"
    remedy_options: Options = dataclasses.field(default_factory=dict)
    front: str = "none"
    front_options: Options = dataclasses.field(default_factory=dict)
    seed: int
    sizes: Sizes = dataclasses.field(default_factory=Sizes)
    schedule: Schedule | None = None
    observe_every: int = 0
    measures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part, registry in _PARTS.items():
            require_choice(part, getattr(self, part), registry)
        for measure in self.measures:
            require_choice("measures", measure, MEASURES)
        object.__setattr__(self, "measures", tuple(sorted(set(self.measures))))
        if self.readout in REFERENCES and {"attribution", "exchange", "reanchor", "repair"} & set(
            self.measures
        ):
            raise ValueError(
                f"measures must be without attribution, exchange, reanchor and repair for {self.readout}, which sees the events: "
                "those of a changed signal are not known"
            )
        if "repair" in self.measures and not (
            self.system in RECORDED or self.system_options.get("condition")
        ):
            raise ValueError(
                f"measures must be without repair for {self.system}, whose trajectories have no operating condition"
            )
        if self.front != "none" and self.remedy in RUN_FRONTS:
            raise ValueError(
                f"front must come with a remedy that changes batches, got {self.front} with the remedy {self.remedy}: give a front "
                "alone as remedy"
            )
        require_fields(self, "be a whole number, 0 or more", "seed", "observe_every")
        # Written out, so that a record says what was done even when the encoder's schedule changes.
        object.__setattr__(self, "schedule", self.training)
        for name in (f"{part}_options" for part in ("system", *_PARTS)):
            object.__setattr__(self, name, plain_copy(name, getattr(self, name)))
        # NumPy's numbers are numbers to `require`, but a record could not be written with them.
        plain_copy("fields", self.to_dict())
        try:
            system = make_system(self.system, self.regime, **self.system_options)
        except ValueError as error:
            raise ValueError(f"regime and system_options must be those of {self.system}: {error}") from error
        if getattr(system, "content", None) == "":
            raise ValueError(
                "content must name what the recordings hold, as RecordingsSystem(...).digest() does, got ''"
            )
        for part in _PARTS:
            self._defaults(part)
        # A combination that cannot be trained is refused here, not hours later on a worker.
        parts = {part: (getattr(self, part), getattr(self, f"{part}_options")) for part in _PARTS}
        # A system that learns from files what its labels are does not know it yet: training refuses then.
        classes = getattr(system, "classes", None)
        outputs = len(classes) or 1 if isinstance(classes, list | tuple) else None
        check_combination(json.dumps({**parts, "outputs": outputs}, sort_keys=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunSpec) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def _defaults(self, part: str) -> dict[str, Any]:
        """Every keyword argument of an encoder, readout or objective: as given, else its default."""
        name, options = getattr(self, part), getattr(self, f"{part}_options")
        known = _options_of(_PARTS[part][name])
        require_known(f"{part} {name}", "option", options, known)
        merged = {key: _like(default, options.get(key, default)) for key, default in known.items()}
        if self._without_run_up(part):
            merged["run_up"] = 0
        if "config" in merged:
            merged["config"] = dataclasses.asdict(crest_constants(merged["config"]))
        return merged

    def _without_run_up(self, part: str = "readout") -> bool:
        """Whether CREST need not look for a run-up: the options do not ask for it, and a step sees no other."""
        crest = part == "readout" and self.readout == "crest" and "run_up" not in self.readout_options
        return crest and bool(_PARTS["encoder"][self.encoder].per_step)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        # JSON has no tuples.
        return {**dataclasses.asdict(self), "measures": list(self.measures)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "RunSpec":
        """The spec that `to_dict` wrote."""
        if not isinstance(fields, Mapping):
            raise ValueError(f"fields must be a mapping of the spec's fields, got {type(fields).__name__}")
        for name in ("sizes", "schedule"):
            if not isinstance(fields.get(name, {}), Mapping | None):
                raise ValueError(f"{name} must be a mapping of its fields, got {fields[name]!r}")
        former = FORMER["RunSpec"]
        fields = {name: value for name, value in fields.items() if former.get(name, ...) != value}
        schedule = fields.get("schedule")
        if not isinstance(fields.get("measures", ()), list | tuple):
            raise ValueError(f"measures must be a list of names, got {fields['measures']!r:.80}")
        for owner, kind, given in (
            ("spec", cls, fields),
            ("sizes", Sizes, fields.get("sizes")),
            ("schedule", Schedule, schedule),
        ):
            if given is not None:
                _require_whole(owner, kind, given)
        parts = {
            **({"sizes": Sizes(**fields["sizes"])} if "sizes" in fields else {}),
            **({"schedule": Schedule(**schedule)} if schedule is not None else {}),
            **({"measures": tuple(fields["measures"])} if "measures" in fields else {}),
        }
        return cls(**{**fields, **parts})

    def model_for(self, training: Trajectories) -> Model:
        """The untrained model for these training data."""
        channels, budget, front = training.x.shape[2], None, self._front()
        calibrate = getattr(front, "calibrate", None)
        if calibrate is not None or asks_for_signals(self.readout_options):
            signals = torch.as_tensor(training.x, dtype=torch.float32)
            signals = Standardize(channels).fit(signals)(signals)
            if calibrate is not None:
                calibrate(signals)
            if asks_for_signals(self.readout_options):
                config = crest_constants(self.readout_options.get("config"))
                share = share_of_signals(self.readout_options)
                budget = share * signal_budget(front(signals), config=config)
        model = self.model(channels, len(training.classes) or 1, budget=budget)
        if calibrate is not None:
            model.front = front
        return model

    def model(self, channels: int, outputs: int = 1, *, budget: float | None = None) -> Model:
        """The untrained model.

        Args:
            channels: of the signals.
            outputs: 1 for labels that are numbers, or as many as there are classes.
            budget: what came of the training signals, if CREST is to have their budget or half of it.
        """
        return make_model(
            self.encoder,
            self.readout,
            channels=channels,
            seed=self.seed,
            encoder_options=dict(self.encoder_options),
            readout_options={
                **built_options(self.readout_options, budget),
                **({"run_up": 0} if self._without_run_up() else {}),
            },
            front=self._front(),
            outputs=outputs,
        )

    def _front(self) -> nn.Module:
        """What stands before the encoder."""
        alone = self.front == "none"
        name, options = (self.remedy, self.remedy_options) if alone else (self.front, self.front_options)
        front = make_remedy(name, **options).front
        return nn.Identity() if front is None else front()

    @property
    def training(self) -> Schedule:
        """The schedule: as given, else the encoder's."""
        return self.schedule or SCHEDULES.get(self.encoder, OWN_SCHEDULE)

    @property
    def has_ood(self) -> bool:
        """Whether its OOD split is one: recordings of which none is held out have their ID split again in its place."""
        return self.system != "recordings" or bool(self.system_options.get("ood"))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of its labels, and its errors are then error rates; none if labels are numbers."""
        found = getattr(make_system(self.system, self.regime, **self.system_options), "classes", ())
        # Of recordings, True, False and None say how to find the names.
        return tuple(found) if isinstance(found, list | tuple) else ()

    def resolved(self) -> dict[str, Any]:
        """Every parameter of system, encoder, readout and objective, defaults written out, as JSON has them."""
        system = dataclasses.asdict(make_system(self.system, self.regime, **self.system_options))
        # Where the files lie does not change what is in them.
        system.pop("folder", None)
        # A front beside a remedy came later: without one, records are as they were.
        parts = [part for part in _PARTS if part != "front" or self.front != "none"]
        return plain_copy("resolved", {"system": system, **{part: self._defaults(part) for part in parts}})

    @functools.cached_property
    def _named(self) -> dict[str, dict[str, Any]]:
        """What of `resolved` takes part in names."""
        system = make_system(self.system, self.regime, **self.system_options)
        resolved = self.resolved()
        named = {"system": naming(type(system), resolved["system"])}
        for part in [one for one in _PARTS if one in resolved]:
            registry = _PARTS[part]
            named[part] = naming(registry[getattr(self, part)], resolved[part])
            if "config" in named[part]:
                named[part]["config"] = naming(CrestConfig, named[part]["config"])
        # What came later is left out at its neutral value, as every parameter is.
        if self.remedy == "none":
            del named["remedy"]
        return named

    @property
    def data_key(self) -> str:
        """Names what determines the data: runs that share it share their trajectories."""
        parts = {
            "format": FORMAT,
            "system": self.system,
            "parameters": self._named["system"],
            "seed": self.seed,
            "sizes": naming(Sizes, dataclasses.asdict(self.sizes)),
        }
        return f"{self.system}-s{self.seed}-{digest(parts)}"

    @functools.cached_property
    def _canonical(self) -> dict[str, Any]:
        fields = {key: value for key, value in self.to_dict().items() if not key.endswith("_options")}
        fields = naming(RunSpec, fields)
        fields["sizes"] = naming(Sizes, fields["sizes"])
        fields["schedule"] = naming(Schedule, fields["schedule"])
        return {"format": FORMAT, **fields, "resolved": self._named}

    @functools.cached_property
    def setting(self) -> str:
        """Names everything but the seed (and what else is looked at): its runs differ by chance alone."""
        apart = ("seed", "observe_every", "measures")
        return digest({key: value for key, value in self._canonical.items() if key not in apart})

    @functools.cached_property
    def id(self) -> str:
        """Readable stem and hash of the canonical form: the name of the run's record."""
        stem = [
            self.system, self.regime, self.encoder, self.readout, self.objective, self.front, self.remedy, f"s{self.seed}"
        ]  # fmt: skip
        words = [word for word in stem if word not in ("default", "mse", "none")]
        return "-".join([*words, digest(self._canonical)])


# A report asks some ten thousand times, about a few dozen makers.
@functools.lru_cache(maxsize=256)
def _options_of(maker: Callable[..., Any]) -> Mapping[str, Any]:
    """The options of what makes a part, with their defaults."""
    # The channels come from the data and the width from the encoder; a run has one layout, and seeds what it draws.
    return types.MappingProxyType(
        {
            key: value.default
            for key, value in inspect.signature(maker).parameters.items()
            if value.default is not inspect.Parameter.empty and key not in ("channels_first", "generator")
        }
    )


def _require_whole(owner: str, kind: type[Any], given: Mapping[str, Any]) -> None:
    """Raise a ValueError if a mapping lacks a field of this dataclass that has no default, or has another one."""
    fields = dataclasses.fields(kind)
    require_known(owner, "field", given, [field.name for field in fields])
    missing = [
        field.name
        for field in fields
        if field.default is field.default_factory is dataclasses.MISSING and field.name not in given
    ]
    if missing:
        raise ValueError(
            f"{owner} must have every field without a default, got none for {', '.join(missing)}"
        )


def _like(default: Any, value: Any) -> Any:
    """A whole number where a fraction is the default is that fraction: 1 and 1.0 name the same run."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and isinstance(default, float) else value
