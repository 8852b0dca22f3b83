"""Named regimes of the simulators, so that you need not trust one chosen setting.

Each changes one thing that matters against the default: how strong the cue is, how noisy it is at each step,
how sparse the events are, and how much the background (ripple, load, sensors) or the event itself (contact
sharpness) helps or hides them. In each the event reader of `decodability` still reads the target out of
distribution; settings where it does not (a spur gear's ripple of 0.12, half the stiffness loss, walls four
times as hard) are left out. `severe` is the second setting of each: the cue misleads a pooled reader to be
no better than a guess, or worse. `OUTSIDE` are the two that the paper itself puts outside of CREST's reach.
"""

from typing import Any

from crest._base.arguments import require_choice, require_known
from crest._base.doors import door
from crest.lab.systems.cwru import CwruSystem
from crest.lab.systems.gear import GearSystem
from crest.lab.systems.hitsm import HitsmSystem
from crest.lab.systems.impact import ImpactSystem
from crest.lab.systems.mitbih import MitbihSystem
from crest.lab.systems.recordings import RecordingsSystem
from crest.lab.systems.sisfall import SisfallSystem

REGIMES: dict[str, dict[str, dict[str, Any]]] = {
    "gear": {
        "default": {},
        "weak_cue": {"cue_correlation": -0.8},
        "perfect_cue": {"cue_correlation": -1.0},
        "clear_cue": {"cue_noise": 0.3},
        "noisy_cue": {"cue_noise": 6.0},
        "frequent_events": {"teeth": 8},
        "rare_events": {"teeth": 20},
        "smooth_mesh": {"ripple": 0.0},
        "coarse_mesh": {"ripple": 0.06},
        "steady_load": {"load_wave": 0.0},
        "diffuse_wear": {"worn_teeth": 12},
        "cue_on_event": {"cue_on_event": True},
        "severe": {"cue_correlation": -1.0, "cue_noise": 0.3},
    },
    "impact": {
        "default": {},
        "weak_cue": {"cue_correlation": 0.8},
        "perfect_cue": {"cue_correlation": 1.0},
        "clear_cue": {"cue_noise": 0.003},
        "noisy_cue": {"cue_noise": 0.1},
        "frequent_events": {"gap": 0.0},
        "rare_events": {"samples_per_period": 220},
        "soft_contact": {"center": 1.7},
        "hard_contact": {"center": 2.3},
        "steady_sensor": {"drift": 0.0},
        "full_range": {"sensor_range": 10.0},
        "known_zero": {"position_offset": 0.0},
        "wide_cue": {"amplitude_spread": 0.12},
        "severe": {"amplitude_spread": 0.12},
    },
}
"""Changes against the defaults, by system and regime."""

OUTSIDE = ("diffuse_wear", "cue_on_event")
"""Regimes of the gear without what CREST rests on: a sparse event, and a cue that is not on it."""

SIMULATORS: dict[str, type[GearSystem] | type[ImpactSystem]] = {"gear": GearSystem, "impact": ImpactSystem}
"""The simulated systems by name."""


@door
def regime(system: str, name: str = "default") -> GearSystem | ImpactSystem:
    """The simulator in a named regime.

    Example:
        >>> regime("gear", "coarse_mesh").ripple
        0.06
    """
    require_choice("system", system, SIMULATORS)
    require_choice(f"regime of {system}", name, REGIMES[system])
    return SIMULATORS[system](**REGIMES[system][name])


RECORDED: dict[str, type[HitsmSystem] | type[MitbihSystem] | type[SisfallSystem]] = {
    "hitsm": HitsmSystem,
    "mitbih": MitbihSystem,
    "sisfall": SisfallSystem,
}
"""Public recordings with a tie between target and condition, by name."""

SYSTEMS: dict[str, type[GearSystem] | type[ImpactSystem] | type[CwruSystem]] = {
    **SIMULATORS,
    "cwru": CwruSystem,
}
"""Every system by name."""

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    **REGIMES,
    "cwru": {"default": {}, "bearing": {"split": "bearing"}},
    "hitsm": {"default": {}, "untied": {"tie": 1 / 3}},
    "mitbih": {
        "default": {},
        "tie_90": {"tie": 0.9},
        "tie_99": {"tie": 0.99},
        "untied": {"tie": 0.5, "field_tie": 0.5},
    },
    "sisfall": {
        "default": {},
        "tie_90": {"tie": 0.9},
        "tie_95": {"tie": 0.95},
        "tie_99": {"tie": 0.99},
        "untied": {"tie": 0.5, "field_tie": 0.5},
    },
}
"""Named settings of every system: the simulators' regimes, what the bearings' split holds out, how strong a tie is."""


System = (
    GearSystem | ImpactSystem | CwruSystem | HitsmSystem | MitbihSystem | SisfallSystem | RecordingsSystem
)
"""Any of them."""


@door
def make_system(
    system: str, setting: str = "default", **changes: Any
) -> GearSystem | ImpactSystem | CwruSystem | HitsmSystem | MitbihSystem | SisfallSystem | RecordingsSystem:
    """The system in a named setting, with further changes of its parameters. `recordings` are your own.

    Example:
        >>> make_system("gear", "coarse_mesh", teeth=20).teeth
        20
    """
    kinds: dict[str, Any] = {**SYSTEMS, **RECORDED, "recordings": RecordingsSystem}
    settings = SETTINGS.get(system, {"default": {}})
    require_choice("system", system, kinds)
    require_choice(f"regime of {system}", setting, settings)
    require_known(system, "parameter", changes, kinds[system].__dataclass_fields__)
    made: System = kinds[system](**{**settings[setting], **changes})
    return made
