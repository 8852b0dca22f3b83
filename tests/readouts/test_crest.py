import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from crest.lab.ablations import make_lab_readout
from crest.readouts import CrestConfig, CrestReadout
from crest.readouts.crest import masked_means
from eventful import lengths_mask, trajectories
from reference.crest_reference import crest as reference

# CREST and the paper's ablations of it: the same laws hold for all of them.
MODES = {
    "trajectory": {"budget": "trajectory"},
    "pooled": {"budget": "pooled"},
    "fixed": {"budget": 0.17},
    "stable": {"budget": "trajectory", "direction": "stable"},
    "split": {"budget": "trajectory", "split": True},
    "split-pooled": {"budget": "pooled", "split": True},
}
made = functools.partial(make_lab_readout, "crest", 8)


@pytest.mark.parametrize("mode", MODES)
@given(seed=st.integers(0, 9999), steps=st.integers(1, 60), masked=st.booleans())
@settings(max_examples=12, deadline=None)
def test_it_matches_the_reference(mode: str, seed: int, steps: int, masked: bool) -> None:
    features = trajectories(steps=steps, seed=seed)
    mask = lengths_mask(steps, [steps, max(1, steps // 2), max(1, steps - 7)]) if masked else None
    expected = reference(features.numpy(), None if mask is None else mask.numpy(), **MODES[mode])
    readout = made(**MODES[mode]).double()
    np.testing.assert_allclose(readout(features, mask).numpy(), expected.pooled, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(readout.votes(features, mask).numpy(), expected.votes)
    core = readout.select(features, mask)
    np.testing.assert_array_equal(core.selected.numpy(), expected.selected)
    for name in ("width", "tail", "epsilon"):
        ours = getattr(core, name).numpy().reshape(getattr(expected, name).shape)
        np.testing.assert_allclose(ours, getattr(expected, name), rtol=0, atol=1e-8)


OTHER = CrestConfig(sigma=3.0, dilation=1, epsilon_min=0.05, epsilon_max=0.5)


@pytest.mark.parametrize("mode", MODES)
def test_other_constants_reach_every_part(mode: str) -> None:
    features = trajectories(seed=5)
    options = {"sigma": 3.0, "dilation": 1, "eps_min": 0.05, "eps_max": 0.5}
    expected = reference(features.numpy(), **MODES[mode], **options)
    readout = made(**MODES[mode], config=OTHER).double()
    np.testing.assert_allclose(readout(features).numpy(), expected.pooled, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(readout.votes(features).numpy(), expected.votes)


@pytest.mark.parametrize("mode", MODES)
def test_the_alpha_constants_reach_the_contrast(mode: str) -> None:
    features = trajectories(seed=6)
    readout = made(**MODES[mode], config=CrestConfig(alpha_min=0.3, alpha_max=0.3)).double()
    core = readout.select(features)
    means = masked_means(features, core.selected)
    expected = 0.3 * (means.selected - means.rest) + 0.7 * means.everything
    torch.testing.assert_close(readout.eval()(features), expected)


def sparse(steps: int = 256, period: int = 64) -> Tensor:
    """Features that a rectifier gives: zero but for equal impacts of three steps."""
    features = torch.zeros(2, steps, 4, dtype=torch.float64)
    features[:, period // 2 :: period] = torch.tensor([1.0, 2.0, 0.0, -1.0], dtype=torch.float64)
    features[:, period // 2 + 1 :: period] = 0.5
    return features


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("period", [64, 10_000])
def test_sparse_and_periodic_features_match_the_reference(mode: str, period: int) -> None:
    """Exact ties and exact zeros, which rounding must not break, in float32 too, and whatever the padding."""
    features = sparse(period=min(period, 256))
    expected = reference(features.numpy(), **MODES[mode])
    padded = torch.nn.functional.pad(features, (0, 0, 0, 100))
    mask = lengths_mask(356, [256, 256])
    for dtype, tolerance in ((torch.float64, 1e-7), (torch.float32, 1e-5)):
        readout = made(**MODES[mode]).to(dtype)
        pooled = readout(features.to(dtype))
        np.testing.assert_allclose(pooled.numpy(), expected.pooled, rtol=0, atol=tolerance)
        again = made(**MODES[mode]).to(dtype)(padded.to(dtype), mask)
        torch.testing.assert_close(again, pooled, rtol=0, atol=tolerance)


def test_a_wide_budget_on_a_sparse_channel_still_reads_the_event() -> None:
    """Most residuals are zero: to select them too, as ties of the last one, would select everything."""
    features = torch.zeros(1, 512, 1)
    features[0, 100:103] = 1.0
    readout = CrestReadout(0.3, alpha=1.0, config=CrestConfig(sigma=2.0))
    assert readout.select(features).selected.sum() < 60
    assert readout(features) > 0.05


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1e15, 1e35])
def test_the_scale_law_holds_over_the_range_of_float32(scale: float) -> None:
    features = trajectories().float()
    readout = CrestReadout("trajectory")
    torch.testing.assert_close(readout(scale * features) / scale, readout(features), rtol=1e-4, atol=1e-4)


def test_a_large_offset_costs_no_more_digits_than_the_features_have() -> None:
    """The spacing of float32 at 1e4 is 1e-3; a sum of 70 such numbers would lose ten times that."""
    features = trajectories().float()
    readout = CrestReadout("trajectory", alpha=1.0)
    torch.testing.assert_close(readout(features + 1e4), readout(features), rtol=0, atol=2e-3)


@pytest.mark.parametrize("mode", MODES)
@given(seed=st.integers(0, 9999), shift=st.floats(-20, 20), scale=st.floats(0.05, 50))
@settings(max_examples=15, deadline=None)
def test_shift_and_scale_laws(mode: str, seed: int, shift: float, scale: float) -> None:
    """p(F + b) = p(F) + (1 - alpha) b, and p(cF) = c p(F)."""
    features = trajectories(seed=seed)
    background = shift * torch.linspace(-1, 1, 5, dtype=torch.float64)
    readout = made(**MODES[mode]).double().eval()
    core = readout.select(features)
    pooled = readout(features)
    torch.testing.assert_close(
        readout(features + background), pooled + (1 - core.alpha) * background, rtol=0, atol=1e-9
    )
    torch.testing.assert_close(readout(scale * features), scale * pooled, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps", [1, 3, 4, 64])
def test_constant_features_give_their_share(mode: str, steps: int) -> None:
    constant = torch.tensor([0.1, -2.3, 7.7, 0.0, 1e4], dtype=torch.float64)
    features = constant.expand(2, steps, 5)
    readout = made(**MODES[mode]).double().eval()
    alpha = readout.select(features).alpha
    torch.testing.assert_close(
        readout(features), ((1 - alpha) * constant).expand(2, 5), rtol=1e-12, atol=1e-12
    )


def test_a_flat_profile_is_read_with_the_least_contrast() -> None:
    """No transience anywhere: the widest budget and the most global context."""
    core = CrestReadout("trajectory").select(torch.full((1, 50, 4), 0.3))
    assert core.epsilon.item() == pytest.approx(0.30)
    assert core.alpha.item() == pytest.approx(0.5)


def test_one_channel() -> None:
    features = 0.1 * torch.randn(2, 100, 1)
    features[:, 40:43] += 5.0
    assert (CrestReadout()(features) > 2.5).all()


def test_gradient_is_that_of_the_gathered_features() -> None:
    """Written out for the mask and alpha in use: nothing may flow through selection, budget or alpha.

    Not a gradcheck: finite differences see alpha move with the features, the stop-gradient must not.
    """
    features = trajectories().requires_grad_()
    readout = CrestReadout("trajectory").double()
    direction = torch.randn(3, 5, dtype=torch.float64)
    readout(features).backward(direction)
    core = readout.select(features)
    inside = core.selected.double()
    outside = 1 - inside
    weights = (
        core.alpha.unsqueeze(1)
        * (inside / inside.sum(1, keepdim=True) - outside / outside.sum(1, keepdim=True))
        + (1 - core.alpha.unsqueeze(1)) / features.shape[1]
    )
    torch.testing.assert_close(features.grad, weights * direction.unsqueeze(1), rtol=0, atol=1e-12)


def test_it_has_no_parameters() -> None:
    assert list(CrestReadout().parameters()) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_a_mask_of_zeros_and_ones_is_a_mask_at_every_door(mode: str, dtype: torch.dtype) -> None:
    features, mask = trajectories(), lengths_mask(70, [70, 40, 0])
    readout = made(**MODES[mode]).double().eval()
    for method in (readout, readout.votes, readout.step_weights):
        assert torch.equal(method(features, mask.to(dtype)), method(features, mask))
    for mine, theirs in zip(
        readout.select(features, mask.to(dtype)), readout.select(features, mask), strict=True
    ):
        assert torch.equal(mine, theirs)
    with pytest.raises(ValueError, match=r"^mask must hold booleans or the integers 0 and 1, got 2$"):
        readout.votes(features, 2 * mask.to(dtype))


def test_calibrate_takes_a_mask_of_zeros_and_ones() -> None:
    """The third trajectory has no valid step, so it must not count."""
    features, mask = trajectories(), lengths_mask(70, [70, 40, 0])
    expected = CrestReadout().double().calibrate([(features, mask)]).state_dict()
    for dtype in (torch.uint8, torch.int64):
        found = CrestReadout().double().calibrate([(features, mask.to(dtype))]).state_dict()
        assert all(torch.equal(found[name], value) for name, value in expected.items())
    with pytest.raises(ValueError, match=r"^mask must hold booleans or the integers 0 and 1, got 2$"):
        CrestReadout().calibrate([(features, 2 * mask.long())])


def test_alpha_can_be_fixed() -> None:
    features = trajectories()
    for alpha in (0.0, 0.7, 1.0):
        readout = CrestReadout("trajectory", alpha=alpha)
        means = masked_means(features, readout.select(features).selected)
        expected = alpha * (means.selected - means.rest) + (1 - alpha) * means.everything
        torch.testing.assert_close(readout(features), expected)


def test_votes_find_the_event() -> None:
    features = 0.1 * torch.randn(16, 256, 8)
    starts = torch.randint(0, 250, (16,))
    for row, start in enumerate(starts.tolist()):
        features[row, start : start + 4] += 2 * torch.randn(8).sign()
    best = CrestReadout().votes(features).argmax(1)
    assert ((best >= starts - 2) & (best <= starts + 5)).all()


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 1.4}, r"budget must be .* a number in \(0, 1\], got 1.4"),
        ({"budget": 0.0}, r"budget must be .* a number in \(0, 1\], got 0.0"),
        ({"budget": True}, "budget must be .* got True"),
        ({"budget": None}, "budget must be .* got None"),
        ({"config": {"sigma": 4.0}}, "config must be a CrestConfig, got dict"),
        ({"budget": "batch"}, "budget must be 'pooled', 'trajectory' or a number .* got 'batch'"),
        ({"alpha": 2.0}, r"alpha must lie in \[0, 1\], got 2.0"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrestReadout(**options)


@pytest.mark.unchecked
def test_a_tensor_is_not_a_collection_of_batches() -> None:
    with pytest.raises(ValueError, match=r"batches must be an iterable of batches, .* pass \[features\]"):
        CrestReadout().calibrate(trajectories())


def test_repr_shows_what_differs() -> None:
    assert "budget='pooled', sigma=4.0\n" in repr(CrestReadout(config=CrestConfig(sigma=4.0)))
    assert repr(CrestReadout(0.1, alpha=0.5, run_up=0)) == "CrestReadout(budget=0.1, alpha=0.5)"


@pytest.mark.parametrize("mode", MODES)
def test_step_weights_are_the_absolute_gradients(mode: str) -> None:
    """p is linear in the features for a given selection, so its gradient is each step's weight."""
    features = trajectories(seed=3).requires_grad_()
    mask = lengths_mask(70, [70, 40, 3])
    readout = made(**MODES[mode]).double().eval()
    readout(features, mask).sum().backward()
    size = features.grad.abs().sum(2)
    torch.testing.assert_close(readout.step_weights(features, mask), size / size.sum(1, keepdim=True))


@pytest.mark.parametrize("mode", MODES)
def test_forward_mode_gives_what_reverse_mode_gives(mode: str) -> None:
    """Selection, budget and alpha have no derivative in either: a tangent must not pass where a gradient does not."""
    generator = torch.Generator().manual_seed(1000)
    features = trajectories(seed=3)
    tangent = torch.randn(features.shape, dtype=torch.float64, generator=generator)
    # Wide bounds: where budget or alpha are clipped, no tangent could pass anyway.
    wide = CrestConfig(epsilon_min=0.001, epsilon_max=1.0, alpha_min=0.0, gate_start=0.0, gate_width=2.0)
    readout = made(**MODES[mode], config=wide).double().eval()
    pooled, forward = torch.func.jvp(readout, (features,), (tangent,))
    cotangent = torch.randn(pooled.shape, dtype=torch.float64, generator=generator)
    (backward,) = torch.func.vjp(readout, features)[1](cotangent)
    torch.testing.assert_close((forward * cotangent).sum(), (backward * tangent).sum(), rtol=1e-9, atol=1e-9)


def test_no_graph_hangs_on_the_selection() -> None:
    features = trajectories().requires_grad_()
    core = CrestReadout().double().select(features)
    assert not any(value.requires_grad for value in core)


def test_a_fixed_budget_covers_its_share() -> None:
    features = trajectories(batch=2, steps=500)
    core = CrestReadout(0.1, config=CrestConfig(dilation=0)).select(features)
    assert (core.selected.sum(1) == 50).all()
    torch.testing.assert_close(core.alpha, torch.full((2, 1), 0.7625, dtype=torch.float64))


def test_means_by_hand() -> None:
    features = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [6.0, 60.0], [99.0, 99.0]]])
    selected = torch.tensor([[[True, False], [False, False], [True, True], [True, True]]])
    mask = torch.tensor([[True, True, True, False]])
    means = masked_means(features, selected, mask)
    torch.testing.assert_close(means.selected, torch.tensor([[3.5, 60.0]]))
    torch.testing.assert_close(means.rest, torch.tensor([[2.0, 15.0]]))
    torch.testing.assert_close(means.everything, torch.tensor([[3.0, 30.0]]))


def test_where_everything_is_selected_the_rest_is_the_global_mean() -> None:
    features = torch.randn(1, 5, 2)
    means = masked_means(features, torch.ones(1, 5, 2, dtype=torch.bool))
    torch.testing.assert_close(means.rest, means.everything)
    torch.testing.assert_close(means.selected, means.everything)


def test_means_of_half_precision_are_added_up_in_more() -> None:
    ones = torch.ones(1, 300, 1, dtype=torch.bfloat16)
    assert float(masked_means(ones, ones > 0).selected) == 1
