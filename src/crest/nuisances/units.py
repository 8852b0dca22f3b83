"""From the units of a measurement to steps."""

import math

from crest._base.arguments import require
from crest._base.doors import door


@door
def sigma_of(cutoff: float, sample_rate: float) -> float:
    """The standard deviation, in steps, of the Gaussian low-pass that halves the power at a frequency.

    The response of the Gaussian is exp(-(2 pi f sigma)^2 / 2), and its square is one half at f = sqrt(ln 2) / (2 pi sigma).

    Args:
        cutoff: in Hz.
        sample_rate: in Hz.

    Example:
        >>> round(sigma_of(0.5, 360.0), 1)
        95.4
        >>> round(sigma_of(0.0220852, 1.0), 3)
        6.0
    """
    require("cutoff", cutoff, "be positive")
    require("sample_rate", sample_rate, "be positive")
    return math.sqrt(math.log(2)) / (2 * math.pi) * sample_rate / cutoff
