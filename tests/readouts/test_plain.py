"""What CREST in plain torch asks of a device: kernels launched and bytes moved, and that parts of a batch change nothing."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from crest.background import transience
from crest.readouts import CrestReadout, plain
from crest.readouts.fast import backend
from eventful import lengths_mask, trajectories

B, T, D = 16, 512, 64
# Operators that launch nothing and move nothing: views are told by their schema.
FREE = ("empty", "new_empty", "empty_like", "empty_strided", "unbind", "_unsafe_view", "lift_fresh", "detach")


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
        view = any(returned.alias_info and not returned.alias_info.is_write for returned in func._schema.returns)
        if not view and func.overloadpacket.__name__ not in FREE:
            self.kernels += 1
            self.bytes += sum(moved(part) for part in tensors((args, kwargs, made)))
        return made


def tensors(value: object) -> list[Tensor]:
    found: list[Tensor] = []
    torch.utils._pytree.tree_map_only(Tensor, found.append, value)
    return found


def moved(tensor: Tensor) -> int:
    """Bytes of a tensor in memory: what is expanded is read once."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    sizes = [size if stride else 1 for size, stride in steps]
    return torch.Size(sizes).numel() * tensor.element_size()


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
    monkeypatch.setattr(plain, "parts_of", lambda features: [slice(None)])


def test_the_counter_counts() -> None:
    features = torch.randn(2, 30, 4)
    with Traffic() as counted:
        (features.transpose(1, 2) + features[:1].expand(2, -1, -1).transpose(1, 2)).sum()
    assert counted.kernels == 2
    assert counted.bytes == 4 * (240 + 120 + 240 + 240 + 1)


# How many there are today, and some percent: whoever adds a pass over the features sees it here. docs/lab/performance.md says what
# they mean.
MOST = {
    ("training", False): ((1, 1), (1, 1)),
    ("evaluation", False): ((1, 1), (1, 1)),
    ("evaluation", True): ((1, 1), (1, 1)),
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
