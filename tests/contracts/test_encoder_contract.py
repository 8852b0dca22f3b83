"""One contract for every encoder in the registry, and what each of them can see."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from crest.lab.encoders import ENCODERS, WIDTH, Encoder, make_encoder
from encoding import CHANNELS, VARIANTS, build, seen_steps, signals


def normalises_batches(encoder: Encoder) -> bool:
    return any(isinstance(layer, torch.nn.BatchNorm1d) for layer in encoder.modules())


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("steps", [1, 2, 40])
def test_shape_and_dtype_are_kept(variant: str, dtype: torch.dtype, steps: int) -> None:
    encoder = build(variant).to(dtype)
    if steps < encoder.stride:
        with pytest.raises(ValueError, match=f"x must have at least {encoder.stride} steps.*, got {steps}"):
            encoder(signals(steps=steps, dtype=dtype))
        return
    features = encoder(signals(steps=steps, dtype=dtype))
    assert features.shape == (4, steps // encoder.stride, VARIANTS[variant].get("width", WIDTH))
    assert features.dtype == dtype
    assert torch.isfinite(features).all()
    assert (encoder.channels, encoder.width) == (CHANNELS, features.shape[2])


@pytest.mark.parametrize("training", [False, True])
def test_rows_are_independent(variant: str, training: bool) -> None:
    encoder = build(variant).double().train(training)
    if training and normalises_batches(encoder):
        pytest.skip(
            "batch normalisation, in training: see test_batch_normalisation_mixes_rows_in_training_only"
        )
    x = signals()
    changed = x.clone()
    changed[1:] = 7 * torch.randn_like(changed[1:])
    torch.testing.assert_close(encoder(changed)[0], encoder(x)[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(encoder(x[:1])[0], encoder(x)[0], rtol=0, atol=1e-12)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(encoder(x[order]), encoder(x)[order], rtol=0, atol=1e-12)


def test_training_and_evaluation_give_the_same_features(variant: str) -> None:
    """No dropout and no batch statistics: the credit of a trained model is that of the model that was trained."""
    encoder = build(variant).double()
    if normalises_batches(encoder):
        pytest.skip("batch normalisation: see test_batch_normalisation_mixes_rows_in_training_only")
    trained = encoder.train()(signals())
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(signals()), trained, rtol=0, atol=1e-10)


def test_state_and_copies_give_the_same_output(variant: str) -> None:
    encoder = build(variant)
    x = signals(dtype=torch.float32)
    expected = encoder(x)
    restored = build(variant, seed=1001)
    assert not torch.equal(restored(x), expected)
    restored.load_state_dict(encoder.state_dict())
    for twin in (restored, copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        torch.testing.assert_close(twin(x), expected, rtol=0, atol=0)


def test_same_seed_same_bits(variant: str) -> None:
    x = signals(dtype=torch.float32)
    torch.testing.assert_close(build(variant)(x), build(variant)(x), rtol=0, atol=0)


def test_gradients_reach_every_parameter_and_every_channel(variant: str) -> None:
    encoder = build(variant).double()
    x = signals().requires_grad_()
    # Weighted: the squares of normalised features add up to the same, whatever they are.
    weights = torch.linspace(1, 2, encoder.width, dtype=torch.float64)
    (encoder(x) * weights).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.ne(0).any(), name
    assert x.grad is not None
    assert x.grad.ne(0).any(0).any(0).all()


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_is_nonlinear(name: str) -> None:
    encoder = build(name).double()
    x, zero = signals(), torch.zeros(4, 40, CHANNELS, dtype=torch.float64)
    bent = encoder(2 * x) - 2 * encoder(x) + encoder(zero)
    assert bent.abs().amax() > 1e-3


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("pointwise", lambda step: [step]),
        ("local", lambda step: list(range(step - 8, step + 9))),
        ("gru", lambda step: list(range(step + 1))),
        ("attention", lambda step: list(range(40))),
        ("attention-first", lambda step: list(range(40))),
    ],
)
def test_what_a_step_sees(name: str, seen: Callable[[int], list[int]]) -> None:
    for step in (15, 20):
        assert seen_steps(build(name), step) == seen(step)


def test_only_sinusoids_tell_where_in_time_a_step_stands_by_its_position() -> None:
    same = torch.ones(1, 40, CHANNELS, dtype=torch.float64)
    by_position = build("attention-first").double()(same)
    assert (by_position[0, 1:] - by_position[0, :-1]).abs().amax(-1).min() > 1e-3
    for name in ("pointwise", "attention"):
        alone = build(name).double()(same)
        torch.testing.assert_close(alone, alone[:, :1].expand_as(alone), rtol=0, atol=1e-12)


def test_batch_normalisation_mixes_rows_in_training_only() -> None:
    encoder, x = build("cnn").double(), signals()
    changed = torch.cat([x[:1], 7 * x[1:]])
    assert (encoder.train()(changed)[0] - encoder(x)[0]).abs().amax() > 1e-2
    torch.testing.assert_close(encoder.eval()(changed)[0], encoder(x)[0], rtol=0, atol=1e-12)


def test_the_width_is_the_same_everywhere() -> None:
    assert {make_encoder(name, CHANNELS).width for name in ENCODERS} == {WIDTH}


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(
        ValueError,
        match="encoder must be one of pointwise, local, gru, attention, cnn, residual, patch, own, got 'lstm'",
    ):
        make_encoder("lstm", CHANNELS)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match="speed"):
        make_encoder(name, CHANNELS, speed=3)


@pytest.mark.parametrize("name", ENCODERS)
def test_sizes_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match="channels must be a whole number, 1 or more, got 0"):
        make_encoder(name, 0)
    with pytest.raises(ValueError, match="width must be a whole number, 1 or more, got -1"):
        make_encoder(name, CHANNELS, width=-1)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pointwise", {"hidden": 0}, "hidden must be a whole number, 1 or more, got 0"),
        ("local", {"hidden": 0}, "hidden must be a whole number, 1 or more, got 0"),
        ("local", {"kernel": 4}, "kernel must be odd, so that a window has a centre, got 4"),
        ("local", {"kernel": -3}, "kernel must be a whole number, 1 or more, got -3"),
        ("attention", {"heads": 5}, "heads must divide width = 32, got 5"),
        ("attention", {"heads": 0}, "heads must be a whole number, 1 or more, got 0"),
        ("attention", {"layers": 0}, "layers must be a whole number, 1 or more, got 0"),
        ("attention", {"hidden": 0}, "hidden must be a whole number, 1 or more, got 0"),
        (
            "attention",
            {"heads": 32},
            "heads must leave each an even number of channels for rotary positions, got 32",
        ),
        ("cnn", {"first": 0}, "first must be a whole number, 1 or more, got 0"),
        ("cnn", {"second": -2}, "second must be a whole number, 1 or more, got -2"),
    ],
)
def test_bad_options_are_refused_by_name(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_encoder(name, CHANNELS, **options)
