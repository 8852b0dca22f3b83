"""Classes of signals."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest.estimators.signal_estimator import ClassifierMixin, SignalEstimator, check_classification_targets


class CrestClassifier(ClassifierMixin, SignalEstimator):  # type: ignore[misc]
    """A small network that tells the class of a signal, chosen so that what the field changes does not move it.

    `fit` trains a residual CNN, tests what moves its predictions, trains copies of it with the remedies that fit, and keeps the
    one that `crest.choose` picks. It is `crest.repair` without PyTorch; `repaired_` prints its table. Arrays are (N, T) for one
    channel or (N, C, T). Channels are scaled by their mean and standard deviation over the training trajectories.

    Args:
        invariant: what the field may change and the class does not follow, of `crest.nuisances.NAMES`; by default offset, drift
            and tones, as in `crest.repair`. `()` declares nothing: the plain network, unless `fit` gets conditions.
        remedies: names of `crest.remedies.REMEDIES` to try; by default those that fit. Each is one more training.
        epochs: passes over the training trajectories, of each training.
        validation_fraction: share of the trajectories that is held out to measure candidates; nothing trains on them.
        random_state: a whole number gives the same result again; None draws a new seed in each `fit`. The global states of
            NumPy and torch are left alone.
        verbose: whether to print a line as each candidate begins and ends.

    Attributes:
        classes_: the classes, sorted.
        repaired_: what `crest.repair` returned, with the chosen network as `repaired_.model`.
        pick_: name of the chosen candidate; "as it is" for the plain network.
        candidates_: the numbers of each candidate by name, of held-out trajectories; errors are shares of wrong classes.
        n_features_in_: steps T of arrays (N, T), channels C of arrays (N, C, T).
        axes_in_: how many axes the arrays of `fit` had.
        mean_: (1, C, 1), what is subtracted from the signals before the network.
        scale_: (1, C, 1), what they are then divided by.

    Example:
        >>> numbers = np.random.default_rng(0)
        >>> knocks, y = numbers.normal(size=(60, 64)), np.array(["sound", "worn"]).repeat(30)
        >>> knocks[30:, 20:24] += 8
        >>> found = CrestClassifier(epochs=10, remedies=["AC coupling"], random_state=0).fit(knocks, y)
        >>> found.score(knocks, y), list(found.candidates_)
        (1.0, ['as it is', 'trained longer', 'AC coupling'])
    """

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probability of each class, (N, K), in the order of `classes_`. The network was not calibrated for them."""
        found: npt.NDArray[np.float64] = torch.from_numpy(self._outputs(X)).softmax(1).numpy()
        return found

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of each trajectory, (N,)."""
        places = self._outputs(X).argmax(1)
        found: npt.NDArray[Any] = self.classes_[places]
        return found

    def _targets(self, labels: npt.NDArray[Any]) -> tuple[Tensor, int]:
        check_classification_targets(labels)
        self.classes_, places = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have two classes or more, got one class, {self.classes_[0]!r}")
        return torch.from_numpy(places.astype(np.int64)), len(self.classes_)
