"""What CREST in plain torch asks of a device: kernels launched and bytes moved, and that parts of a batch change nothing."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from crest.background import transience
from crest.readouts import CrestReadout, plain
from crest.readouts.crest import contrast, masked_means
from crest.readouts.fast import backend
from eventful import lengths_mask, trajectories

B, T, D = 16, 512, 64
# Operators that launch nothing; views are told by their schema. And those that do not read the tensor whose likeness they make.
FREE = ("empty", "new_empty", "empty_like", "empty_strided", "_unsafe_view", "lift_fresh", "detach")
MADE = ("new_zeros", "zeros_like", "ones_like", "full_like", "new_tensor")


class Traffic(TorchDispatchMode):
    """Counts the kernels that a GPU would launch, and the bytes that they read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels = self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # What these do on a GPU, instead of one call into NumPy.
        for_gpu = {
            torch.ops.crest.kth_largest.default: transience._kth_by_torch,
            torch.ops.crest.ascending.default: transience._sorted_by_torch,
        }
        if func in for_gpu:
            with self:
                return for_gpu[func](*args)
        made = func(*args, **(kwargs or {}))
        view = any(
            returned.alias_info and not returned.alias_info.is_write for returned in func._schema.returns
        )
        name = func.overloadpacket.__name__
        if not view and name not in FREE:
            self.kernels += 1
            self.bytes += sum(moved(part) for part in tensors(made if name in MADE else (args, kwargs, made)))
        return made


def tensors(value: object) -> list[Tensor]:
    found: list[Tensor] = []
    torch.utils._pytree.tree_map_only(Tensor, found.append, value)
    return found


def moved(tensor: Tensor) -> int:
    """Bytes of a tensor in memory: what is expanded or overlaps is read once."""
    sizes = [(size, stride) for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride]
    span = 1 + sum((size - 1) * stride for size, stride in sizes) if tensor.numel() else 0
    return min(torch.Size([size for size, _ in sizes]).numel(), span) * tensor.element_size()


