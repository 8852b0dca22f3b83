"""How the exchange test is done: one frozen value, shared by audit, watch, repair and the rule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from crest._base.arguments import require_choice, require_fields
from crest._base.doors import door
from crest.background import SIGMA
from crest.background.separation import background_of
from crest.nuisances.separated import joint_nuisances_of

What: TypeAlias = Literal["spectrum", "background"]
"""What a trajectory gets of another: how large each frequency of its background is, or the background as it is."""
WHAT: tuple[What, ...] = ("spectrum", "background")


@door
@dataclass(frozen=True, kw_only=True)
class ExchangeSettings:
    """The settings of an exchange test; every door that runs one takes them as `exchange=`, with the same defaults.

    So `expected_error` of an audit, of a watch, of a repair and of `crest.exchange_test` is the same number for the same
    model, trajectories and settings.

    Example:
        >>> ExchangeSettings(trajectories=64).block
        16
        >>> ExchangeSettings(block=1)
        Traceback (most recent call last):
        ValueError: block must be a whole number, 2 or more, got 1
    """

    # our choice: docs/evidence/choices.md#spectra
    what: What = "spectrum"
    """What of a background is exchanged. "spectrum": its level and how large each of its frequencies is, on the phases that
    the own background has. The transient then still fits into the waves around it, if events keep to a phase; what only
    phases tell is not exchanged. "background": all of it."""
    kind: str = "core"
    """How a signal is separated into background and transient, as in `crest.background.split`."""
    sigma: float = SIGMA
    """Standard deviation of the low-pass in steps, for kinds that have one."""
    # our choice: docs/evidence/choices.md#exchange
    trajectories: int = 128
    """How many trajectories are exchanged; all if there are fewer."""
    block: int = 16
    """How many exchange among each other: a test takes about `trajectories * (block + 12)` predictions."""
    batch_size: int = 256
    """How many predictions are made at once."""
    bootstrap: int = 1000
    """Draws for the intervals."""
    # our choice: docs/evidence/choices.md#invariant
    invariant: tuple[str, ...] = ("offset", "drift", "tones")
    """What the prediction must not depend on, of `crest.nuisances.NAMES`: by default what can never be part of a brief event.
    The verdict is about these. Add "gain", "colour" or "rate" if your physics says that they do not tell the target."""
    seed: int = 0
    """Of the drawn trajectories, their blocks and the bootstrap."""

    def __post_init__(self) -> None:
        require_choice("what", self.what, WHAT)
        background_of(self.kind)
        require_fields(self, "be positive", "sigma")
        require_fields(self, "be a whole number, 2 or more", "trajectories", "block")
        require_fields(self, "be a whole number, 1 or more", "batch_size", "bootstrap")
        require_fields(self, "be a whole number, 0 or more", "seed")
        # NumPy's integers pass for whole numbers; torch takes no such seed, and records keep no such number.
        for name in ("trajectories", "block", "batch_size", "bootstrap", "seed"):
            object.__setattr__(self, name, int(getattr(self, name)))
        object.__setattr__(self, "invariant", joint_nuisances_of(self.invariant, "invariant"))


def settings_of(exchange: object, invariant: Sequence[str] | None = None) -> ExchangeSettings:
    """What was given as `exchange=`, or the defaults; a ValueError for anything else.

    Args:
        exchange: the settings, if they were given.
        invariant: what is declared in the place of theirs, if that was given.

    Example:
        >>> settings_of(None).trajectories, settings_of(None, ["gain"]).invariant
        (128, ('gain',))
    """
    found = ExchangeSettings() if exchange is None else exchange
    if not isinstance(found, ExchangeSettings):
        raise ValueError(f"exchange must be a crest.ExchangeSettings, got {type(exchange).__name__}")
    return (
        found if invariant is None else replace(found, invariant=joint_nuisances_of(invariant, "invariant"))
    )
