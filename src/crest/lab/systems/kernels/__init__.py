"""Compiled loops, one file per simulator. Needs numba.

Apart from the rest because numba compiles these functions itself: nothing may wrap them, the test run's shape
checks included.
"""
