"""Numbers from signals."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest.estimators.signal_estimator import RegressorMixin, SignalEstimator


class CrestRegressor(RegressorMixin, SignalEstimator):  # type: ignore[misc]
    """A small network that tells a number from a signal, chosen so that what the field changes does not move it.

    As `CrestClassifier`, with the same parameters; errors are root mean square errors in the units of y.

    Args:
        invariant: what the field may change and the number does not follow, of `crest.nuisances.NAMES`; by default offset, drift
            and tones, as in `crest.repair`. `()` declares nothing: the plain network, unless `fit` gets conditions.
        remedies: names of `crest.remedies.REMEDIES` to try; by default those that fit. Each is one more training.
        epochs: passes over the training trajectories, of each training.
        validation_fraction: share of the trajectories that is held out to measure candidates; nothing trains on them.
        random_state: a whole number gives the same result again; None draws a new seed in each `fit`. The global states of
            NumPy and torch are left alone.
        verbose: whether to print a line as each candidate begins and ends.

    Attributes:
        repaired_: what `crest.repair` returned, with the chosen network as `repaired_.model`.
        pick_: name of the chosen candidate; "as it is" for the plain network.
        candidates_: the numbers of each candidate by name, of held-out trajectories.
        n_features_in_: steps T of arrays (N, T), channels C of arrays (N, C, T).
        axes_in_: how many axes the arrays of `fit` had.
        mean_: (1, C, 1), what is subtracted from the signals before the network.
        scale_: (1, C, 1), what they are then divided by.
        y_mean_: what is added to the network's output times `y_scale_`.
        y_scale_: standard deviation of y in `fit`.

    Example:
        >>> numbers = np.random.default_rng(0)
        >>> knocks, y = numbers.normal(size=(80, 64)), 100 + 10 * np.linspace(0, 1, 80)
        >>> knocks[:, 20:24] += (y - 100)[:, None]
        >>> found = CrestRegressor(invariant=(), epochs=30, random_state=0).fit(knocks, y)
        >>> found.pick_, found.score(knocks, y) > 0.8
        ('as it is', True)
    """

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """A number for each trajectory, (N,)."""
        outputs = self._outputs(X)[:, 0]
        found: npt.NDArray[np.float64] = self.y_mean_ + self.y_scale_ * outputs
        return found

    def _targets(self, labels: npt.NDArray[Any]) -> tuple[Tensor, int]:
        try:
            numbers = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers, got {labels.dtype} such as {labels[0]!r}") from error
        self.y_mean_, spread = float(numbers.mean()), float(numbers.std())
        self.y_scale_ = spread if spread > 0 else 1.0
        return torch.from_numpy(((numbers - self.y_mean_) / self.y_scale_).astype(np.float32)), 1

    def _error(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return self.y_scale_ * super()._error(predictions, targets)
