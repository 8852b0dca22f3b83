"""Experiments: specs of training runs, their records, and how to do hundreds of them."""
