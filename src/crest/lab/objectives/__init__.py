"""What training minimises: squared error or cross-entropy, and what people add to it against shortcuts or for control, by name."""

from typing import Any

from crest._base.arguments import require_choice
from crest.lab.objectives.base import CrossEntropy, MeanSquaredError, Objective, TrainingBatch, squared_errors
from crest.lab.objectives.physics import EquationOfMotion
from crest.lab.objectives.proxy_groups import GroupDro, InvariantRisk, LastLayerAgain
from crest.lab.objectives.supervision import EventAuxiliary
from crest.lab.objectives.two_rounds import JustTrainTwice

__all__ = [
    "OBJECTIVES",
    "CrossEntropy",
    "EquationOfMotion",
    "EventAuxiliary",
    "GroupDro",
    "InvariantRisk",
    "JustTrainTwice",
    "LastLayerAgain",
    "MeanSquaredError",
    "Objective",
    "TrainingBatch",
    "make_objective",
    "squared_errors",
]

OBJECTIVES: dict[str, type[Objective]] = {
    "mse": MeanSquaredError,
    "cross_entropy": CrossEntropy,
    "group_dro": GroupDro,
    "event_auxiliary": EventAuxiliary,
    "irm": InvariantRisk,
    "last_layer": LastLayerAgain,
    "train_twice": JustTrainTwice,
    "physics": EquationOfMotion,
}
"""Objectives by name."""


def make_objective(name: str, **options: Any) -> Objective:
    """The objective of that name.

    Example:
        >>> make_objective("group_dro", step=0.1).groups
        4
    """
    require_choice("objective", name, OBJECTIVES)
    return OBJECTIVES[name](**options)
