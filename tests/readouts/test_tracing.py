"""CREST as a graph: compiled whole, exported with dynamic batch and length, and run by onnxruntime."""

import copy
import warnings
from pathlib import Path

import pytest
import torch
import torch._dynamo.testing
from torch import Tensor, nn

from crest.lab.ablations import make_lab_readout
from crest.readouts import READOUTS, CrestReadout, make_readout

pytestmark = pytest.mark.unchecked

WIDTH = 8
# Without the stable direction, an ablation: it ranks residuals near zero, and the exported low-pass rounds otherwise.
MODES = {
    "pooled": {},
    "trajectory": {"budget": "trajectory"},
    "fixed": {"budget": 0.3},
    "split": {"split": True},
}
# 3000 and 6000: 0.3 T / 5 is whole, but not in float32.
SHAPES = [(1, 301), (3, 1024), (5, 256), (2, 7), (1, 1), (1, 3000), (1, 6000)]


def trajectories(batch: int, steps: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    features = 0.1 * torch.randn(batch, steps, WIDTH, generator=generator)
    features[:, steps // 3 : steps // 3 + 4] += torch.randn(batch, 1, WIDTH, generator=generator)
    features[..., 0] = 0.7  # a constant channel, where a lost guard would give 0/0
    return features


def ragged(batch: int, steps: int) -> Tensor:
    mask = torch.ones(batch, steps, dtype=torch.bool)
    mask[0, steps - steps // 4 :] = False
    return mask


def trained(**options: object) -> CrestReadout:
    readout = make_lab_readout("crest", WIDTH, **options)
    readout(trajectories(4, 256))
    return readout.eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "masked"), [("pooled", False), *((mode, True) for mode in MODES), ("stable", True)]
)
def test_compiles_as_one_graph(mode: str, masked: bool) -> None:
    torch.compiler.reset()
    plain = make_lab_readout("crest", WIDTH, **({**MODES, "stable": {"direction": "stable"}})[mode])
    twin = copy.deepcopy(plain)
    compiled = torch.compile(twin, fullgraph=True)
    mask = ragged(4, 256) if masked else None
    for training in (True, False):
        plain.train(training)
        twin.train(training)
        features, same = (trajectories(4, 256).requires_grad_() for _ in range(2))
        expected, pooled = plain(features, mask), compiled(same, mask)
        torch.testing.assert_close(pooled, expected, rtol=0, atol=1e-5)
        expected.square().sum().backward()
        pooled.square().sum().backward()
        torch.testing.assert_close(same.grad, features.grad, rtol=0, atol=1e-5)
    for name, value in twin.state_dict().items():
        torch.testing.assert_close(value, plain.state_dict()[name], rtol=0, atol=1e-6)


def dynamic() -> dict[int, object]:
    return {0: torch.export.Dim("B", min=1, max=4096), 1: torch.export.Dim("T", min=1, max=200_000)}


class WithMask(nn.Module):
    def __init__(self, readout: nn.Module) -> None:
        super().__init__()
        self.readout = readout

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        return self.readout(features, mask)


def readouts() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    others = {name: make_readout(name, WIDTH).eval() for name in READOUTS if name != "crest"}
    return {**others, **{f"crest-{mode}": trained(**options) for mode, options in MODES.items()}}


# Windows cut from a symbolic T put conditions on it, so `windowed` does not export for any T.
DYNAMIC = [name for name in READOUTS if name not in ("crest", "windowed")] + [
    f"crest-{mode}" for mode in MODES
]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", DYNAMIC)
def test_exports_with_dynamic_batch_and_length(name: str, masked: bool) -> None:
    readout = readouts()[name]
    axes = dynamic()
    if masked:
        program = torch.export.export(
            WithMask(readout), (trajectories(4, 256), ragged(4, 256)), dynamic_shapes=(axes, axes)
        )
    else:
        program = torch.export.export(readout, (trajectories(4, 256),), dynamic_shapes=(axes,))
    for batch, steps in SHAPES:
        features = trajectories(batch, steps, seed=steps)
        inputs = (features, ragged(batch, steps)) if masked else (features,)
        torch.testing.assert_close(program.module()(*inputs), readout(*inputs), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["mean", "crest-pooled", "crest-split"])
def test_exports_with_a_mask_of_zeros_and_ones(name: str) -> None:
    readout, axes = readouts()[name], dynamic()
    program = torch.export.export(
        WithMask(readout), (trajectories(4, 256), ragged(4, 256).long()), dynamic_shapes=(axes, axes)
    )
    for batch, steps in SHAPES:
        features, mask = trajectories(batch, steps, seed=steps), ragged(batch, steps)
        pooled = program.module()(features, mask.long())
        torch.testing.assert_close(pooled, readout(features, mask), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_compiles_with_a_mask_of_zeros_and_ones() -> None:
    torch.compiler.reset()
    plain = trained()
    compiled = torch.compile(copy.deepcopy(plain), fullgraph=True)
    features, mask = trajectories(4, 256), ragged(4, 256)
    torch.testing.assert_close(compiled(features, mask.int()), plain(features, mask), rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_onnxruntime_agrees(mode: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs crest-readout[export]")
    readout = trained(**MODES[mode])
    axes = {0: "B", 1: "T"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            WithMask(readout),
            (trajectories(4, 256), ragged(4, 256)),
            dynamic_shapes=(axes, axes),
            dynamo=True,
            verbose=False,
        )
    program.save(tmp_path / "crest.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "crest.onnx")
    for batch, steps in SHAPES:
        features, mask = trajectories(batch, steps, seed=steps), ragged(batch, steps)
        (pooled,) = session.run(None, {"features": features.numpy(), "mask": mask.numpy()})
        torch.testing.assert_close(torch.from_numpy(pooled), readout(features, mask), rtol=0, atol=1e-5)


def test_torch_func_sees_through_it() -> None:
    readout = trained()
    features = trajectories(2, 64).requires_grad_()
    readout(features).sum().backward()
    functional = torch.func.grad(lambda x: readout(x).sum())(features.detach())
    torch.testing.assert_close(functional, features.grad)


@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_the_sorting_operator_is_well_formed(layout: str) -> None:
    series = torch.randn(2, 5, 30) if layout == "contiguous" else torch.randn(2, 30, 5).transpose(1, 2)
    torch.testing.assert_close(torch.ops.crest.ascending(series), series.sort(-1).values, rtol=0, atol=0)
    torch.library.opcheck(torch.ops.crest.ascending.default, (series,))


# -- what a graph must refuse


@pytest.mark.parametrize("name", ["mean", "attention", "crest"])
@pytest.mark.parametrize(
    ("mask", "dtype", "message"),
    [
        ((4, 1), torch.float32, "mask must have shape"),
        ((1, 60), torch.float32, "mask must have shape"),
        ((4, 60, 1), torch.float32, "mask must have shape"),
        ((4, 60), torch.int64, "features must be a floating point tensor"),
    ],
)
def test_a_compiled_readout_refuses_what_an_eager_one_does(
    name: str, mask: tuple[int, ...], dtype: torch.dtype, message: str
) -> None:
    torch.compiler.reset()
    readout = make_readout(name, WIDTH).eval()
    features, flags = trajectories(4, 60).to(dtype), torch.ones(mask, dtype=torch.bool)
    for one in (readout, torch.compile(readout, backend="eager")):
        with pytest.raises(ValueError, match=message):
            one(features, flags)


@pytest.mark.parametrize("name", ["mean", "attention", "crest"])
def test_the_checks_fix_no_dynamic_axis(name: str) -> None:
    torch.compiler.reset()
    readout = make_readout(name, WIDTH).eval()
    counted = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(readout, backend=counted, fullgraph=True, dynamic=True)
    for batch, steps in ((4, 60), (3, 80), (7, 90)):
        features, mask = trajectories(batch, steps), ragged(batch, steps)
        torch.testing.assert_close(compiled(features, mask), readout(features, mask), rtol=0, atol=1e-5)
    assert counted.frame_count == 1