def traffic(readout: CrestReadout, *, masked: bool = False) -> dict[str, tuple[int, float]]:
    """Kernels and bytes per feature, forward and backward, on the path that a GPU takes."""
    features = torch.randn(B, T, D, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = torch.arange(T).expand(B, T) < T - 40 if masked else None
    found = {}
    with backend("torch"):
        with Traffic() as forward:
            pooled = readout(features, mask).sum()
        with Traffic() as backward:
            pooled.backward()
    for name, counted in (("forward", forward), ("backward", backward)):
        found[name] = counted.kernels, counted.bytes / features.numel()
    return found


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crest.readouts.crest.free_to_ask", lambda values: False)
    monkeypatch.setattr(plain, "cache_parts", lambda features: [slice(None)])


def test_the_counter_counts() -> None:
    features = torch.randn(2, 30, 4)
    with Traffic() as counted:
        (features.transpose(1, 2) + features[:1].expand(2, -1, -1).transpose(1, 2)).sum()
    assert counted.kernels == 2
    assert counted.bytes == 4 * (240 + 120 + 240 + 240 + 1)


# How many there are today, with a few percent of room: whoever adds a pass over the features sees it here.
# docs/lab/performance.md says what they mean.
MOST = {
    ("training", False): ((420, 345), (10, 33)),
    ("evaluation", False): ((230, 207), (10, 33)),
    ("evaluation", True): ((230, 215), (10, 41)),
}


@pytest.mark.unchecked
@pytest.mark.parametrize(("mode", "masked"), MOST)
@pytest.mark.usefixtures("as_on_a_gpu")
def test_no_more_kernels_and_bytes_than_before(mode: str, masked: bool) -> None:
    readout = CrestReadout(validate=False).train(mode == "training")
    found = traffic(readout, masked=masked)
    for name, (kernels, moved_bytes) in zip(("forward", "backward"), MOST[mode, masked], strict=True):
        assert found[name][0] <= kernels, found
        assert found[name][1] <= moved_bytes, found


# -- parts of a batch


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_parts_of_a_batch_give_what_all_of_it_gives(
    monkeypatch: pytest.MonkeyPatch, training: bool, masked: bool
) -> None:
    found = []
    for size in (1, 2**40):
        monkeypatch.setattr(plain, "_PART", size)
        features = trajectories(batch=12, steps=90).requires_grad_()
        mask = lengths_mask(90, [90, 60, 0, 31] * 3) if masked else None
        readout = CrestReadout().double().train(training)
        with backend("torch"):
            pooled = readout(features, mask)
            pooled.square().sum().backward()
            core = readout.select(features, mask)
        found.append((pooled.detach(), features.grad, *core, *readout.state_dict().values()))
    assert len(plain.cache_parts(features)) == 1
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_the_look_at_the_run_up_shares_what_line_1_finds() -> None:
    """Away from the ends a line runs through the average: a profile by it needs the residuals at the ends alone."""
    for steps in (20, 72, 73, 200):
        features = trajectories(batch=3, steps=steps)
        shared = plain.residual_parts(features, None, lines=2).line_profile
        alone = plain.line_profile(features[:2], None, sigma=6.0, delta=1e-12)
        torch.testing.assert_close(shared, alone, rtol=0, atol=1e-12)
    mask = lengths_mask(200, [200, 150, 60])
    shared = plain.residual_parts(transience.in_units_of_reach(features, mask), mask, lines=2).line_profile
    alone = plain.line_profile(features[:2], mask[:2], sigma=6.0, delta=1e-12)
    torch.testing.assert_close(shared, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_derivatives_of_any_order(masked: bool) -> None:
    features = trajectories(batch=3, steps=12, width=2)
    mask = lengths_mask(12, [12, 7, 0]) if masked else None
    chosen = plain.marked_steps([features[:2] > 0.5, features[2:] > 0.5])
    alpha = torch.full((3, 1), 0.7, dtype=torch.float64)
    if mask is not None:
        flags = chosen.steps() & mask.unsqueeze(-1)
        chosen = plain.marked_steps([flags[:2], flags[2:]])
    leaf = features.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: pool(x, chosen, alpha, mask), leaf)
    assert torch.autograd.gradgradcheck(lambda x: pool(x, chosen, alpha, mask), leaf)


def pool(features: Tensor, chosen: plain.MarkedSteps, alpha: Tensor, mask: Tensor | None) -> Tensor:
    # The first step is taken as a constant, and taken off and added it changes nothing: so finite differences agree.
    return plain.pool_marked(features, chosen, alpha, mask).square()


@pytest.mark.parametrize("masked", [False, True])
def test_the_weighted_sum_is_the_contrast_of_the_means(masked: bool) -> None:
    features = trajectories()
    mask = lengths_mask(70, [70, 40, 0]) if masked else None
    flags = features > 0.5 if mask is None else (features > 0.5) & mask.unsqueeze(-1)
    flags[0, :, 1] = True
    alpha = torch.rand(3, 5, dtype=torch.float64)
    expected = contrast(masked_means(features, flags, mask), alpha)
    pooled = plain.pool_marked(features, plain.marked_steps([flags]), alpha, mask)
    torch.testing.assert_close(pooled, expected, rtol=0, atol=1e-12)


def test_rounded_products_are_not_used_to_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    features = trajectories(width=20).float()
    expected = CrestReadout(0.1).select(features).selected
    monkeypatch.setattr(torch, "bmm", None)
    torch.set_float32_matmul_precision("high")
    try:
        with backend("torch"):
            found = CrestReadout(0.1).select(features).selected
    finally:
        torch.set_float32_matmul_precision("highest")
    assert torch.equal(found, expected)
    with backend("torch"), torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(CrestReadout(0.1).select(features).selected, expected)
    with backend("torch"), pytest.raises(TypeError, match="NoneType"):
        CrestReadout(0.1).select(features)
