"""Whether encoder, readout, objective and remedy can be made with their options and go together, found out without training."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import torch

from crest._base.arguments import require_choice
from crest.lab.encoders import OWN
from crest.lab.encoders.own import require_own
from crest.lab.model import make_model
from crest.lab.objectives import make_objective
from crest.lab.remedies import make_remedy
from crest.readouts import CrestConfig

SIGNALS_BUDGET = "signals"
"""The budget of a CREST that is to have what `crest.signal_budget` finds on its training signals."""
HALF_BUDGET = "half signals"
"""The same, halved."""
_SHARES = {SIGNALS_BUDGET: 1.0, HALF_BUDGET: 0.5}
# Whether a model can be made does not depend on the number.
_ANY_BUDGET = 0.1


def share_of_signals(options: Mapping[str, Any]) -> float:
    """How much of the signals' budget these options ask for.

    Example:
        >>> share_of_signals({"budget": HALF_BUDGET})
        0.5
    """
    return _SHARES[options["budget"]]


def asks_for_signals(options: Mapping[str, Any]) -> bool:
    """Whether these options of a readout ask for the budget of the training signals, or for half of it."""
    budget = options.get("budget")
    return isinstance(budget, str) and budget in _SHARES


def crest_constants(changes: Any) -> CrestConfig:
    """CREST's constants with these changes.

    Example:
        >>> crest_constants({"sigma": 8.0}).sigma
        8.0
    """
    if changes is not None and not isinstance(changes, dict):
        raise ValueError(f"config must be a mapping of CREST's constants, got {changes!r}")
    for constant in changes or {}:
        require_choice("config", constant, CrestConfig.sources())
    return CrestConfig(**(changes or {}))


def built_options(options: Mapping[str, Any], budget: float | None = None) -> dict[str, Any]:
    """A readout's options as the readout takes them: CREST's constants as their own type, a budget of the signals as its number.

    Args:
        options: as a spec has them.
        budget: for options that ask for that of the training signals, or for half of it: what came of them.

    Example:
        >>> built_options({"budget": SIGNALS_BUDGET, "split": True}, 0.1)
        {'budget': 0.1, 'split': True}
    """
    built = dict(options)
    if "config" in built:
        built["config"] = crest_constants(built["config"])
    if asks_for_signals(options):
        if budget is None:
            raise ValueError(
                f"budget must be given as a number, as found on the training signals, for budget={options['budget']!r}"
            )
        built["budget"] = budget
    return built


@functools.cache
def check_combination(parts: str) -> None:
    """Refuse options that their part refuses, and parts that do not go together; once per combination.

    Args:
        parts: as JSON, since a combination is looked up by it: name and options of encoder, readout, objective, remedy
            and front, and the outputs that the labels ask for, null if they are not known yet.
    """
    made = json.loads(parts)
    (encoder, encoder_options), (readout, readout_options) = made["encoder"], made["readout"]
    (objective, objective_options), (remedy, remedy_options) = made["objective"], made["remedy"]
    if encoder == OWN:
        # Another one in its place: to read a record must not run the code that it names.
        require_own(encoder_options)
        encoder, encoder_options = "local", {}
    try:
        # On the device without memory: a spec must not make this machine run out of its own.
        with torch.device("meta"):
            model = make_model(
                encoder,
                readout,
                channels=1,
                seed=0,
                encoder_options=encoder_options,
                readout_options=built_options(readout_options, _ANY_BUDGET),
                outputs=made["outputs"] or (2 if objective == "cross_entropy" else 1),
            )
            make_objective(objective, **objective_options).check(model)
            make_remedy(remedy, **remedy_options)
            front, front_options = made.get("front", ("none", {}))
            make_remedy(front, **front_options)
    except (TypeError, RuntimeError, OverflowError) as error:
        raise ValueError(f"options must be of the right type and size: {error}") from error
