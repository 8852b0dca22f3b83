"""What numba compiles for the encoders: the steps of a GRU."""
