"""The compiled path against the plain one: the same steps, values to rounding, every derivative."""

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from crest.background.slow import local_line, slow_background
from crest.background.transience import channel_transience, dilate, top_steps, transience_profile
from crest.readouts import CrestConfig, CrestReadout
from crest.readouts.crest import contrast, masked_means
from crest.readouts.fast import backend
from crest.readouts.fast.fused import Chosen, choose_steps, pool_chosen, residuals_of
from crest.readouts.run_up import end_profile

FLOOR = TIE = 1e-5
DELTA = 1e-12
MODES: dict[str, dict[str, object]] = {
    "pooled": {},
    "trajectory": {"budget": "trajectory"},
    "fixed": {"budget": 0.3},
    "given": {"alpha": 0.3, "run_up": (2, 1)},
    "stride": {"stride": 4},
}


def made(
    batch: int, steps: int, width: int, seed: int, dtype: torch.dtype = torch.float64, masked: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Noise, a burst and a constant channel; with a mask that has gaps, and one trajectory without a valid step."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(batch, steps, width, generator=generator, dtype=torch.float64)
    features[:, steps // 3 : steps // 3 + 3] += 4.0
    features[..., 0] = 0.7
    mask = None
    if masked:
        mask = torch.rand(batch, steps, generator=generator) < 0.8
        mask[:, 0] = True
        mask[-1] = batch == 1
    return features.to(dtype), mask


def both(
    readout: CrestReadout, features: Tensor, mask: Tensor | None, training: bool
) -> list[tuple[CrestReadout, Tensor, Tensor]]:
    """The readout after it pooled, the pooled vector, and the features' gradient, by plain torch and compiled."""
    found = []
    for name in ("torch", "numba"):
        twin, leaf = copy.deepcopy(readout).train(training), features.clone().requires_grad_()
        with backend(name):
            pooled = twin(leaf, mask)
            pooled.square().sum().backward()
        found.append((twin, pooled.detach(), leaf.grad))
    return found


@given(
    batch=st.integers(1, 9),
    steps=st.integers(1, 90),
    width=st.integers(1, 19),
    seed=st.integers(0, 99),
    masked=st.booleans(),
    training=st.booleans(),
    mode=st.sampled_from(sorted(MODES)),
    dtype=st.sampled_from([torch.float64, torch.float32]),
)
@settings(max_examples=60, deadline=None)
def test_both_paths_pool_alike(
    batch: int,
    steps: int,
    width: int,
    seed: int,
    masked: bool,
    training: bool,
    mode: str,
    dtype: torch.dtype,
) -> None:
    features, mask = made(batch, steps, width, seed, dtype, masked)
    if mode == "given" and steps < 4:
        mode = "pooled"
    (plain, expected, gradient), (compiled, pooled, other) = both(
        CrestReadout(**MODES[mode]), features, mask, training
    )
    # Few steps enlarge rounding: of 2,500 random cases in float32 the farthest were 2e-6 apart, and 4e-6 in the gradient.
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    scale = float(features.abs().amax())
    torch.testing.assert_close(pooled, expected, rtol=0, atol=tolerance * scale)
    torch.testing.assert_close(other, gradient, rtol=0, atol=tolerance * scale)
    for name, value in compiled.state_dict().items():
        torch.testing.assert_close(value, plain.state_dict()[name], rtol=1e-5, atol=1e-6)
    with backend("torch"):
        wanted = plain.eval().select(features, mask)
    with backend("numba"):
        core = compiled.eval().select(features, mask)
    assert torch.equal(core.selected, wanted.selected)
    torch.testing.assert_close(core.alpha, wanted.alpha, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("batch", "steps", "width"), [(2, 5000, 3), (1, 20011, 9), (9, 700, 70)])
@pytest.mark.parametrize("masked", [False, True])
def test_long_and_wide_features_pool_alike(batch: int, steps: int, width: int, masked: bool) -> None:
    """Beyond a block of steps, the length from which rows are sampled, and a cache line of channels."""
    features, mask = made(batch, steps, width, 3, torch.float32, masked)
    (_, expected, gradient), (_, pooled, other) = both(CrestReadout(), features, mask, True)
    torch.testing.assert_close(pooled, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(other, gradient, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    features, mask = made(4, 200, 10, 0, dtype, masked=True)
    (_, expected, gradient), (_, pooled, other) = both(CrestReadout(), features, mask, True)
    assert pooled.dtype == other.dtype == dtype
    torch.testing.assert_close(pooled, expected, rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(other, gradient, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("layout", ["time last", "every second", "expanded"])
def test_any_layout_in_memory_will_do(layout: str) -> None:
    features, _ = made(4, 100, 10, 0)
    strided = {
        "time last": features.transpose(1, 2).contiguous().transpose(1, 2),
        "every second": features.repeat_interleave(2, dim=2)[..., ::2],
        "expanded": features[:1].expand(4, -1, -1),
    }[layout]
    assert not strided.is_contiguous()
    with backend("numba"):
        pooled, expected = CrestReadout(0.1)(strided), CrestReadout(0.1)(strided.clone().contiguous())
    torch.testing.assert_close(pooled, expected, rtol=0, atol=0)


@pytest.mark.parametrize("filler", [float("nan"), float("inf"), 1e30])
def test_what_stands_in_the_padding_is_never_read(filler: float) -> None:
    features, mask = made(5, 60, 6, 0, masked=True)
    (_, expected, _), _ = both(CrestReadout(), features, mask, True)
    _, (_, pooled, gradient) = both(
        CrestReadout(), features.masked_fill(~mask.unsqueeze(-1), filler), mask, True
    )
    torch.testing.assert_close(pooled, expected, rtol=0, atol=1e-12)
    assert (gradient[~mask] == 0).all()


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 40, 300])
def test_residuals_are_those_of_the_plain_background(steps: int, masked: bool, line: bool) -> None:
    features, mask = made(3, steps, 5, 1, masked=masked)
    found = residuals_of(features, mask, sigma=6.0, floor=FLOOR, delta=DELTA, lines=2 * line)
    transience = channel_transience(features, mask, 6.0, DELTA, slow_background)
    torch.testing.assert_close(found.profile, transience_profile(transience), rtol=0, atol=1e-10)
    assert torch.equal(found.above, (transience > 0).sum(1))
    fair = transience_profile(channel_transience(features, mask, 6.0, DELTA, local_line))
    torch.testing.assert_close(found.line_profile, fair[: 2 * line], rtol=0, atol=1e-10)


def test_the_run_up_is_looked_for_alike() -> None:
    features, mask = made(20, 120, 7, 2, masked=True)
    with backend("torch"):
        expected, rows = end_profile(features, mask, 6.0, DELTA)
    with backend("numba"):
        profile, same = end_profile(features, mask, 6.0, DELTA)
    torch.testing.assert_close(profile, expected, rtol=0, atol=1e-10)
    assert torch.equal(rows, same)


def chosen_of(features: Tensor, mask: Tensor | None, count: int) -> Chosen:
    found = residuals_of(features.detach(), mask, sigma=6.0, floor=FLOOR, delta=DELTA)
    counts = found.above.clamp(min=1, max=count)
    return choose_steps(found, counts, mask, floor=FLOOR, tie=TIE, dilation=2)


@pytest.mark.parametrize("masked", [False, True])
def test_steps_and_means_are_those_of_the_plain_functions(masked: bool) -> None:
    features, mask = made(3, 100, 11, 5, masked=masked)
    chosen, transience = chosen_of(features, mask, 6), channel_transience(features, mask)
    count = (transience > 0).sum(1).clamp(min=1, max=6)
    selected = dilate(top_steps(transience, count, mask), 2, mask)
    assert torch.equal(chosen.steps(), selected)
    assert torch.equal(chosen.size, selected.sum(1))
    alpha = torch.rand(3, 1, dtype=torch.float64)
    expected = contrast(masked_means(features, selected, mask), alpha)
    torch.testing.assert_close(pool_chosen(features, chosen, alpha, mask), expected, rtol=0, atol=1e-12)


def test_derivatives_of_any_order() -> None:
    features, mask = made(2, 30, 9, 0, masked=True)
    chosen, alpha = chosen_of(features, mask, 3), torch.full((2, 1), 0.7, dtype=torch.float64)
    leaf = features.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: pool_chosen(x, chosen, alpha, mask).square(), leaf)
    assert torch.autograd.gradgradcheck(lambda x: pool_chosen(x, chosen, alpha, mask).square(), leaf)


@pytest.mark.unchecked
@pytest.mark.parametrize("masked", [False, True])
def test_the_operators_are_well_formed(masked: bool) -> None:
    features, mask = made(2, 20, 5, 0, masked=masked)
    residuals = torch.ops.crest.residuals.default
    torch.library.opcheck(residuals, (features, mask, 6.0, FLOOR, DELTA, 1))
    tiles, peak, above, *_ = residuals(features, mask, 6.0, FLOOR, DELTA, 1)
    count = torch.ones_like(above)
    torch.library.opcheck(
        torch.ops.crest.choose.default, (tiles, peak, above, count, mask, FLOOR, TIE, 0.0, 2)
    )
    flags, _ = torch.ops.crest.choose(tiles, peak, above, count, mask, FLOOR, TIE, 0.0, 2)
    weights = [torch.rand_like(peak) for _ in range(3)]
    torch.library.opcheck(torch.ops.crest.pool.default, (features.requires_grad_(), flags, *weights, mask))
    gradient = torch.rand_like(peak).requires_grad_()
    torch.library.opcheck(torch.ops.crest.spread.default, (gradient, flags, *weights, mask, 20))


def test_threads_share_a_batch() -> None:
    features, mask = made(7, 50, 9, 0, masked=True)
    expected = both(CrestReadout(), features, mask, True)[1]
    torch.set_num_threads(3)
    try:
        shared = both(CrestReadout(), features, mask, True)[1]
    finally:
        torch.set_num_threads(1)
    assert torch.equal(shared[1], expected[1])
    assert torch.equal(shared[2], expected[2])


def test_transforms_fall_back_to_plain_torch() -> None:
    features, _ = made(3, 40, 5, 0)
    readout = CrestReadout("trajectory", validate=False).eval()
    with backend("numba"):
        mapped = torch.func.vmap(lambda row: readout(row.unsqueeze(0)).squeeze(0))(features)
        torch.testing.assert_close(mapped, readout(features), rtol=0, atol=1e-10)
        _, tangent = torch.func.jvp(readout, (features,), (features,))
        assert torch.isfinite(tangent).all()


def test_a_wide_low_pass_runs_plain_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain convolution would take ten million taps here."""
    monkeypatch.setattr(torch.ops.crest, "residuals", None)
    features = torch.randn(2, 20, 3)
    wide = CrestReadout(0.1, run_up=0, config=CrestConfig(sigma=2e6)).eval()
    assert wide(features).shape == (2, 3)
    with pytest.raises(TypeError, match="NoneType"):
        CrestReadout(0.1, run_up=0).eval()(features)


@pytest.mark.unchecked
def test_operators_refuse_no_rows_and_counts_of_no_steps() -> None:
    features = torch.randn(2, 20, 3)
    for empty in (features[:0], features[:, :0], features[..., :0]):
        with pytest.raises(ValueError, match=r"^features must have shape \(B, T, D\), none of them 0"):
            torch.ops.crest.residuals(empty, None, 6.0, 1e-5, 1e-12, 0)
    found = residuals_of(features, None, sigma=6.0, floor=1e-5, delta=1e-12)
    for count in (-1, 21, 10**6):
        wanted = torch.ones(2, 3, dtype=torch.int64)
        wanted[1, 2] = count
        with pytest.raises(ValueError, match=rf"^count must lie in \[0, T\], T = 20, got .*{count}"):
            choose_steps(found, wanted, None, floor=1e-5, tie=1e-5, dilation=0)


def test_operators_refuse_other_shapes_and_dtypes_by_name() -> None:
    features, mask = made(3, 20, 5, 0, masked=True)
    ops = torch.ops.crest
    tiles, peak, above, *_ = ops.residuals(features, mask, 6.0, FLOOR, DELTA, 1)
    count = torch.ones_like(above)
    flags, _ = ops.choose(tiles, peak, above, count, mask, FLOOR, TIE, 0.0, 2)
    inner, outer, level = (torch.rand_like(peak) for _ in range(3))
    valid = {
        "residuals": (ops.residuals, {"features": features, "mask": mask, "sigma": 6.0, "floor": FLOOR, "delta": DELTA, "lines": 1}),
        "choose": (ops.choose, {"tiles": tiles, "peak": peak, "above": above, "count": count, "mask": mask, "floor": FLOOR, "tie": TIE, "resolution": 0.0, "dilation": 2}),
        "pool": (ops.pool, {"features": features, "tiles": flags, "inner": inner, "outer": outer, "level": level, "mask": mask}),
        "spread": (ops.spread, {"gradient": peak, "tiles": flags, "inner": inner, "outer": outer, "level": level, "mask": mask, "steps": 20}),
    }  # fmt: skip
    tried = 0
    for operator, arguments in valid.values():
        operator(**arguments)
        for name, value in arguments.items():
            if isinstance(value, torch.Tensor):
                # Residuals of other features are residuals: of these the mask says the size.
                narrower = value[:, :-1] if name == "features" else value[..., :-1]
                for wrong in (value[:-1], narrower, value.unsqueeze(0), value.to(torch.int16)):
                    tried += 1
                    with pytest.raises(ValueError, match="must have shape"):
                        operator(**{**arguments, name: wrong})
    for options in ({"lines": 4}, {"lines": -1}, {"sigma": 0.0}, {"sigma": 1e6}):
        with pytest.raises(ValueError, match="lines must lie in"):
            ops.residuals(**{**valid["residuals"][1], **options})
    assert tried == 4 * 19


def ramps_and_teeth(steps: int) -> torch.Tensor:
    time = torch.arange(steps, dtype=torch.float64)
    ramps = [slope * time + offset for slope in (1.0, 0.1, 1 / 3) for offset in (0.0, 1.0)]
    teeth = [(time % period) / period for period in (7, 16, 50, 100)]
    rest = [(time - steps / 2).abs(), *(t / 100 + time / steps for t in teeth)]
    return torch.stack([*ramps, *teeth, *rest], 1).unsqueeze(0).float()


@pytest.mark.parametrize("budget", [0.05, 0.1, "trajectory"])
@pytest.mark.parametrize("steps", [100, 250, 500, 1000])
def test_both_codes_select_the_same_where_rounding_would_decide(steps: int, budget: Any) -> None:
    features, readout = ramps_and_teeth(steps), CrestReadout(budget, run_up=0)
    with backend("numba"):
        compiled = readout.select(features).selected
    with backend("torch"):
        plain = readout.select(features).selected
    assert torch.equal(compiled, plain)


@pytest.mark.parametrize(
    ("steps", "slope", "period", "offset"),
    [
        (173, -0.006715601, 1, 0.0),
        (108, -0.0003989082276821137, 1, -1.4870136976242065),
        (103, 17.500330209732056, 14, 0.0),
        (143, -0.010845223665237427, 9, 0.0),
        (159, -51.54317021369934, 19, 0.0),
    ],
)
def test_both_codes_pool_ramps_and_stairs_alike(steps: int, slope: float, period: int, offset: float) -> None:
    """Found among thousands; four units of the reach left these to rounding."""
    features = (slope * (torch.arange(float(steps)) // period) + offset).reshape(1, steps, 1)
    found = []
    for name in ("numba", "torch"):
        with backend(name):
            found.append(CrestReadout().eval()(features))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4 * float(features.abs().max()))
