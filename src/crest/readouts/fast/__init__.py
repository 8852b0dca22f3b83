"""Compiled operators, each beside the plain one that it must agree with.

CREST's passes over the features run compiled if numba is installed and the features are on a CPU; elsewhere, and in
exported graphs, they are plain torch. Both give the same steps and values, up to rounding.
"""

from crest.readouts.fast.ahead import warm_up
from crest.readouts.fast.backends import LARGEST_SIGMA, backend, chosen_backend, serves

__all__ = ["LARGEST_SIGMA", "backend", "chosen_backend", "serves", "warm_up"]
