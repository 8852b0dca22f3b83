"""Tensors at a door: shapes, dtypes, finite values, flags; and what is left of the checks while a graph is traced."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from crest._base.tensors import (
    as_flags,
    as_mask,
    as_per_trajectory,
    as_tensor,
    is_several,
    predictions,
    require_finite,
    require_floating,
    require_series,
    require_tensor,
    require_traced,
)

NAN, INF = float("nan"), float("inf")
LIKE = torch.zeros(2, 3, 4)
FLAGS = torch.tensor([[True, False, True], [False, False, True]])
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def test_a_tensor_of_the_right_shape() -> None:
    require_tensor("pooled", torch.zeros(2, 4), "(B, D)", (2, 4))
    with pytest.raises(ValueError, match=r"^pooled must have shape \(B, D\) = \(2, 4\), got \(2, 3\)$"):
        require_tensor("pooled", torch.zeros(2, 3), "(B, D)", (2, 4))
    with pytest.raises(ValueError, match=r"^pooled must be a torch tensor, got ndarray$"):
        require_tensor("pooled", torch.zeros(2, 4).numpy(), "(B, D)", (2, 4))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_floating_point(dtype: torch.dtype) -> None:
    require_floating("a", torch.zeros(1, dtype=torch.float16))
    with pytest.raises(ValueError, match=rf"^a must be a floating point tensor, got {dtype}$"):
        require_floating("a", torch.zeros(1, dtype=dtype))


def test_series() -> None:
    require_series("features", LIKE, "(B, T, D)")
    with pytest.raises(
        ValueError, match=r"^inputs must have shape \(B, T, C\), none of them 0, got \(2, 3\)$"
    ):
        require_series("inputs", LIKE[..., 0], "(B, T, C)")
    with pytest.raises(ValueError, match=r"^inputs must be a floating point tensor, got torch.int64$"):
        require_series("inputs", LIKE.long(), "(B, T, C)")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_what_is_not_finite_is_counted_and_found(bad: float) -> None:
    value = torch.ones(2, 3, 4)
    require_finite("a", value)
    value[1, 0, 2] = value[1, 2, 3] = bad
    with pytest.raises(
        ValueError,
        match=r"^a must be finite, got 2 NaN or infinite values, the first at row 1, step 0, channel 2$",
    ):
        require_finite("a", value)
    mask = torch.ones(2, 3, dtype=torch.bool)
    mask[1, 0] = False
    with pytest.raises(
        ValueError, match=r"^a must be finite at valid steps, got 1 NaN .* row 1, step 2, channel 3$"
    ):
        require_finite("a", value, mask)
    with pytest.raises(ValueError, match=r"^a must be finite at valid steps, got 1 NaN .* index \[1, 2\]$"):
        require_finite("a", value[..., 3], mask)
    mask[1] = False
    require_finite("a", value, mask)


def test_infinities_that_cancel_are_found_and_an_overflowing_sum_is_no_reason_to_refuse() -> None:
    with pytest.raises(ValueError, match="got 2 NaN or infinite"):
        require_finite("a", torch.tensor([INF, -INF]))
    require_finite("a", torch.full((4,), 3e38))
    require_finite("a", torch.full((4,), 6e4, dtype=torch.float16))
    require_finite("a", torch.ones(3, dtype=torch.int64))


def test_flags_are_booleans_or_zeros_and_ones() -> None:
    assert as_flags("events", FLAGS, LIKE) is FLAGS
    for dtype in INTEGERS:
        found = as_flags("events", FLAGS.to(dtype), LIKE)
        assert found.dtype == torch.bool
        assert torch.equal(found, FLAGS)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_other_integers_are_refused_unless_nobody_looks(dtype: torch.dtype) -> None:
    twos = torch.tensor([[1, 0, 1], [0, 2, 1]], dtype=dtype)
    with pytest.raises(ValueError, match=r"^events must hold booleans or the integers 0 and 1, got 2$"):
        as_flags("events", twos, LIKE)
    assert torch.equal(as_flags("events", twos, LIKE, validate=False), twos != 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("validate", [True, False])
def test_flags_in_floating_point_are_refused_with_advice(dtype: torch.dtype, validate: bool) -> None:
    message = rf"^mask must hold booleans or the integers 0 and 1 \(mask\.bool\(\) converts\), got {dtype}$"
    with pytest.raises(ValueError, match=message):
        as_flags("mask", FLAGS.to(dtype), LIKE, validate)


def test_flags_have_the_steps_of_what_they_belong_to() -> None:
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\) = \(2, 3\), got \(2, 2\)$"):
        as_flags("mask", FLAGS[:, :2], LIKE)
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\) = \(2, 3\), got \(2, 3, 1\)$"):
        as_flags("mask", FLAGS.unsqueeze(-1), LIKE, validate=False)


@pytest.mark.unchecked
def test_flags_are_a_tensor() -> None:
    with pytest.raises(ValueError, match=r"^mask must be a torch tensor, got list$"):
        as_flags("mask", FLAGS.tolist(), LIKE)


def test_flags_come_to_the_device_of_what_they_belong_to() -> None:
    like = torch.empty(2, 3, 4, device="meta")
    assert as_flags("mask", FLAGS, like).device.type == "meta"
    assert as_flags("mask", FLAGS.long(), like).device.type == "meta"


def test_no_mask_stays_none() -> None:
    assert as_mask(None, LIKE) is None
    mask = as_mask(FLAGS.int(), LIKE)
    assert mask is not None
    assert torch.equal(mask, FLAGS)
    with pytest.raises(ValueError, match=r"^mask must hold booleans"):
        as_mask(FLAGS.int() * 2, LIKE)


def test_one_number_per_trajectory() -> None:
    assert as_per_trajectory("targets must be", torch.zeros(3, 1), 3).shape == (3,)
    assert as_per_trajectory("targets must be", torch.zeros(3, dtype=torch.int64), 3).dtype == torch.int64
    for wrong, got in ((torch.zeros(2), r"\(2,\)"), (torch.zeros(3, 2), r"\(3, 2\)"), ([1, 2, 3], "list")):
        message = rf"^targets must be a tensor of shape \(B,\) or \(B, 1\), B = 3, got {got}$"
        with pytest.raises(ValueError, match=message):
            as_per_trajectory("targets must be", wrong, 3)


def test_predictions() -> None:
    assert torch.equal(
        predictions(lambda x: x.sum((1, 2))[:, None], torch.ones(2, 3, 4)), torch.full((2,), 12.0)
    )
    with pytest.raises(
        ValueError, match=r"^function must return a tensor of shape \(B,\) .* got \(2, 3, 4\)$"
    ):
        predictions(lambda x: x, torch.ones(2, 3, 4))


class Flagged(nn.Module):
    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        return features.masked_fill(~as_flags("mask", mask, features).unsqueeze(-1), 0.0)


@pytest.mark.unchecked
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_a_traced_graph_takes_flags_of_any_length_and_looks_at_no_value(dtype: torch.dtype) -> None:
    axes = {0: torch.export.Dim("B", min=1, max=64), 1: torch.export.Dim("T", min=1, max=4096)}
    mask = torch.ones(2, 30, dtype=dtype)
    program = torch.export.export(Flagged(), (torch.randn(2, 30, 4), mask), dynamic_shapes=(axes, axes))
    features, other = torch.randn(5, 77, 4), (torch.rand(5, 77) < 0.5).to(dtype)
    expected = features.masked_fill(other.unsqueeze(-1) == 0, 0.0)
    torch.testing.assert_close(program.module()(features, other), expected, rtol=0, atol=0)


@pytest.mark.unchecked
def test_a_traced_graph_refuses_flags_in_floating_point() -> None:
    # Strict, as torch 2.7 exports where it is not told, an error in the trace is told as one of torch's own.
    with pytest.raises(ValueError, match="mask must hold booleans or the integers 0 and 1"):
        torch.export.export(Flagged(), (torch.randn(2, 30, 4), torch.ones(2, 30)), strict=False)


def test_in_a_trace_rank_and_spreading_sizes_are_all_that_is_asked() -> None:
    require_traced("mask", torch.ones(2, 5), "(B, T)", 2, torch.zeros(2, 5, 3))
    require_traced("mask", torch.ones(1, 1), "(B, T)", 2, torch.zeros(1, 1, 3))
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\), got 3 axes"):
        require_traced("mask", torch.ones(2, 5, 1), "(B, T)", 2, torch.zeros(2, 5, 3))
    with pytest.raises(ValueError, match="over all trajectories"):
        require_traced("mask", torch.ones(1, 5), "(B, T)", 2, torch.zeros(2, 5, 3))


SEVERAL = torch.arange(6.0).reshape(2, 1, 3)
"""Two trajectories whose first step is what a function with three outputs gives."""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (1, [1.0, 4.0]),
        (torch.tensor([0, 2]), [0.0, 5.0]),
        (torch.tensor(2), [2.0, 5.0]),
    ],
)
def test_a_target_chooses_an_output(target: int | Tensor, expected: list[float]) -> None:
    assert predictions(lambda x: x[:, 0], SEVERAL, target).tolist() == expected
    assert is_several(SEVERAL[:, 0], 2)
    assert not is_several(SEVERAL[:, 0], 3)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (None, r"\(B,\) or \(B, 1\), B = 2, got \(2, 3\): target= says which of its outputs is asked for$"),
        (3, r"^target must lie in \[0, 2\], the outputs of function, got 3$"),
        (-1, r"^target must lie in \[0, 2\], the outputs of function, got -1$"),
        (True, r"^target must be a whole number, or hold whole numbers, got torch.bool$"),
        (
            torch.tensor([0.0, 1.0]),
            r"^target must be a whole number, or hold whole numbers, got torch.float32$",
        ),
        (torch.tensor([0, 1, 2]), r"^target must be .* tensor of shape \(B,\) = \(2,\), got \(3,\)$"),
    ],
)
def test_targets_that_are_refused(target: int | Tensor | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predictions(lambda x: x[:, 0], SEVERAL, target)


def test_a_target_needs_outputs_to_choose_from() -> None:
    with pytest.raises(
        ValueError, match=r"^function must return .* \(B, K\), B = 2, if target is given, got \(2,\)$"
    ):
        predictions(lambda x: x.sum((1, 2)), SEVERAL, 0)


def test_only_numbers_become_tensors() -> None:
    assert as_tensor("targets", None) is None
    with pytest.raises(ValueError, match=r"^targets must be numbers, got an array of datetime64"):
        as_tensor("targets", np.array(["2020-01-01"], dtype="datetime64[D]"))
    with pytest.raises(ValueError, match=r"^targets must be numbers, got a list of several lengths or kinds"):
        as_tensor("targets", [[1.0], [2.0, 3.0]])


@pytest.mark.parametrize(
    "names",
    [["worn", "new"], ("worn", "new"), np.array(["worn", "new"]), np.array(["worn", "new"], dtype=object)],
    ids=["list", "tuple", "array", "objects"],
)
def test_names_of_classes_are_to_be_numbered(names: Any) -> None:
    message = (
        r"^targets must be numbers, got text such as 'worn': number the classes from 0 to K - 1, in the order"
    )
    with pytest.raises(ValueError, match=message):
        as_tensor("targets", names)


@pytest.mark.parametrize("part", ["inputs", "mask"])
def test_text_that_is_no_target_is_no_name_of_a_class(part: str) -> None:
    with pytest.raises(ValueError, match=rf"^{part} of b must be numbers, got text such as 'worn'$"):
        as_tensor(f"{part} of b", np.array(["worn", "new"]))


def test_a_list_of_tensors_with_gradients_is_numbers() -> None:
    found = as_tensor("targets", [torch.tensor(1.0, requires_grad=True), torch.tensor(2.0)])
    assert found is not None
    assert found.tolist() == [1.0, 2.0]
    assert not found.requires_grad
