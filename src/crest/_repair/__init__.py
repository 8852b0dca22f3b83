"""Repair a trained model: try the remedies on copies of it, measure each, and take what the rule picks."""

from crest._repair.repair import repair
from crest._repair.repaired import AS_IT_IS, MeasuredModel, Repaired
from crest._repair.structure import Structure

__all__ = [
    "AS_IT_IS",
    "MeasuredModel",
    "Repaired",
    "Structure",
    "repair",
]
