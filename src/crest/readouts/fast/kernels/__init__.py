"""What numba compiles: lanes, passes over the features, the ranking of steps, and the steps of a GRU."""
