import numpy as np
import pytest

from crest import CrestClassifier
from knocks_made import knocks


def windows(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Windows (N, 2, T) and three classes in words: none, small and large knocks in the second channel."""
    x, _ = knocks(count, 0.0, 1000)
    places = np.arange(count) % 3
    numbers = np.random.default_rng(1000)
    both = 0.1 * numbers.normal(size=(count, 2, x.shape[2]))
    both[:, 1, 40:48] += 2.0 * places[:, None]
    return both, np.array(["none", "small", "large"])[places]


def test_classes_keep_their_names_and_probabilities_their_order() -> None:
    x, y = windows(90)
    found = CrestClassifier((), epochs=12, random_state=0).fit(x, y)
    assert found.classes_.tolist() == ["large", "none", "small"]
    assert found.score(x, y) > 0.9
    shares = found.predict_proba(x)
    assert shares.shape == (90, 3)
    np.testing.assert_allclose(shares.sum(1), 1.0)
    np.testing.assert_array_equal(found.classes_[shares.argmax(1)], found.predict(x))
    # Errors of candidates are shares of wrong classes.
    assert 0 <= found.candidates_["as it is"].id_error <= 1


@pytest.mark.unchecked
def test_targets_that_are_no_classes_are_refused() -> None:
    x, y = windows()
    with pytest.raises(ValueError, match="y must have two classes or more, got one class"):
        CrestClassifier().fit(x, np.full(len(y), "none"))
    with pytest.raises(ValueError, match="Unknown label type"):
        CrestClassifier().fit(x, np.linspace(0, 1, len(y)))
