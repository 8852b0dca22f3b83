"""What the classifier and the regressor share: arrays in, a network trained, repaired and chosen, predictions out."""

import abc
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.extras import missing_extra
from crest._base.rng import generator, seeded
from crest._repair import repair
from crest.estimators.network import ResidualNetwork, train_network
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.ties import Columns, Conditions, condition_columns, condition_names
from crest.probes.batches import batches_of, in_batches
from crest.probes.errors import rmse_or_error_rate
from crest.remedies.registry import remedies_of

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import Tags, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        missing_extra("CrestClassifier or CrestRegressor", "scikit-learn", "sklearn")
    ) from error

# The one place that imports scikit-learn, so that its absence is told in these words.
__all__ = ["ClassifierMixin", "RegressorMixin", "SignalEstimator", "check_classification_targets"]

# our choice: docs/evidence/choices.md#estimators
_BATCH = 16
_LEAST = 2
"""How many trajectories train at least, and how many are held out at least."""
_SIGNALS: dict[str, Any] = {"dtype": [np.float64, np.float32], "allow_nd": True}
"""What scikit-learn is told about X."""


class SignalEstimator(BaseEstimator, abc.ABC):  # type: ignore[misc]
    """A small network on signals, trained, repaired by `crest.repair` and chosen by its rule."""

    def __init__(
        self,
        invariant: Sequence[str] | None = None,
        *,
        remedies: Sequence[str] | None = None,
        epochs: int = 30,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.invariant = invariant
        self.remedies = remedies
        self.epochs = epochs
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, conditions: Conditions | None = None
    ) -> "SignalEstimator":
        """Train the network, try the remedies that fit on copies of it, and keep what the rule chooses.

        Args:
            X: (N, T) for one channel, or (N, C, T); finite numbers.
            y: (N,), a class or a number for each trajectory.
            conditions: (N,), the operating condition of each trajectory (a speed, a machine, a person), or several columns by
                name, as in `crest.repair`.
        """
        seed = self._checked_seed()
        settings = settings_of(ExchangeSettings(seed=seed), self.invariant)
        signals, labels = validate_data(self, X, y, ensure_min_samples=2 * _LEAST, **_SIGNALS)
        targets, outputs = self._targets(labels)
        known = None if conditions is None else condition_columns(conditions, len(signals))
        train, held = self._split(targets, known, seed)
        self.axes_in_, signals = signals.ndim, _with_channels(signals)
        self.mean_ = signals[train].mean((0, 2), keepdims=True, dtype=np.float64)
        spread = signals[train].std((0, 2), keepdims=True, dtype=np.float64)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        x = self._scaled(signals)
        # Parts of nearly the same size: batch normalisation cannot train on a single trajectory.
        parts = [torch.from_numpy(rows) for rows in np.array_split(train, -(-len(train) // _BATCH))]
        batches = [(x[rows], targets[rows]) for rows in parts]
        learn = functools.partial(train_network, epochs=int(self.epochs))
        with seeded(seed, "estimators/plain"):
            network = ResidualNetwork(x.shape[1], outputs)
            learn(network, batches)
        # With nothing declared and no condition, there is nothing to judge a remedy by.
        plain = self.remedies is None and not settings.invariant and known is None
        self.repaired_ = repair(
            network,
            batches,
            fit=learn,
            validation=[(x[held], targets[held])],
            remedies=() if plain else self.remedies,
            conditions=None if known is None else (_rows(known, train), _rows(known, held)),
            channels_first=True,
            error=self._error,
            exchange=settings,
            tell=print if self.verbose else None,
        )
        self.pick_ = self.repaired_.name
        self.candidates_ = self.repaired_.candidates
        return self

    @abc.abstractmethod
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """A class or a number for each trajectory, (N,)."""

    @abc.abstractmethod
    def _targets(self, labels: npt.NDArray[Any]) -> tuple[Tensor, int]:
        """What the network learns (N,), and how many outputs it has; keeps what turns predictions back."""

    def _error(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The error by which candidates are measured, in the units of y."""
        return rmse_or_error_rate(predictions, targets)

    def _outputs(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """What the chosen network gives for each trajectory, (N, outputs)."""
        check_is_fitted(self)
        if getattr(X, "ndim", self.axes_in_) not in (1, self.axes_in_):
            shape = "(N, T)" if self.axes_in_ == 2 else "(N, C, T)"
            raise ValueError(f"X must have shape {shape}, as in fit, got {np.shape(X)}")
        signals = validate_data(self, X, reset=False, **_SIGNALS)
        x = self._scaled(_with_channels(signals))
        with torch.no_grad():
            found = in_batches(self.repaired_.model, batches_of(x, size=256))
        return found.numpy().astype(np.float64)

    def _checked_seed(self) -> int:
        """A seed that the random state gives; a ValueError if it or another parameter is wrong."""
        for name, number in (("epochs", self.epochs), ("validation_fraction", self.validation_fraction)):
            if isinstance(number, np.ndarray):
                raise ValueError(f"{name} must be a number, got an array of shape {number.shape}")
        require("epochs", self.epochs, "be a whole number in [1, 100000]")
        require("validation_fraction", self.validation_fraction, "lie in (0, 1)")
        if not isinstance(self.verbose, int | np.integer):
            raise ValueError(f"verbose must be True, False or a whole number, got {self.verbose!r}")
        for name, value in (("invariant", self.invariant), ("remedies", self.remedies)):
            if value is not None and not (
                isinstance(value, Sequence) and all(isinstance(one, str) for one in value)
            ):
                raise ValueError(f"{name} must be a list of names or None, got {value!r}")
        if self.remedies is not None:
            remedies_of(self.remedies)
        if self.random_state is None:
            # Not NumPy's global state, which is the user's.
            return int(np.random.default_rng().integers(2**31))
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(
                "random_state must be None, a whole number from 0 to 2**32 - 1 or a RandomState, got "
                f"{self.random_state!r}"
            ) from error

    def _split(
        self, targets: Tensor, known: Columns | None, seed: int
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Numbers of the trajectories to train on, in a random order, and of those to measure on.

        Sorted by target and condition, one of each few neighbours is held out: both parts have all that is frequent.
        """
        count = len(targets)
        held_count = max(_LEAST, round(count * self.validation_fraction))
        if count - held_count < _LEAST:
            raise ValueError(
                f"validation_fraction must leave {_LEAST} trajectories or more to train on, got "
                f"{self.validation_fraction} of {count}"
            )
        numbers = generator(seed, "estimators/held out")
        names = [""] * count if known is None else [str(one) for one in condition_names(known, count)]
        chance = numbers.permutation(count)
        order = np.lexsort((chance, np.unique(names, return_inverse=True)[1], targets.numpy()))
        neighbours = np.arange(count) * held_count // count
        shuffled = numbers.permutation(count)
        held = order[shuffled[np.unique(neighbours[shuffled], return_index=True)[1]]]
        train = np.setdiff1d(np.arange(count), held)
        return numbers.permutation(train), np.sort(held)

    def _scaled(self, signals: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(((signals - self.mean_) / self.scale_).astype(np.float32))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _with_channels(signals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(N, C, T): an array (N, T) has one channel."""
    if signals.ndim > 3 or 0 in signals.shape:
        raise ValueError(f"X must have shape (N, T) or (N, C, T), with a step or more, got {signals.shape}")
    if signals.ndim == 3 and signals.shape[1] > signals.shape[2]:
        raise ValueError(
            f"X must have shape (N, T) or (N, C, T), got {signals.shape}: more channels than steps. If these are (N, T, C), pass "
            "numpy.swapaxes(X, 1, 2)"
        )
    return signals[:, np.newaxis] if signals.ndim == 2 else signals


def _rows(columns: Columns, numbers: npt.NDArray[np.intp]) -> Columns:
    return {name: [column[number] for number in numbers.tolist()] for name, column in columns.items()}
