"""Whether a model predicts in the units of the targets: it may have been trained on standardised ones."""

from torch import Tensor

# our choice: docs/evidence/choices.md#learnt
_LEARNT = 0.8


def units_advice(
    predictions: Tensor, targets: Tensor | None, error: float | None, constant_error: float | None
) -> list[str]:
    """What to do if predictions fit standardised targets and not the targets as they are; nothing if they do not.

    Args:
        predictions: (N,) or (N, 1); those of several outputs are in no units.
        targets: (N,), numbers.
        error: of the model; one that errs less than a constant prediction is in the units of the targets.
        constant_error: of a constant prediction.

    Example:
        >>> import torch
        >>> targets = torch.tensor([2.0, 5.0, 8.0, 5.0])
        >>> told = units_advice((targets - 5) / 2.1, targets, 4.0, 2.1)
        >>> "(targets - 5) / 2.121" in told[0], units_advice(targets + 0.1, targets, 0.1, 2.1)
        (True, [])
    """
    if targets is None or error is None or constant_error is None or error <= constant_error:
        return []
    if targets.ndim != 1 or predictions.numel() != len(targets):
        return []
    found, wanted = predictions.reshape(-1).double(), targets.double()
    mean, constant = float(wanted.mean()), float(wanted.std(correction=0))
    if constant == 0:
        return []
    plain = float((found - wanted).square().mean().sqrt())
    scaled = float((found - (wanted - mean) / constant).square().mean().sqrt())
    if plain <= constant or scaled > _LEARNT:
        return []
    return [
        "Check the units of the labels: predictions fit labels with mean 0 and standard deviation 1 "
        f"(error {scaled:.2g}), and not the labels as they are (error {plain:.3g}). If the model was trained on standardised labels, "
        f"audit it with (targets - {mean:.4g}) / {constant:.4g}, or recordings with label_mean={mean:.4g} and label_scale={constant:.4g}: "
        "take the mean and standard deviation of its training windows."
    ]
