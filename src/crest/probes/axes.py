"""An order of the axes that was given, or that is a default, and that looks wrong."""

import warnings

from crest._base.callers import users_line
from crest.background import SIGMA


def warn_of_axes(channels_first: bool, shape: tuple[int, ...], found: bool | None) -> None:
    """Warn of an order that makes fewer steps than channels, if nothing speaks for it.

    That is if the first layer takes the other one, or if it does not tell and not even a background fits into the steps.

    Args:
        channels_first: as it was given.
        shape: of the inputs.
        found: what the first layer says.

    Example:
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warn_of_axes(False, (96, 1, 200), None)
        >>> str(told[0].message)[:68]
        'channels_first=False makes 1 step of 200 channels of the inputs (96,'
    """
    steps, channels = (shape[2], shape[1]) if channels_first else (shape[1], shape[2])
    if steps >= channels or found is channels_first or (found is None and steps >= SIGMA):
        return
    some = f"{steps} step{'s' * (steps > 1)}"
    why = (
        "there are fewer steps than channels"
        if found is None
        else f"the first layer takes {steps} channel{'s' * (steps > 1)}"
    )
    warnings.warn(
        f"channels_first={channels_first} makes {some} of {channels} channels of the inputs {shape}, and {why}: is "
        f"channels_first={not channels_first} right?",
        UserWarning,
        stacklevel=users_line(),
    )
