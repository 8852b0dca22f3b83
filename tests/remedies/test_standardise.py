"""`Standardise` alone, and as a graph: compiled whole, exported with dynamic batch and length, run by onnxruntime."""

import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from crest.nuisances.scale import in_own_units
from crest.remedies import Standardise

SHAPES = [(1, 40), (7, 333)]


def signals(batch: int = 3, steps: int = 96) -> Tensor:
    made = torch.randn(batch, steps, 2, generator=torch.Generator().manual_seed(steps)) + 5.0
    made[:, steps // 2 : steps // 2 + 4] += 8.0
    return made


def ragged(batch: int = 3, steps: int = 96) -> Tensor:
    mask = torch.ones(batch, steps, dtype=torch.bool)
    mask[0, steps - steps // 4 :] = False
    return mask


class WithMask(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.layer(x, mask)
        return out


@pytest.mark.parametrize("robust", [True, False])
def test_gain_and_offset_change_nothing(robust: bool) -> None:
    layer, x = Standardise(robust=robust), signals()
    torch.testing.assert_close(layer(x * 40 - 300), layer(x), rtol=0, atol=1e-3)
    torch.testing.assert_close(layer(x.double()), in_own_units(x.double(), robust=robust))


def test_a_large_event_stays_larger_than_a_small_one() -> None:
    """What a plain standard deviation takes away, the robust scale keeps."""
    x = torch.randn(1, 400, 1, generator=torch.Generator().manual_seed(1000)).expand(2, -1, -1).clone()
    x[0, 200:260] += 30
    x[1, 200:260] += 60
    for robust, least in ((True, 1.9), (False, 0.0)):
        sizes = Standardise(robust=robust)(x)[:, 200:260].mean((1, 2))
        ratio = float(sizes[1] / sizes[0])
        assert ratio > least
        assert robust or ratio < 1.1


def test_padding_may_hold_anything_and_becomes_zero() -> None:
    x, mask = signals(), ragged()
    mask[2] = False
    clean = Standardise()(x, mask)
    dirty = Standardise()(x.masked_fill(~mask.unsqueeze(-1), float("nan")), mask.long())
    torch.testing.assert_close(dirty, clean, rtol=0, atol=0)
    assert (dirty[~mask] == 0).all()
    torch.testing.assert_close(clean[:1, :72], Standardise()(x[:1, :72]))


def test_a_constant_and_one_step_are_zero() -> None:
    for x in (torch.full((2, 50, 1), 1e6 + 0.1), torch.randn(2, 1, 1)):
        assert (Standardise()(x) == 0).all()


def test_it_says_what_it_is() -> None:
    assert repr(Standardise()) == "Standardise()"
    assert (
        repr(Standardise(robust=False, channels_first=True))
        == "Standardise(robust=False, channels_first=True)"
    )
    assert not Standardise().state_dict()


@pytest.mark.unchecked
def test_inputs_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"^x must have shape \(B, C, T\), none of them 0, got \(4, 5\)"):
        Standardise(channels_first=True)(torch.zeros(4, 5))


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
def test_it_compiles_and_exports_with_dynamic_axes(masked: bool) -> None:
    layer = Standardise()
    model = WithMask(layer) if masked else layer

    def inputs(batch: int, steps: int) -> tuple[Tensor, ...]:
        return (signals(batch, steps), ragged(batch, steps))[: 1 + masked]

    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.export.export(model, inputs(4, 256), dynamic_shapes=(axes, axes)[: 1 + masked])
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for batch, steps in SHAPES:
        given = inputs(batch, steps)
        for made in (program.module(), compiled):
            torch.testing.assert_close(made(*given), layer(*given), rtol=0, atol=1e-5)


@pytest.mark.unchecked
@pytest.mark.slow
def test_onnxruntime_agrees(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs crest-readout[export]")
    layer, axes = Standardise(), {0: "B", 1: "T"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            WithMask(layer),
            (signals(4, 256), ragged(4, 256)),
            dynamic_shapes=(axes, axes),
            dynamo=True,
            verbose=False,
        )
    program.save(tmp_path / "standardise.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "standardise.onnx")
    for batch, steps in SHAPES:
        x, mask = signals(batch, steps), ragged(batch, steps)
        (out,) = session.run(None, {"x": x.numpy(), "mask": mask.numpy()})
        torch.testing.assert_close(torch.from_numpy(out), layer(x, mask), rtol=0, atol=1e-5)


def test_what_is_not_finite_is_refused_unless_asked_otherwise() -> None:
    x = torch.randn(2, 100, 1)
    x[1, 3] = torch.nan
    with pytest.raises(ValueError, match="row 1, step 3, channel 0"):
        Standardise()(x)
    assert Standardise(validate=False)(x)[0].isfinite().all()
