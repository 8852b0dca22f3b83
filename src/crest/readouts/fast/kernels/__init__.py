"""What numba compiles: lanes, passes over the features, and the ranking of steps."""
