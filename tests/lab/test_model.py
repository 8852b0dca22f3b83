import pytest
import torch
from torch import Tensor

from crest.lab.encoders import ENCODERS
from crest.lab.model import Model, Standardize, answered_class, make_model
from crest.readouts import READOUTS, REFERENCES, CrestConfig, CrestReadout

ALL = [*READOUTS, *REFERENCES]


def signals(n: int = 3, steps: int = 16) -> Tensor:
    return torch.randn(n, steps, 2, generator=torch.Generator().manual_seed(3))


def events(n: int = 3, steps: int = 16) -> Tensor:
    return (torch.arange(steps) % 5 == 2).expand(n, steps)


def bits(model: Model, part: str) -> dict[str, Tensor]:
    return {name: value for name, value in model.state_dict().items() if name.startswith(part)}


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("readout", ALL)
def test_one_number_per_trajectory(encoder: str, readout: str) -> None:
    model = make_model(encoder, readout, channels=2, seed=1000)
    seen = events() if readout in REFERENCES else None
    assert model(signals(), seen).shape == (3,)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_encoder_and_head_start_from_the_seed_whatever_the_readout(encoder: str) -> None:
    models = [make_model(encoder, name, channels=2, seed=1000) for name in ALL]
    for part in ("encoder.", "head."):
        first = bits(models[0], part)
        assert first
        for other in models[1:]:
            assert bits(other, part).keys() == first.keys()
            assert all(torch.equal(first[name], value) for name, value in bits(other, part).items())


def test_options_of_the_readout_leave_encoder_and_head_alone() -> None:
    plain = make_model("local", "windowed", channels=2, seed=1000)
    other = make_model("local", "windowed", channels=2, seed=1000, readout_options={"window": 4})
    assert all(
        torch.equal(bits(plain, "encoder.")[name], value) for name, value in bits(other, "encoder.").items()
    )
    assert torch.equal(plain.head.weight, other.head.weight)


@pytest.mark.parametrize("part", ["encoder.", "readout.", "head."])
def test_another_seed_starts_elsewhere(part: str) -> None:
    one, two = (make_model("gru", "attention", channels=2, seed=seed) for seed in (1000, 1001))
    assert all(not torch.equal(bits(one, part)[name], value) for name, value in bits(two, part).items())


def test_the_same_seed_gives_the_same_bits_and_leaves_torchs_own_state() -> None:
    before = torch.get_rng_state()
    one, two = (make_model("gru", "attention", channels=2, seed=1000) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name]), name


def test_options_reach_encoder_and_readout() -> None:
    model = make_model(
        "attention",
        "crest",
        channels=2,
        seed=1000,
        encoder_options={"width": 8, "layers": 2},
        readout_options={"budget": 0.25, "config": CrestConfig(sigma=3.0)},
    )
    assert isinstance(model.readout, CrestReadout)
    assert (model.encoder.width, model.head.in_features, model.readout.budget) == (8, 8, 0.25)
    assert model.readout.config.sigma == 3.0


def test_the_answer_is_the_head_of_the_pooled_features() -> None:
    model = make_model("pointwise", "mean", channels=2, seed=1000).double()
    x = signals().double()
    model.standardize.fit(x)
    features = model.encoder((x - x.mean((0, 1))) / x.std((0, 1), correction=0))
    torch.testing.assert_close(model.features(x), features, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.pool(features), features.mean(1), rtol=0, atol=1e-12)
    expected = features.mean(1) @ model.head.weight[0] + model.head.bias[0]
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.read(features.mean(1)), expected, rtol=0, atol=1e-12)


def test_one_trajectory_gives_one_number() -> None:
    assert make_model("gru", "crest", channels=2, seed=1000)(signals(1)).shape == (1,)


def test_the_reference_pools_the_events_and_refuses_to_guess_them() -> None:
    model = make_model("pointwise", "event_window", channels=2, seed=1000)
    features = model.features(signals())
    torch.testing.assert_close(model.pool(features, events()), features[:, events()[0]].mean(1))
    with pytest.raises(ValueError, match="events must be given to EventWindowReadout: it pools the events"):
        model(signals())


def test_the_events_of_the_signals_are_brought_to_the_features_steps() -> None:
    model = make_model("cnn", "event_window", channels=2, seed=1000).eval()
    features = model.features(signals())
    assert features.shape == (3, 4, 32)
    marked = torch.zeros(3, 16, dtype=torch.bool)
    marked[:, 7:9] = True
    torch.testing.assert_close(model.pool(features, marked), features[:, 1:3].mean(1))


@pytest.mark.parametrize("readout", READOUTS)
def test_label_free_readouts_never_see_the_events(readout: str) -> None:
    model = make_model("pointwise", readout, channels=2, seed=1000).eval()
    torch.testing.assert_close(model(signals(), events()), model(signals()), rtol=0, atol=0)


def test_standardize_shifts_and_scales_each_channel() -> None:
    x = torch.tensor([[[1.0, 10.0], [3.0, 30.0]], [[5.0, 50.0], [7.0, 70.0]]])
    layer = Standardize(2)
    torch.testing.assert_close(layer(x), x)
    scaled = layer.fit(x)(x)
    torch.testing.assert_close(scaled.mean((0, 1)), torch.zeros(2))
    torch.testing.assert_close(scaled.std((0, 1), correction=0), torch.ones(2))
    torch.testing.assert_close(layer.shift, torch.tensor([4.0, 40.0]))
    torch.testing.assert_close(layer.scale, torch.tensor([5.0, 500.0]).sqrt())


def test_a_channel_that_does_not_vary_is_only_shifted() -> None:
    """0.1 has no exact mean in float32: the deviation of a constant is rounding, not a scale."""
    x = torch.full((16, 512, 1), 0.1)
    layer = Standardize(1).fit(x)
    assert layer.scale.item() == 1
    assert layer(x).abs().amax() < 1e-6
    assert layer(x + 1).sub(1).abs().amax() < 1e-6


def test_the_scale_is_state_and_not_a_parameter() -> None:
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    model.standardize.fit(signals())
    assert {"standardize.shift", "standardize.scale"} <= set(model.state_dict())
    assert not [name for name, _ in model.named_parameters() if name.startswith("standardize")]
    twin = make_model("pointwise", "mean", channels=2, seed=1000)
    twin.load_state_dict(model.state_dict())
    torch.testing.assert_close(twin(signals()), model(signals()), rtol=0, atol=0)


@pytest.mark.parametrize("readout", ["attention", "crest", "event_window"])
def test_a_head_of_classes_gives_logits(readout: str) -> None:
    model = make_model("pointwise", readout, channels=2, seed=1000, outputs=3)
    logits = model(signals(), events())
    assert (model.outputs, tuple(logits.shape)) == (3, (3, 3))
    assert torch.equal(answered_class(logits), logits.argmax(1))
    assert answered_class(logits[:, 0]) is None
    with pytest.raises(ValueError, match="outputs must be a whole number, 1 or more, got 0"):
        make_model("pointwise", readout, channels=2, seed=1000, outputs=0)
