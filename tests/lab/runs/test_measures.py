"""Models whose answers, credit and gradients are known by hand: the features are the signals."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from crest._base import rng
from crest.background.transience import channel_transience
from crest.lab.encoders import Encoder
from crest.lab.model import Model, make_model
from crest.lab.runs import measures
from crest.lab.runs.measures import TRACED, measured_deletion, measured_saliency, measured_traces
from crest.probes import (
    Trace,
    batches_of,
    credit_of_scores,
    deletion,
    positive_credit,
    saliency,
    step_scores,
)
from crest.probes.deletion import FRACTIONS
from crest.readouts import (
    READOUTS,
    REFERENCES,
    AttentionReadout,
    CrestConfig,
    CrestReadout,
    MaxReadout,
    MeanReadout,
)
from crest.recordings import Splits, Trajectories
from toy import STEPS, toy

T = 20
HEIGHTS = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
PLACES = np.array([4, 11, 2, 15, 9])
DECOYS = np.array([13, 3, 17, 6, 0])
HARM = float(np.sqrt(np.mean(HEIGHTS**2)))


class Plain(Encoder):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def model(readout: Any, weights: list[float]) -> Model:
    made = Model(Plain(len(weights), len(weights)), readout)
    with torch.no_grad():
        made.head.weight.copy_(torch.tensor([weights]))
        made.head.bias.zero_()
    return made


def spikes() -> Trajectories:
    """Channel 0 is the label at the event and 0 elsewhere; channel 1 the same at a decoy."""
    x = np.zeros((5, T, 2), dtype=np.float32)
    rows = np.arange(5)
    x[rows, PLACES, 0] = HEIGHTS
    x[rows, DECOYS, 1] = HEIGHTS
    events = np.zeros((5, T), dtype=bool)
    events[rows, PLACES] = True
    return Trajectories(
        x=x, y=HEIGHTS.copy(), events=events, proxy=HEIGHTS / 3, sample_rate=1.0, channels=("a", "b")
    )


def largest() -> Model:
    """Answers with the height of the event."""
    return model(MaxReadout(), [1.0, 0.0])


def decoyed() -> Model:
    """Attends to the decoy alone and answers with its height."""
    readout = AttentionReadout(2)
    with torch.no_grad():
        readout.query.copy_(torch.tensor([0.0, 200.0]))
    return model(readout, [0.0, 1.0])


# -- deletion


def test_deleting_the_events_that_the_answer_is_takes_it_away() -> None:
    curve = measured_deletion(largest(), spikes(), seed=0)["events"]
    assert curve.fractions == pytest.approx((0.0, 1 / T))
    assert curve.errors == pytest.approx((0.0, HARM))


def test_deleting_events_that_the_answer_does_not_need_does_no_harm() -> None:
    curves = measured_deletion(decoyed(), spikes(), seed=0)
    assert curves["events"].errors == pytest.approx((0.0, 0.0), abs=1e-6)
    for name in ("rated", "credit"):
        assert curves[name].fractions == FRACTIONS
        assert curves[name].errors == pytest.approx((0.0, *[HARM] * 5), abs=1e-6)


def test_random_steps_are_those_of_the_seed_whatever_the_model() -> None:
    """The answer is lost in those trajectories whose event is among the steps that went."""
    for seed in (0, 1):
        found = measured_deletion(largest(), spikes(), seed)["random"]
        ratings = rng.generator(seed, "deletion/random").random((5, T))
        rank = (ratings > ratings[np.arange(5), PLACES][:, None]).sum(1)
        lost = [rank < round(fraction * T) for fraction in FRACTIONS]
        assert found.errors == pytest.approx([np.sqrt(np.mean((HEIGHTS * gone) ** 2)) for gone in lost])
    assert (
        measured_deletion(largest(), spikes(), 0)["random"]
        != measured_deletion(largest(), spikes(), 1)["random"]
    )


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured_deletion(decoyed(), spikes(), 0), measured_saliency(largest(), spikes())
    sizes = []

    def in_twos(*tensors: torch.Tensor | None) -> list[tuple[Any, ...]]:
        found = batches_of(*tensors, size=2)
        sizes.append([len(batch[0]) for batch in found])
        return found

    monkeypatch.setattr(measures, "batches_of", in_twos)
    parts = measured_deletion(decoyed(), spikes(), 0), measured_saliency(largest(), spikes())
    assert parts[0].keys() == whole[0].keys()
    for name in whole[0]:
        assert parts[0][name].errors == pytest.approx(whole[0][name].errors, abs=1e-6)
    assert parts[1] == whole[1]
    assert sizes
    assert all(size == [2, 2, 1] for size in sizes)


# Readouts that say themselves which steps they take, by weights that they learn or by votes.
OWN = {"attention", "scored_attention", "gated_attention", "windowed", "crest"}


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_every_readout_has_credit_and_those_that_choose_have_a_rating(readout: str) -> None:
    data = toy(6)
    curves = measured_deletion(make_model("pointwise", readout, channels=2, seed=1000), data, seed=1000)
    assert list(curves) == ["credit", *(["rated"] if readout in OWN else []), "random", "events"]
    assert len({curve.errors[0] for curve in curves.values()}) == 1
    for name, curve in curves.items():
        assert curve.fractions == ((0.0, pytest.approx(3 / STEPS)) if name == "events" else FRACTIONS)
        assert len(curve.errors) == len(curve.fractions)


def test_the_rating_of_crest_is_its_votes() -> None:
    made, data = make_model("pointwise", "crest", channels=2, seed=1000).eval(), toy(6)
    x, y, _, _ = data.tensors()
    assert isinstance(made.readout, CrestReadout)
    with torch.no_grad():
        curve = deletion(made, x, y, made.readout.votes(made.features(x)))
    assert measured_deletion(made, data, seed=0)["rated"].errors == pytest.approx(curve.errors)


def test_ratings_of_a_strided_encoder_are_spread_over_the_steps_of_the_signals() -> None:
    made, data = make_model("cnn", "crest", channels=2, seed=1000).eval(), toy(6)
    x, y, events, _ = data.tensors()
    assert isinstance(made.readout, CrestReadout)
    with torch.no_grad():
        features = made.features(x)
        assert features.shape[1] == STEPS // 4
        credited = positive_credit(step_scores(features, made.pool(features, events)))
        ratings = {"credit": credited, "rated": made.readout.votes(features)}
        curves = {
            name: deletion(made, x, y, rating.repeat_interleave(4, 1)) for name, rating in ratings.items()
        }
    found = measured_deletion(made, data, seed=0)
    for name, curve in curves.items():
        assert found[name].errors == pytest.approx(curve.errors)


# -- saliency


def test_the_gradient_of_a_maximum_is_at_the_event() -> None:
    means = measured_saliency(largest(), spikes())
    assert means is not None
    assert (means.cie, means.ecm, means.precision) == pytest.approx((1, 1, 1))
    assert means.chance == pytest.approx(1 / T)
    assert (means.counted, means.without_events) == (5, 0)


def test_the_gradient_of_a_mean_is_everywhere() -> None:
    means = measured_saliency(model(MeanReadout(), [1.0, 0.0]), spikes())
    assert means is not None
    assert (means.cie, means.ecm, means.precision, means.chance) == pytest.approx((1 / T,) * 4)


def test_a_gradient_that_is_never_at_an_event_has_no_credit_there() -> None:
    means = measured_saliency(decoyed(), spikes())
    assert means is not None
    assert (means.cie, means.ecm, means.precision) == pytest.approx((0, 0, 0), abs=1e-6)


def test_trajectories_without_events_are_counted_apart() -> None:
    data = spikes()
    assert data.events is not None
    events = data.events.copy()
    events[[0, 3]] = False
    means = measured_saliency(largest(), dataclasses.replace(data, events=events))
    assert means is not None
    assert (means.counted, means.without_events) == (3, 2)
    assert (means.ecm, means.chance) == pytest.approx((1, 1 / T))
    nothing = dataclasses.replace(data, events=np.zeros_like(events))
    assert measured_saliency(largest(), nothing) is None


def test_the_averages_have_the_bits_of_the_published_records() -> None:
    """They were added up in float32."""
    made, data = make_model("pointwise", "scored_attention", channels=2, seed=1000).eval(), toy(40)
    x, _, events, _ = data.tensors()
    found = credit_of_scores(saliency(made, x), events)
    means = measured_saliency(made, data)
    assert means is not None
    assert means == found.averages(torch.float32)
    assert means != found.averages()


# -- both


@pytest.mark.parametrize(
    ("measure", "name"),
    [(lambda made, data: measured_deletion(made, data, 0), "deletion"), (measured_saliency, "saliency")],
)
def test_without_events_there_is_nothing_to_measure(measure: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"data must have events to measure {name}, got none"):
        measure(largest(), toy(4, events=False))


@pytest.mark.parametrize("training", [True, False])
def test_the_models_mode_and_gradients_stay_as_they_were(training: bool) -> None:
    made = make_model("pointwise", "crest", channels=2, seed=1000).train(training)
    before = {name: value.clone() for name, value in made.state_dict().items()}
    measured_deletion(made, toy(4), 0)
    measured_saliency(made, toy(4))
    measured_traces(made, Splits(train=toy(4), id=toy(4), ood=toy(4)))
    assert made.training is training
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
    assert all(parameter.grad is None for parameter in made.parameters())
    assert torch.is_grad_enabled()


# -- traces


def numbers(row: Trace) -> list[float]:
    lists = [[row.y, row.prediction, row.cue], *row.signals, row.credit, row.transience, row.votes or []]
    return [value for values in lists for value in values]


@pytest.mark.parametrize("readout", ["attention", "crest", "mean", "event_window"])
def test_traces_are_the_first_trajectories_of_both_splits(readout: str) -> None:
    made = make_model("pointwise", readout, channels=2, seed=1000).eval()
    splits = Splits(train=toy(3), id=toy(9, seed=1), ood=toy(3, seed=2))
    traces = measured_traces(made, splits)
    assert (traces.channels, traces.sample_rate) == (["a", "b"], 1.0)
    assert [(row.split, row.index) for row in traces.rows] == [
        *(("id", index) for index in range(TRACED)),
        *(("ood", index) for index in range(3)),
    ]
    # Together: CREST's budget is that of the batch while it was never trained.
    answers = {}
    for name in ("id", "ood"):
        x, _, events, _ = getattr(splits, name)[:TRACED].tensors()
        with torch.no_grad():
            answers[name] = made(x, events).tolist()
    for row in traces.rows:
        data = getattr(splits, row.split)
        assert np.shape(row.signals) == (2, STEPS)
        assert np.allclose(row.signals, data.x[row.index].T, rtol=1e-3)
        assert len(row.credit) == len(row.transience) == STEPS
        assert row.events == np.flatnonzero(data.events[row.index]).tolist()
        assert row.y == pytest.approx(data.y[row.index], rel=1e-3)
        assert row.cue == pytest.approx(data.proxy[row.index], rel=1e-3)
        assert row.prediction == pytest.approx(answers[row.split][row.index], rel=1e-3)
        assert sum(row.credit) == pytest.approx(1, abs=1e-3)
        assert min(row.credit) >= 0
        assert sum(row.transience) == pytest.approx(1, abs=1e-3)
        assert (row.votes is not None) == (readout == "crest")
        # Four digits of everything.
        assert all(value == float(f"{value:.4g}") for value in numbers(row))


def test_votes_are_shares_of_the_channels() -> None:
    made = make_model("pointwise", "crest", channels=2, seed=1000).eval()
    splits = Splits(train=toy(3), id=toy(3, seed=1), ood=toy(3, seed=2))
    assert isinstance(made.readout, CrestReadout)
    with torch.no_grad():
        counts = made.readout.votes(made.features(splits.id.tensors().x))
    for row, expected in zip(measured_traces(made, splits).rows[:3], counts, strict=True):
        assert row.votes == pytest.approx((expected / 32).tolist(), rel=1e-3)
        assert row.votes is not None
        assert 0 < max(row.votes) <= 1


OWN_CONSTANTS = {"sigma": CrestConfig(sigma=2.0), "delta": CrestConfig(delta=100.0)}


@pytest.mark.parametrize(
    ("readout", "options", "config"),
    [
        *(("crest", {"config": config}, config) for config in OWN_CONSTANTS.values()),
        ("crest", {}, CrestConfig()),
        ("mean", {}, CrestConfig()),
    ],
)
def test_the_transience_is_that_of_the_readouts_own_constants(
    readout: str, options: dict[str, Any], config: CrestConfig
) -> None:
    made = make_model("pointwise", readout, channels=2, seed=1000, readout_options=options).eval()
    splits = Splits(train=toy(3), id=toy(3, seed=1), ood=toy(3, seed=2))
    with torch.no_grad():
        features = made.features(splits.id.tensors().x)
    found = torch.tensor([row.transience for row in measured_traces(made, splits).rows[:3]])
    for other in (*OWN_CONSTANTS.values(), CrestConfig()):
        expected = channel_transience(features, sigma=other.sigma, delta=other.delta).mean(-1)
        assert torch.allclose(found, expected, rtol=1e-3, atol=1e-8) == (other == config)


def test_credit_and_prediction_by_hand() -> None:
    data = spikes()
    rows = measured_traces(largest(), Splits(train=data, id=data, ood=data)).rows
    assert [row.prediction for row in rows[:TRACED]] == HEIGHTS[:TRACED].tolist()
    for row, place, decoy in zip(rows[:TRACED], PLACES[:TRACED], DECOYS[:TRACED], strict=True):
        # The pooled vector points halfway between the two spikes.
        expected = [0.0] * T
        expected[place] = expected[decoy] = 0.5
        assert row.credit == pytest.approx(expected)
        assert row.events == [place]


def test_what_nobody_knows_is_left_out_of_a_trace() -> None:
    data = toy(2, events=False, proxy=False)
    made = make_model("pointwise", "attention", channels=2, seed=1000)
    for row in measured_traces(made, Splits(train=data, id=data, ood=data)).rows:
        assert (row.events, row.cue, row.votes) == (None, None, None)


def test_a_model_without_positive_credit_has_a_trace_of_zeros() -> None:
    data = spikes()
    still = dataclasses.replace(data, x=np.zeros_like(data.x))
    (first, *_) = measured_traces(largest(), Splits(train=still, id=still, ood=still)).rows
    assert first.credit == [0.0] * T


def test_the_gradient_of_a_classifier_is_that_of_the_class_which_it_answers() -> None:
    """The first class reads the event, the second the decoy; the bias says which one is answered."""
    made = Model(Plain(2, 2), MaxReadout(), outputs=2)
    for answered, on_event in ((0, 1.0), (1, 0.0)):
        with torch.no_grad():
            made.head.weight.copy_(torch.eye(2))
            made.head.bias.copy_(100.0 * torch.eye(2)[answered])
        means = measured_saliency(made, spikes())
        assert means is not None
        assert means.cie == pytest.approx(on_event, abs=1e-6)
