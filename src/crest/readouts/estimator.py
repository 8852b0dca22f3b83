"""CREST as a scikit-learn transformer: arrays (N, T, D) -> (N, D)."""

from collections.abc import Iterator
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch

from crest._base.arguments import require_fields
from crest._base.extras import missing_extra
from crest.readouts import CrestConfig, CrestReadout

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import Tags, check_array
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(missing_extra("CrestPooler", "scikit-learn", "sklearn")) from error


class CrestPooler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pool each series into one event-versus-rest vector, for use in a `Pipeline`.

    `fit` looks at no label: with the default budget it averages width and tail over the training series, and
    `transform` keeps that budget. A 2-D array (N, T) is taken as series of one channel, (N, T, 1). The number
    of channels must be that of `fit`; the number of steps may differ for 3-D arrays.

    Args:
        budget: "pooled", "trajectory" or a fixed fraction, as in `CrestReadout`.
        alpha: as in `CrestReadout`.
        config: the constants; None for the defaults.
        batch_size: series per pass, which bounds the memory.

    Attributes:
        readout_: the fitted `CrestReadout`.
        channels_in_: channels D seen in `fit`.
        n_features_in_: channels D of a 3-D array, steps T of a 2-D one.

    Example:
        >>> series = np.random.default_rng(0).normal(size=(10, 64, 3))
        >>> CrestPooler().fit_transform(series).shape
        (10, 3)
    """

    def __init__(
        self,
        budget: Literal["pooled", "trajectory"] | float = "pooled",
        *,
        alpha: float | None = None,
        config: CrestConfig | None = None,
        batch_size: int = 256,
    ) -> None:
        self.budget = budget
        self.alpha = alpha
        self.config = config
        self.batch_size = batch_size

    def fit(self, X: npt.ArrayLike, y: object = None) -> "CrestPooler":  # noqa: ARG002
        """Estimate the pooled budget from the series; `y` is ignored."""
        require_fields(self, "be a whole number, 1 or more", "batch_size")
        series = self._checked(X, reset=True)
        self.readout_ = CrestReadout(
            self.budget,
            alpha=self.alpha,
            # The series are no encoder's features: what they show at their ends is theirs.
            run_up=0,
            config=self.config,
        ).eval()
        if self.budget == "pooled":
            self.readout_.calibrate(self._batches(series))
        return self

    def transform(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Pooled vectors (N, D)."""
        check_is_fitted(self)
        series = self._checked(X, reset=False)
        with torch.no_grad():
            pooled = [self.readout_(batch).numpy() for batch in self._batches(series)]
        return np.concatenate(pooled)

    def _checked(self, X: npt.ArrayLike, reset: bool) -> npt.NDArray[Any]:
        """A finite float array (N, T, D) with the channels of `fit`."""
        dimensions = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
        three_d = dimensions == 3
        if dimensions > 3:
            raise ValueError(f"X must have shape (N, T, D) or (N, T), got {np.shape(X)}")
        floats = [np.float64, np.float32]
        if three_d:
            # Not validate_data: it would hold axis 1, the steps, to what fit saw.
            series = check_array(X, dtype=floats, allow_nd=True, input_name="X", estimator=self)
        else:
            series = validate_data(self, X, reset=reset, dtype=floats)[:, :, np.newaxis]
        channels = series.shape[2]
        if reset:
            self.channels_in_ = self._n_features_out = channels
            if three_d:
                self.n_features_in_ = channels
        elif channels != self.channels_in_:
            raise ValueError(f"X must have {self.channels_in_} channels, as in fit, got shape {np.shape(X)}")
        return cast("npt.NDArray[Any]", series)

    def _batches(self, series: npt.NDArray[Any]) -> Iterator[torch.Tensor]:
        for start in range(0, len(series), self.batch_size):
            yield torch.from_numpy(np.array(series[start : start + self.batch_size]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
