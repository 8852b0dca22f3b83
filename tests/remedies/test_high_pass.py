"""`HighPass` alone, and as a graph: compiled whole, exported with dynamic batch and length, run by onnxruntime."""

import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.background import KINDS, split

EVERY = [*KINDS, "slow+level", "level + slow"]


def signals(batch: int = 3, steps: int = 96) -> Tensor:
    made = torch.randn(batch, steps, 2, generator=torch.Generator().manual_seed(steps)) + 5.0
    made[:, steps // 2 : steps // 2 + 4] += 8.0
    return made


def ragged(batch: int = 3, steps: int = 96) -> Tensor:
    mask = torch.ones(batch, steps, dtype=torch.bool)
    mask[0, steps - steps // 4 :] = False
    return mask


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("masked", [False, True])
def test_it_takes_the_background_off(kind: str, masked: bool) -> None:
    x, mask = signals(), ragged() if masked else None
    expected = split(x.double(), kind, mask, sigma=4.0).transient.float()
    torch.testing.assert_close(crest.HighPass(kind, sigma=4.0)(x, mask), expected, rtol=0, atol=1e-5)


def test_the_level_is_ac_coupling() -> None:
    x = signals()
    torch.testing.assert_close(crest.HighPass("level")(x), x - x.mean(1, keepdim=True), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["level", "slow", "core", "slow+level"])
def test_a_small_transient_on_a_large_level_is_kept(kind: str) -> None:
    x = (1e6 + signals()).float()
    layer = crest.HighPass(kind)
    torch.testing.assert_close(layer(x).double(), layer(x.double()), rtol=0, atol=1e-5)
    # The same level goes to exactly nothing.
    assert (layer(torch.full((2, 50, 1), 1e6 + 0.1)) == 0).all()


@pytest.mark.parametrize("masked", [False, True])
def test_channels_first_is_the_same_on_the_other_axis(masked: bool) -> None:
    x, mask = signals(), ragged() if masked else None
    first = crest.HighPass(channels_first=True)(x.transpose(1, 2), mask)
    torch.testing.assert_close(first.transpose(1, 2), crest.HighPass()(x, mask), rtol=0, atol=0)


def test_padding_may_hold_anything_and_becomes_zero() -> None:
    x, mask = signals(), ragged()
    mask[2] = False
    clean = crest.HighPass()(x, mask)
    dirty = crest.HighPass()(x.masked_fill(~mask.unsqueeze(-1), float("nan")), mask.long())
    torch.testing.assert_close(dirty, clean, rtol=0, atol=0)
    assert (dirty[~mask] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_dtype_stays_and_half_precision_is_computed_in_full(dtype: torch.dtype) -> None:
    x = signals().to(dtype)
    out = crest.HighPass()(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out, crest.HighPass()(x.double()).to(dtype))


@pytest.mark.parametrize("kind", ["level", "slow"])
def test_gradients_are_those_of_the_filter(kind: str) -> None:
    x = signals(2, 20).double().requires_grad_()
    mask = ragged(2, 20)
    layer = crest.HighPass(kind, sigma=2.0)
    assert torch.autograd.gradcheck(lambda y: layer(y, mask), (x,))


def test_one_step_has_nothing_transient() -> None:
    assert (crest.HighPass()(torch.randn(1, 1, 1)) == 0).all()


def test_it_says_what_it_is() -> None:
    assert repr(crest.HighPass("level")) == "HighPass('level')"
    assert "sigma=20.0" in repr(crest.HighPass(sigma=20.0))
    assert repr(crest.HighPass(sigma=3.0, channels_first=True)) == (
        "HighPass('slow', sigma=3.0, channels_first=True)"
    )
    assert not list(crest.HighPass().parameters())
    assert not crest.HighPass().state_dict()


def test_options_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"^kind must be one of level, slow"):
        crest.HighPass("fast")
    with pytest.raises(ValueError, match=r"^sigma must be positive, got 0"):
        crest.HighPass(sigma=0.0)


@pytest.mark.unchecked
def test_inputs_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"^x must have shape \(B, T, C\), none of them 0, got \(4, 5\)"):
        crest.HighPass()(torch.zeros(4, 5))
    with pytest.raises(ValueError, match=r"^x must have shape \(B, C, T\)"):
        crest.HighPass(channels_first=True)(torch.zeros(4, 5))
    with pytest.raises(ValueError, match=r"^x must be a floating point tensor, got torch.int64"):
        crest.HighPass()(torch.zeros(1, 2, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\) = \(3, 96\)"):
        crest.HighPass()(signals(), torch.ones(3, 95, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"^channels_first must be True or False, got 1"):
        crest.HighPass(channels_first=1)


# -- as a graph

GRAPHS = ["level", "slow", "slow+level"]
SHAPES = [(1, 301), (3, 1024), (2, 7), (1, 1)]


class WithMask(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layer(x, mask)


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "masked"), [("level", True), ("slow", False), ("slow", True)])
def test_it_compiles_as_one_graph(kind: str, masked: bool) -> None:
    torch.compiler.reset()
    plain, mask = crest.HighPass(kind), ragged() if masked else None
    compiled = torch.compile(plain, fullgraph=True)
    x, same = (signals().requires_grad_() for _ in range(2))
    expected, out = plain(x, mask), compiled(same, mask)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-5)
    expected.square().sum().backward()
    out.square().sum().backward()
    torch.testing.assert_close(same.grad, x.grad, rtol=0, atol=1e-4)


@pytest.mark.unchecked
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_it_exports_with_dynamic_batch_and_length(kind: str, channels_first: bool, masked: bool) -> None:
    layer = crest.HighPass(kind, channels_first=channels_first)
    batch_axis, time_axis = torch.export.Dim("B", min=1, max=4096), torch.export.Dim("T", min=1, max=200_000)

    def inputs(batch: int, steps: int) -> tuple[Tensor, ...]:
        x = signals(batch, steps)
        x = x.transpose(1, 2).contiguous() if channels_first else x
        return (x, ragged(batch, steps)) if masked else (x,)

    axes = ({0: batch_axis, 2 if channels_first else 1: time_axis}, {0: batch_axis, 1: time_axis})
    program = torch.export.export(
        WithMask(layer) if masked else layer,
        inputs(4, 256),
        dynamic_shapes=axes if masked else axes[:1],
    )
    for batch, steps in SHAPES:
        given = inputs(batch, steps)
        torch.testing.assert_close(program.module()(*given), layer(*given), rtol=0, atol=1e-5)


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["level", "slow"])
def test_onnxruntime_agrees(kind: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs crest-readout[export]")
    layer, axes = crest.HighPass(kind), {0: "B", 1: "T"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            WithMask(layer),
            (signals(4, 256), ragged(4, 256)),
            dynamic_shapes=(axes, axes),
            dynamo=True,
            verbose=False,
        )
    program.save(tmp_path / "high_pass.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "high_pass.onnx")
    for batch, steps in SHAPES:
        x, mask = signals(batch, steps), ragged(batch, steps)
        (out,) = session.run(None, {"x": x.numpy(), "mask": mask.numpy()})
        torch.testing.assert_close(torch.from_numpy(out), layer(x, mask), rtol=0, atol=1e-5)
