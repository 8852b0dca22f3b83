"""A compiled model with CREST inside: one graph, and the same one for other batch sizes and lengths."""

import copy

import pytest
import torch
import torch._dynamo
from torch import Tensor, nn

from crest.readouts import CrestReadout, graph, plain
from crest.readouts.fast import backend
from eventful import lengths_mask, trajectories

pytestmark = pytest.mark.unchecked


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.GELU(), CrestReadout(), nn.Linear(16, 1))


def step(network: nn.Module, signals: Tensor) -> Tensor:
    """A loss with its gradients."""
    network.zero_grad()
    loss: Tensor = network(signals).square().mean()
    loss.backward()
    return loss.detach()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch", "numba"])
def test_a_model_is_one_graph_for_all_batch_sizes_and_lengths(name: str) -> None:
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    eager = model()
    twin = copy.deepcopy(eager)
    # `fullgraph` refuses a break, and `error_on_recompile` a second graph. Not by inductor, which compiles sums over few
    # steps otherwise than those over many, whatever the readout.
    compiled = torch.compile(twin, fullgraph=True, dynamic=True, backend="aot_eager")
    with backend(name), torch._dynamo.config.patch(error_on_recompile=True):
        for batch, steps in ((9, 200), (4, 60), (32, 75), (16, 300), (2, 9)):
            signals = torch.randn(batch, steps, 4, generator=torch.Generator().manual_seed(steps))
            torch.testing.assert_close(step(compiled, signals), step(eager, signals), rtol=1e-4, atol=1e-5)
            for own, other in zip(twin.parameters(), eager.parameters(), strict=True):
                torch.testing.assert_close(own.grad, other.grad, rtol=1e-3, atol=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    for own, other in zip(twin.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch", "numba"])
def test_a_run_up_that_was_found_is_left_out_in_the_graph_too(name: str) -> None:
    torch.compiler.reset()
    generator = torch.Generator().manual_seed(0)
    features = 0.1 * torch.randn(16, 200, 20, generator=generator)
    features = features + 8.0 * torch.exp(-torch.arange(200) / 5).unsqueeze(-1)
    eager = CrestReadout()
    twin = copy.deepcopy(eager)
    compiled = torch.compile(twin, fullgraph=True, backend="aot_eager")
    with backend(name):
        for mask in (None, lengths_mask(200, [200, 170] * 8)):
            torch.testing.assert_close(compiled(features, mask), eager(features, mask), rtol=0, atol=1e-5)
    assert eager.run_up.steps[0] > 0
    assert torch.equal(twin.run_up.steps, eager.run_up.steps)


@pytest.mark.parametrize("masked", [False, True])
def test_the_operators_are_well_formed(masked: bool) -> None:
    features = trajectories(batch=3, steps=30)
    mask = lengths_mask(30, [30, 20, 7]) if masked else None
    ops = torch.ops.crest
    part, resolution, profile, _ = ops.plain_residuals(features, mask, 6.0, 1e-12, 2)
    assert torch.equal(part, plain.residual_parts(features, mask, lines=2).parts[0])
    torch.library.opcheck(ops.plain_residuals.default, (features, mask, 6.0, 1e-12, 2))
    # Of the same steps they stay; of others they are found anew.
    for own in (mask, lengths_mask(30, [20, 20, 7])):
        renewed = tuple(tensor.clone() for tensor in (part, resolution, profile))
        torch.library.opcheck(ops.renew.default, (list(renewed), features, own, mask, 6.0, 1e-12, False))
        ops.renew(renewed, features, own, mask, 6.0, 1e-12, False)
        found = plain.residual_parts(features, own)
        for one, other in zip(renewed, (*found.parts, found.resolution, found.profile), strict=True):
            assert torch.equal(one, other)
    count = torch.full((3, 1), 4)
    torch.library.opcheck(ops.plain_choose.default, (part, resolution, count, mask, 2, 30))
    flags, size = ops.plain_choose(part, resolution, count, mask, 2, 30)
    assert torch.equal(size, flags.sum(1))
    first, inner, outer = (torch.rand(3, 5, dtype=torch.float64) for _ in range(3))
    torch.library.opcheck(
        ops.plain_sum.default, (features.requires_grad_(), first, inner, outer, mask, flags)
    )
    torch.library.opcheck(ops.plain_spread.default, (first.requires_grad_(), inner, outer, mask, flags))


def test_eager_code_is_in_no_graph() -> None:
    assert not graph.in_graph(trajectories())
