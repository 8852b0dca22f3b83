"""One contract for every readout in the registries: to add a readout is to be tested here."""

import copy
import pickle
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from crest.lab.ablations import make_lab_readout
from crest.readouts import READOUTS, REFERENCES, Readout, make_readout
from crest.readouts.fast import backend

WIDTH = 6
VARIANTS: dict[str, dict[str, object]] = {
    **{name: {} for name in READOUTS},
    "crest-trajectory": {"budget": "trajectory"},
    "crest-fixed": {"budget": 0.2},
    "crest-stable": {"direction": "stable"},
    "crest-split": {"split": True},
    # Compiled where numba is installed, and in plain torch.
    "crest-plain": {},
    "crest-trajectory-plain": {"budget": "trajectory"},
    "windowed-5": {"window": 5},
    **{name: {} for name in REFERENCES},
}


class Bound(nn.Module):
    """A readout of either kind behind `forward(features, mask)`; references see every third step as event."""

    def __init__(self, readout: nn.Module) -> None:
        super().__init__()
        self.readout = readout

    def call(self, method: Callable[..., Tensor], features: Tensor, mask: Tensor | None) -> Tensor:
        if isinstance(self.readout, Readout):
            return method(features, mask)
        events = (torch.arange(features.shape[1], device=features.device) % 3 == 0).expand(features.shape[:2])
        return method(features, events, mask)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.call(self.readout, features, mask)

    def step_weights(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.call(self.readout.step_weights, features, mask)


def build(variant: str, **options: object) -> Bound:
    torch.manual_seed(3)
    name = variant.partition("-")[0]
    return Bound(make_lab_readout(name, WIDTH, **VARIANTS[variant], **options)).eval()


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    with backend("torch" if request.param.endswith("-plain") else "auto"):
        yield request.param


def trajectories(batch: int = 4, steps: int = 40, dtype: torch.dtype = torch.float64) -> Tensor:
    features = torch.randn(
        batch, steps, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    features[:, steps // 2] += 3.0
    return features.to(dtype)


def ragged(batch: int = 4, steps: int = 40) -> Tensor:
    lengths = torch.tensor([steps, steps // 2, 3, 1])[:batch]
    return torch.arange(steps) < lengths[:, None]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("steps", [1, 2, 4, 40])
def test_shape_and_dtype_are_kept(variant: str, dtype: torch.dtype, steps: int) -> None:
    readout = build(variant).to(dtype)
    features = trajectories(steps=steps, dtype=dtype)
    pooled = readout(features)
    assert pooled.shape == (4, WIDTH)
    assert pooled.dtype == dtype
    assert torch.isfinite(pooled).all()
    assert readout.step_weights(features).shape == (4, steps)


@pytest.mark.parametrize("masked", [False, True])
def test_no_tensor_is_made_on_another_device(variant: str, masked: bool) -> None:
    readout = build(variant, validate=False).to("meta")
    features = torch.empty(4, 40, WIDTH, device="meta")
    mask = torch.empty(4, 40, dtype=torch.bool, device="meta") if masked else None
    assert readout(features, mask).device.type == "meta"


def test_half_precision_is_close_to_full(variant: str) -> None:
    features = trajectories(dtype=torch.bfloat16)
    readout = build(variant)
    exact = copy.deepcopy(readout).double()(features.double())
    torch.testing.assert_close(readout.bfloat16()(features).double(), exact, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(variant: str, dtype: torch.dtype) -> None:
    features = trajectories(dtype=torch.float32)
    readout = build(variant)
    exact = readout(features)
    with torch.autocast("cpu", dtype=dtype):
        pooled = readout(features)
    assert pooled.dtype == features.dtype
    torch.testing.assert_close(pooled, exact, rtol=0.05, atol=0.05)


# The others score steps with a learned layer, in half precision as autocast asks: other steps get weight.
UNLEARNED = [name for name in VARIANTS if not list(build(name).parameters())]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", UNLEARNED)
def test_autocast_keeps_large_and_offset_features(name: str, dtype: torch.dtype) -> None:
    """Sums stay in float32: in half precision 1e5 overflows, and 999.09 becomes 1000."""
    features = 1e5 + 100 * trajectories(dtype=torch.float32)
    readout = build(name)
    with torch.autocast("cpu", dtype=dtype):
        pooled = readout(features)
    torch.testing.assert_close(pooled, readout(features), rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("filler", [0.0, 1e6, float("nan"), float("inf")])
def test_padding_changes_nothing(variant: str, filler: float) -> None:
    readout = build(variant).double()
    features = trajectories()
    mask = ragged()
    padded = torch.nn.functional.pad(features, (0, 0, 0, 13)).masked_fill(
        ~torch.nn.functional.pad(mask, (0, 13)).unsqueeze(-1), filler
    )
    longer = torch.nn.functional.pad(mask, (0, 13))
    torch.testing.assert_close(readout(padded, longer), readout(features, mask), rtol=0, atol=1e-12)
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = readout(features[row : row + 1, :length])
        torch.testing.assert_close(readout(padded, longer)[row : row + 1], alone, rtol=0, atol=1e-12)
    weights = readout.step_weights(padded, longer)
    torch.testing.assert_close(weights[:, :40], readout.step_weights(features, mask), rtol=0, atol=1e-12)
    assert (weights[:, 40:] == 0).all()


def test_a_full_mask_is_no_mask(variant: str) -> None:
    readout = build(variant).double()
    features = trajectories()
    full = torch.ones(4, 40, dtype=torch.bool)
    torch.testing.assert_close(readout(features, full), readout(features), rtol=0, atol=1e-12)


INTEGERS = [torch.uint8, torch.int8, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("validate", [True, False])
def test_a_mask_of_zeros_and_ones_is_a_mask(variant: str, dtype: torch.dtype, validate: bool) -> None:
    readout = build(variant, validate=validate).double()
    mask = ragged()
    mask[2] = False
    features = trajectories().masked_fill(~mask.unsqueeze(-1), float("nan"))
    for method in (readout.forward, readout.step_weights):
        torch.testing.assert_close(method(features, mask.to(dtype)), method(features, mask), rtol=0, atol=0)


def test_a_mask_of_zeros_and_ones_is_a_mask_in_training_too(variant: str) -> None:
    """CREST's pooled budget does not count a trajectory without a valid step."""
    mask = ragged()
    mask[2] = False
    twins = build(variant).double().train(), build(variant).double().train()
    pooled = [
        readout(trajectories(), flags) for readout, flags in zip(twins, (mask, mask.long()), strict=True)
    ]
    torch.testing.assert_close(pooled[1], pooled[0], rtol=0, atol=0)
    for name, value in twins[0].state_dict().items():
        torch.testing.assert_close(twins[1].state_dict()[name], value, rtol=0, atol=0)


def test_other_integers_in_a_mask_are_refused_unless_nobody_looks(variant: str) -> None:
    mask = ragged().long()
    mask[1, 3] = -1
    with pytest.raises(ValueError, match=r"^mask must hold booleans or the integers 0 and 1, got -1$"):
        build(variant)(trajectories(dtype=torch.float32), mask)
    assert build(variant, validate=False)(trajectories(dtype=torch.float32), mask).shape == (4, WIDTH)


def test_no_valid_step_gives_zero(variant: str) -> None:
    readout = build(variant).double()
    mask = ragged()
    mask[2] = False
    assert (readout(trajectories(), mask)[2] == 0).all()
    assert (readout.step_weights(trajectories(), mask)[2] == 0).all()


def test_rows_are_independent(variant: str) -> None:
    readout = build(variant).double()
    features = trajectories()
    changed = features.clone()
    changed[1:] = 7 * torch.randn_like(changed[1:])
    torch.testing.assert_close(readout(changed)[0], readout(features)[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(readout(features[:1])[0], readout(features)[0], rtol=0, atol=1e-12)


def test_permuting_the_batch_permutes_the_output(variant: str) -> None:
    readout = build(variant).double()
    order = torch.tensor([2, 0, 3, 1])
    mask = ragged()
    torch.testing.assert_close(
        readout(trajectories()[order], mask[order]), readout(trajectories(), mask)[order], rtol=0, atol=1e-12
    )


def test_step_weights_are_shares(variant: str) -> None:
    weights = build(variant).double().step_weights(trajectories(), ragged())
    assert (weights >= 0).all()
    assert (weights[~ragged()] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(4, dtype=torch.float64))


def test_layout_does_not_matter(variant: str) -> None:
    readout = build(variant).double()
    features = trajectories()
    for strided in (
        features.transpose(1, 2).contiguous().transpose(1, 2),
        features.repeat_interleave(2, dim=1)[:, ::2],
    ):
        assert not strided.is_contiguous()
        torch.testing.assert_close(readout(strided), readout(features), rtol=0, atol=1e-12)


def test_gradients_reach_the_features_and_never_the_padding(variant: str) -> None:
    readout = build(variant).double()
    mask = ragged()
    features = trajectories().masked_fill(~mask.unsqueeze(-1), float("nan")).requires_grad_()
    readout(features, mask).square().sum().backward()
    assert torch.isfinite(features.grad).all()
    assert (features.grad[~mask] == 0).all()
    assert (features.grad[mask] != 0).any()
    for name, parameter in readout.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_state_and_copies_give_the_same_output(variant: str) -> None:
    readout = build(variant)
    readout.train()(trajectories(dtype=torch.float32))  # CREST's pooled budget is state too
    readout.eval()
    features = trajectories(dtype=torch.float32) + 1
    expected = readout(features)
    restored = build(variant)
    restored.load_state_dict(readout.state_dict())
    for twin in (restored, copy.deepcopy(readout), pickle.loads(pickle.dumps(readout))):
        torch.testing.assert_close(twin.eval()(features), expected, rtol=0, atol=0)


def test_same_seed_same_bits(variant: str) -> None:
    features = trajectories(dtype=torch.float32)
    torch.testing.assert_close(build(variant)(features), build(variant)(features), rtol=0, atol=0)


def test_evaluation_leaves_the_state_alone(variant: str) -> None:
    readout = build(variant)
    before = copy.deepcopy(readout.state_dict())
    readout(trajectories(dtype=torch.float32))
    readout.step_weights(trajectories(dtype=torch.float32))
    for name, value in readout.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_bad_value_is_refused_by_name(variant: str, bad: float) -> None:
    features = trajectories(dtype=torch.float32)
    features[1, 5, 2] = bad
    features[1, 6, 3] = bad
    with pytest.raises(
        ValueError,
        match=r"^features must be finite, got 2 NaN or infinite values, the first at row 1, step 5, channel 2$",
    ):
        build(variant)(features)
    assert build(variant, validate=False)(features).shape == (4, WIDTH)


def test_large_finite_values_are_not_refused(variant: str) -> None:
    """The fast check adds everything up, which may overflow where no value does."""
    features = 1e37 * trajectories(dtype=torch.float32)
    assert torch.isfinite(build(variant)(features)).all()


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("features", "mask", "message"),
    [
        (torch.zeros(4, WIDTH), None, r"features must have shape \(B, T, D\).*got \(4, 6\)"),
        (torch.zeros(4, 0, WIDTH), None, r"none of them 0, got \(4, 0, 6\)"),
        (
            torch.zeros(4, 40, WIDTH, dtype=torch.int64),
            None,
            "^features must be a floating point tensor, got torch.int64$",
        ),
        (
            torch.zeros(4, 40, WIDTH),
            torch.ones(4, 39, dtype=torch.bool),
            r"^mask must have shape \(B, T\) = \(4, 40\), got \(4, 39\)$",
        ),
        (
            torch.zeros(4, 40, WIDTH),
            torch.ones(4, 40),
            r"^mask must hold booleans or the integers 0 and 1 \(mask\.bool\(\) converts\), got torch.float32$",
        ),
        (
            torch.zeros(4, 40, WIDTH),
            torch.full((4, 40), 2),
            "^mask must hold booleans or the integers 0 and 1, got 2$",
        ),
        (torch.zeros(4, 40, WIDTH), [[True]], "mask must be a torch tensor, got list"),
        (torch.zeros(4, 40, WIDTH).numpy(), None, "features must be a torch tensor, got ndarray"),
    ],
)
def test_wrong_input_is_refused_by_name(
    variant: str, features: Tensor, mask: Tensor | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build(variant)(features, mask)


@pytest.mark.parametrize("name", [*READOUTS, *REFERENCES])
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} has no option speed; it has .*validate"):
        make_readout(name, WIDTH, speed=3)


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(ValueError, match=r"name must be one of mean, last, .*event_window, got 'medan'"):
        make_readout("medan", WIDTH)


@pytest.mark.parametrize("name", ["attention", "registers", "windowed"])
def test_width_is_checked(name: str) -> None:
    with pytest.raises(ValueError, match="width must be a whole number, 1 or more, got 0"):
        make_readout(name, 0)


@pytest.mark.parametrize("name", [name for name in READOUTS if make_readout(name, WIDTH).width is not None])
def test_another_number_of_channels_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="features must have width = 6 channels, got 5"):
        make_readout(name, WIDTH)(torch.zeros(2, 10, 5))
