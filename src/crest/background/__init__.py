"""Backgrounds: a signal is its background plus what is transient in it.

A background is a plain function from signals (B, T, C) and their mask to a tensor of the same shape. It knows neither
readouts nor probes, so that one definition serves CREST's residual, a filter of inputs, an augmentation that exchanges
backgrounds, and a test of any model. To add a kind: a file, a line in `KINDS`, a test.
"""

from crest.background.core import around_core, transient_core
from crest.background.interpolation import interpolate_out
from crest.background.level import level
from crest.background.periodic import periodic
from crest.background.separation import KINDS, Separated, background_of, kinds_of, split
from crest.background.slow import SIGMA, Background, low_pass
from crest.background.steady import steady_tones

__all__ = [
    "KINDS",
    "SIGMA",
    "Background",
    "Separated",
    "around_core",
    "background_of",
    "interpolate_out",
    "kinds_of",
    "level",
    "low_pass",
    "periodic",
    "split",
    "steady_tones",
    "transient_core",
]
