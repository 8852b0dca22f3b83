"""The one list of remedies. To add one: a file in this package, a line here, a test."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from torch import nn

from crest._base.arguments import require_choice
from crest.remedies.augmentation import Augmentation
from crest.remedies.envelope import Envelope
from crest.remedies.exchange import ExchangeBackground
from crest.remedies.high_pass import HighPass
from crest.remedies.jitter import JitterLevel
from crest.remedies.nuisance_exchange import ExchangeNuisances
from crest.remedies.remedy import Remedy
from crest.remedies.standardise import Standardise
from crest.remedies.stretch import Stretch
from crest.remedies.whiten import Whiten

CONTROL: Final = "trained longer"
"""The remedy that is none: what more training alone does. Others must beat it."""

REMEDIES: Final[Mapping[str, Remedy]] = {
    CONTROL: Remedy(
        sentence="Trains the model longer and changes nothing: the control, which every other remedy must beat.",
        usual=False, key="none",
    ),
    "re-anchored": Remedy(
        sentence="Puts CREST on the frozen features at several budgets and fits the head again; takes seconds.",
        pooling="re-anchored", measured=True, key="reanchor",
    ),
    "AC coupling": Remedy(
        sentence="Subtracts each channel's mean over the window, in training and in the field.",
        front=partial(HighPass, kind="level"), against=("offset",), measured=True, key="ac_coupling",
    ),
    "high-pass": Remedy(
        sentence="Subtracts each channel's Gaussian low-pass, in training and in the field.",
        front=partial(HighPass), against=("offset", "drift"), measured=True, key="high_pass",
    ),
    "level jitter": Remedy(
        sentence="Adds a random constant to each channel of half of the rows in training.",
        change=partial(JitterLevel), against=("offset",), measured=True, key="jitter",
    ),
    "exchange": Remedy(
        sentence="Gives half of the rows the slow background of another row in training.",
        change=partial(ExchangeBackground), against=("offset", "drift"), measured=True, key="exchange",
    ),
    # Not tried by default, but if surroundings were declared and move the prediction: it trains on the separation that the
    # exchange test measures with.
    "core exchange": Remedy(
        sentence="Gives half of the rows everything around another row's most transient steps in training.",
        change=partial(ExchangeBackground, kind="core"), against=("offset", "drift", "surroundings"), usual=False,
        key="core_exchange", judged_on="slow",
    ),
    "CREST": Remedy(
        sentence="Puts CREST in the place of the pooling and trains the model with it.",
        pooling="trained", measured=True,
    ),
    "CREST + exchange": Remedy(
        sentence="Puts CREST in the place of the pooling and trains with exchanged slow backgrounds.",
        pooling="trained", change=partial(ExchangeBackground), against=("offset", "drift"), measured=True,
    ),
    # Not tried by default: each answers what speed and load change, and but for whiten is tried if that moves the prediction.
    "standardise": Remedy(
        sentence="Divides each channel, less its median, by its robust scale over the window, in training and in the field.",
        front=partial(Standardise), against=("offset", "gain"), usual=False, key="standardise",
    ),
    # Tried only by name: the envelope answers what it answers, and drift, and `fitting_remedies` has few to give.
    "whiten": Remedy(
        sentence="Divides each channel by its smoothed spectrum over the window, in training and in the field.",
        front=partial(Whiten), against=("offset", "gain", "colour"), usual=False, key="whiten",
    ),
    "envelope": Remedy(
        sentence="Takes each channel's envelope in its most impulsive band, standardised, in training and in the field.",
        front=partial(Envelope), against=("offset", "drift", "gain", "colour"), usual=False, key="envelope",
    ),
    "tone filter": Remedy(
        sentence="Subtracts each channel's steady tones, in training and in the field.",
        front=partial(HighPass, kind="tones"), against=("tones",), usual=False, key="tone_filter",
    ),
    "exchange of gain": Remedy(
        sentence="Gives half of the rows the gain of another row in training.",
        change=partial(ExchangeNuisances, names="gain"), against=("gain",), usual=False, key="exchange_gain",
    ),
    "exchange of colour": Remedy(
        sentence="Gives half of the rows the smoothed spectrum of another row in training.",
        change=partial(ExchangeNuisances, names="colour"), against=("colour",), usual=False, key="exchange_colour",
    ),
    "exchange of tones": Remedy(
        sentence="Gives half of the rows steady tones as large as those of another row in training.",
        change=partial(ExchangeNuisances, names="tones"), against=("tones",), usual=False, key="exchange_tones",
        judged_on="periodic",
    ),
    "exchange of surroundings": Remedy(
        sentence="Gives half of the rows the spectrum of what is around another row's most transient steps in training.",
        change=partial(ExchangeNuisances, names="surroundings"), against=("surroundings",), usual=False,
        key="exchange_surroundings", judged_on="slow",
    ),
    "stretch": Remedy(
        sentence="Stretches the time of half of the rows by a random factor from 0.5 to 2 in training.",
        change=partial(Stretch), against=("rate",), usual=False, key="stretch",
    ),
    "balanced": Remedy(
        sentence="Draws the training rows so that every pair of target and condition comes equally often.",
        balanced=True, usual=False,
    ),
}  # fmt: skip
"""Every remedy by name. `crest.repair`, runs, studies, the demo, the evidence and the manual take theirs from here."""

USUAL_REMEDIES: Final = tuple(name for name, one in REMEDIES.items() if one.usual)
"""Those that `crest.repair` tries by default, beside the control."""


def remedies_of(given: Sequence[str] | Mapping[str, Any], argument: str = "remedies") -> dict[str, Remedy]:
    """Remedies by name: of known names, or of a mapping with the user's own.

    Args:
        given: names of `REMEDIES`; or a mapping from a name to a layer for the front of a model, a function of a batch of
            signals, a pair of both, a `Remedy`, or the name of a known one.
        argument: what the messages call it.

    Example:
        >>> found = remedies_of({"smooth": nn.AvgPool1d(5, 1, 2), "AC coupling": "AC coupling"})
        >>> found["smooth"].front(channels_first=True).kernel_size
        (5,)
    """
    if isinstance(given, Mapping):
        return {name: _own(name, value, argument) for name, value in given.items()}
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(
            f"{argument} must be a list of names, or a mapping of names to remedies, got {given!r}"
        )
    for name in given:
        require_choice(argument, name, REMEDIES)
    return {name: REMEDIES[name] for name in given}


def _own(name: object, value: Any, argument: str) -> Remedy:
    """The remedy that a user gave under this name."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{argument} must have names as keys, got {name!r}")
    if isinstance(value, str):
        require_choice(f"{argument}[{name!r}]", value, REMEDIES)
        value = REMEDIES[value]
    if name in REMEDIES and value is not REMEDIES[name]:
        raise ValueError(
            f"{argument} must have new names for your own remedies, got {name!r}, which is a known one"
        )
    if isinstance(value, Remedy):
        # Found here: the maker of a front is another object once it was sent to a process.
        known = [known for known, one in REMEDIES.items() if one.front is value.front is not None]
        return replace(value, front_name=known[0]) if known and name not in REMEDIES else value
    front, change = value if isinstance(value, tuple) and len(value) == 2 else _sides(value)
    if not (isinstance(front, nn.Module | None) and (change is None or callable(change))) or front is change:
        raise ValueError(
            f"{argument}[{name!r}] must be a module, a function of a batch of signals, a pair of both (module first), a Remedy "
            f"or a known name, got {type(value).__name__}"
        )
    # Copies, so that every candidate trains its own front. A change of batches knows its own layout.
    return Remedy(
        front=None if front is None else lambda **_: copy.deepcopy(front),
        change=None if change is None else lambda **_: change,
    )


def _sides(value: Any) -> tuple[Any, Any]:
    """What stands in front, and what changes batches: an augmentation is a module that changes batches."""
    if isinstance(value, nn.Module) and not isinstance(value, Augmentation):
        return value, None
    return None, value if callable(value) else None
