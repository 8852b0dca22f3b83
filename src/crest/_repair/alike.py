"""Whether training changed anything: candidates that predict as the given model does tell nothing about their remedies."""

from collections.abc import Mapping

from torch import Tensor

from crest._repair.measuring import Yardstick
from crest._repair.repaired import AS_IT_IS
from crest._repair.workshop import TriedModel
from crest.remedies.remedy import Remedy

# In standard deviations of the given model's predictions. our choice: docs/evidence/choices.md#alike
_ALIKE = 0.05


def alike_note(
    candidates: Mapping[str, TriedModel], remedies: Mapping[str, Remedy], yardstick: Yardstick
) -> list[str]:
    """A note if every candidate that was trained predicts nearly as the given model; else nothing.

    A front changes the predictions before any training, and so does another pooling: these do not count.

    Args:
        candidates: by name, the given model among them.
        remedies: what was tried, by name.
        yardstick: how candidates are asked.
    """
    trained = [
        name
        for name, remedy in remedies.items()
        if name in candidates and remedy.needs_fit and remedy.front is None and not remedy.needs_pooling
    ]
    if not trained:
        return []
    own = yardstick.predictions(candidates[AS_IT_IS].model, yardstick.validation)
    most = max(
        moved(own, yardstick.predictions(candidates[name].model, yardstick.validation)) for name in trained
    )
    if not most < _ALIKE:
        return []
    names = " and ".join(filter(None, (", ".join(trained[:-1]), trained[-1])))
    return [
        f"Training changed little: {names} differ{'s' * (len(trained) == 1)} from the model as it is by at most {most:.2g} standard deviations "
        f"of its predictions on held-out data, below {_ALIKE:g}. So few epochs tell nothing about a remedy: let fit train for more "
        "epochs, or with a larger learning rate."
    ]


def moved(own: Tensor, other: Tensor) -> float:
    """Root mean square change of predictions, in standard deviations of the first ones; 0 if neither varies.

    Example:
        >>> import torch
        >>> round(moved(torch.tensor([0.0, 2.0]), torch.tensor([0.5, 2.5])), 3)
        0.5
    """
    first, second = (found.reshape(len(found), -1).double() for found in (own, other))
    change = float((second - first).square().sum(1).mean().sqrt())
    spread = float((first - first.mean(0)).square().sum(1).mean().sqrt())
    return change / spread if spread > 0 else float("inf") if change > 0 else 0.0
