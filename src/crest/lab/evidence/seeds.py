"""Which seeds are reported. Development uses 1000 and up."""

TEN = range(10)
"""For the headline systems."""
FIVE = range(5)
"""Elsewhere."""
THREE = range(3)
"""For grids of many settings, and encoders that are slower to train."""
ONE = range(1)
"""For the slowest, and for the regimes, which are many."""
