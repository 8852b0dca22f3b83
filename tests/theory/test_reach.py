import numpy as np
import pytest

from crest.theory.reach import as_cue, as_noise, as_ratio, as_sparsity, as_steps


def test_what_no_rule_of_its_own_forbids_must_still_be_within_reach() -> None:
    for refused in (lambda: as_noise("s1", 1e60), lambda: as_noise("s1", [1.0, 1e-60])):
        with pytest.raises(ValueError, match=r"s1 must lie in \[1e-50, 1e\+50\], got 1e.60"):
            refused()
    for name, refused in (
        ("epsilon", lambda: as_sparsity(1e-60)),
        ("gamma", lambda: as_cue(1e-60)),
        ("T", lambda: as_steps("T", 1e60)),
        ("event", lambda: as_ratio("event", 1e160)),
    ):
        with pytest.raises(ValueError, match=f"^{name} must lie in "):
            refused()


def test_the_rule_that_a_user_would_expect_is_told_first() -> None:
    with pytest.raises(ValueError, match="s0 must be positive, got 0"):
        as_noise("s0", 0.0)
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 1\), got 0.0"):
        as_sparsity(0.0)


def test_products_and_squares_of_the_ends_stay_numbers() -> None:
    least, most = float(as_noise("s0", 1e-50)), float(as_steps("T", 1e50))
    with np.errstate(all="raise"):
        largest = most / np.float64(least) ** 2
        assert np.isfinite((1 + as_ratio("event", largest)) ** 2)
        assert np.float64(least) ** 2 / np.float64(most) ** 2 > 0
