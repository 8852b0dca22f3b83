"""RunSpec: everything that determines a training run, as a frozen value with a name of its own."""

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any, Literal

from crest.encoders import ENCODERS
from crest.model import Model, make_model
from crest.objectives import OBJECTIVES, make_objective
from crest.readouts import READOUTS, REFERENCES, CrestConfig
from crest.systems import Sizes, make_system
from crest.training import SCHEDULES, Schedule

FORMAT = 1
"""Raised when the same spec would give other numbers; old records are then made again."""

Options = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One training run.

    The id names everything that determines the numbers, defaults included (the simulator's parameters,
    CREST's constants, the encoder's sizes, the schedule), so a record is found again only while all of them
    are the same.

    Args:
        system: gear, impact or cwru.
        regime: a named setting of the system.
        system_options: further changes of its parameters.
        encoder: a key of `ENCODERS`.
        encoder_options: the encoder's own keyword arguments.
        readout: a key of `READOUTS` or `REFERENCES`.
        readout_options: the readout's own keyword arguments; CREST's `config` is a mapping of its changes.
        objective: a key of `OBJECTIVES`.
        objective_options: the objective's own keyword arguments.
        seed: of data, initial weights and batch order. 0 to 9 are reported, 1000 and up are for development.
        sizes: trajectories per split.
        schedule: the encoder's unless given.
        keep: which epoch's weights are kept, see `fit`.
        observe_every: epochs between looks at errors and credit during training; 0 for none.

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
    seed: int
    sizes: Sizes = dataclasses.field(default_factory=Sizes)
    schedule: Schedule | None = None
    keep: Literal["last", "best_id"] = "last"
    observe_every: int = 0

    def __post_init__(self) -> None:
        _known("encoder", self.encoder, ENCODERS)
        _known("readout", self.readout, {**READOUTS, **REFERENCES})
        _known("objective", self.objective, OBJECTIVES)
        _known("keep", self.keep, ("last", "best_id"))
        for name, least in (("seed", 0), ("observe_every", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
        make_system(self.system, self.regime, **self.system_options)
        # Written out, so that a record says what was done even when the encoder's schedule changes.
        object.__setattr__(self, "schedule", self.training)
        for name in ("encoder", "readout", "objective"):
            self._defaults(name)
        try:
            plain = json.loads(json.dumps(self.to_dict(), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"options must be plain values, as JSON has them: {error}") from error
        # Copies: whoever made the spec may go on using the mappings.
        for name in ("system", "encoder", "readout", "objective"):
            object.__setattr__(self, f"{name}_options", plain[f"{name}_options"])
        # An option that its part refuses is refused here, not hours later on a worker.
        self.model(channels=1)
        make_objective(self.objective, **self.objective_options)

    def __hash__(self) -> int:
        return hash(self.id)

    def _defaults(self, part: str) -> dict[str, Any]:
        """Every keyword argument of an encoder, readout or objective: as given, else its default."""
        registries: dict[str, Mapping[str, Any]] = {
            "encoder": ENCODERS,
            "readout": {**READOUTS, **REFERENCES},
            "objective": OBJECTIVES,
        }
        registry = registries[part]
        name, options = getattr(self, part), getattr(self, f"{part}_options")
        parameters = inspect.signature(registry[name]).parameters
        # The channels come from the data and the width from the encoder.
        known = {
            key: value.default
            for key, value in parameters.items()
            if value.default is not inspect.Parameter.empty
        }
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(f"{part} {name} has no option {', '.join(unknown)}; it has {', '.join(known)}")
        merged = {**known, **options}
        if "config" in merged:
            changes = dict(merged["config"] or {})
            for constant in changes:
                _known("config", constant, CrestConfig.sources())
            merged["config"] = dataclasses.asdict(CrestConfig(**changes))
        return merged

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "RunSpec":
        """The spec that `to_dict` wrote."""
        known = {field.name for field in dataclasses.fields(cls)}
        if set(fields) - known:
            raise ValueError(f"spec has no field {', '.join(sorted(set(fields) - known))}")
        schedule = fields.get("schedule")
        parts = {
            **({"sizes": Sizes(**fields["sizes"])} if "sizes" in fields else {}),
            **({"schedule": Schedule(**schedule)} if schedule is not None else {}),
        }
        return cls(**{**fields, **parts})

    def model(self, channels: int) -> Model:
        """The untrained model, for signals with `channels` channels."""
        options = dict(self.readout_options)
        if options.get("config") is not None:
            options["config"] = CrestConfig(**options["config"])
        return make_model(
            self.encoder,
            self.readout,
            channels=channels,
            seed=self.seed,
            encoder_options=dict(self.encoder_options),
            readout_options=options,
        )

    @property
    def training(self) -> Schedule:
        """The schedule: as given, else the encoder's."""
        return self.schedule or SCHEDULES[self.encoder]

    @property
    def data_key(self) -> str:
        """Names what determines the data: runs that share it share their trajectories."""
        system = dataclasses.asdict(make_system(self.system, self.regime, **self.system_options))
        # Where the files lie does not change what is in them.
        system.pop("folder", None)
        parts = {
            "format": FORMAT,
            "system": self.system,
            **system,
            "seed": self.seed,
            "sizes": dataclasses.asdict(self.sizes),
        }
        return f"{self.system}-s{self.seed}-{_digest(parts)}"

    @functools.cached_property
    def id(self) -> str:
        """Readable stem and hash of the canonical form: the name of the run's record."""
        canonical = {
            "format": FORMAT,
            **{key: value for key, value in self.to_dict().items() if not key.endswith("_options")},
            "data": self.data_key,
            **{f"{part}_options": self._defaults(part) for part in ("encoder", "readout", "objective")},
        }
        stem = [self.system, self.regime, self.encoder, self.readout, self.objective, f"s{self.seed}"]
        return "-".join([*(word for word in stem if word not in ("default", "mse")), _digest(canonical)])


def _known(argument: str, value: str, choices: Any) -> None:
    if value not in choices:
        raise ValueError(f"{argument} must be one of {', '.join(choices)}, got {value!r}")


def _digest(parts: Mapping[str, Any]) -> str:
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]
