"""Repair a trained model: try the remedies on copies of it, measure each, and take what the rule picks."""

from crest.repairing.repaired import AS_IT_IS, MeasuredModel, Repaired
from crest.repairing.repairing import repair
from crest.repairing.structure import Structure, WithFront
from crest.repairing.treatments import REPAIRS, USUAL_REPAIRS, Treatment

__all__ = [
    "AS_IT_IS",
    "REPAIRS",
    "USUAL_REPAIRS",
    "MeasuredModel",
    "Repaired",
    "Structure",
    "Treatment",
    "WithFront",
    "repair",
]
