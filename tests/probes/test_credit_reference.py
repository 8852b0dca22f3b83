"""The probe against the slow reference that was written from the paper's text alone."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.probes import credit
from reference.credit_reference import credit as reference


@given(seed=st.integers(0, 9999), steps=st.integers(1, 30), masked=st.booleans(), coarse=st.booleans())
@settings(max_examples=40, deadline=None)
def test_credit_matches_the_reference(seed: int, steps: int, masked: bool, coarse: bool) -> None:
    generator = np.random.default_rng(seed)
    # Whole numbers in one channel give many exact ties; a zero step and a zero vector score 0.
    features = (
        generator.integers(-2, 3, (4, steps, 1)) * 1.0 if coarse else generator.normal(size=(4, steps, 3))
    )
    pooled = generator.normal(size=(4, features.shape[2]))
    features[0, 0] = 0.0
    pooled[1] = 0.0
    events = generator.random((4, steps)) < 0.3
    mask = np.arange(steps) < generator.integers(1, steps + 1, (4, 1)) if masked else None
    expected = reference(features, pooled, events, mask)
    found = credit(
        torch.from_numpy(features),
        torch.from_numpy(pooled),
        torch.from_numpy(events),
        None if mask is None else torch.from_numpy(mask),
    )
    for name in ("scores", "positive", "ecm", "precision", "cie", "chance"):
        np.testing.assert_allclose(getattr(found, name).numpy(), getattr(expected, name), rtol=0, atol=1e-12)
    for name in ("mean_ecm", "mean_precision", "mean_cie", "mean_chance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-12, nan_ok=True)
    assert found.n_trajectories - found.n_without_events == expected.counted
