"""For people without PyTorch: scikit-learn estimators that train a small network on signals and let the rule choose."""

from crest.estimators.classifier import CrestClassifier
from crest.estimators.regressor import CrestRegressor

__all__ = ["CrestClassifier", "CrestRegressor"]
