"""Runs: their specs, their records, and how to do hundreds of them."""
