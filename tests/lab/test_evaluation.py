import dataclasses

import numpy as np
import pytest
import torch

from crest.lab.evaluation import (
    Budget,
    Score,
    condition_errors,
    macro_f1_of_splits,
    measured_budget,
    measured_credit,
    model_error,
    predict,
    score,
)
from crest.lab.model import Model, make_model
from crest.probes import Credit, credit
from crest.probes.batches import BATCH
from crest.readouts import READOUTS, REFERENCES
from crest.recordings import Splits, Trajectories
from toy import toy

ALL = [*READOUTS, *REFERENCES]
# One and a half batches: the last one is smaller.
N = BATCH + BATCH // 2 + 1


def made(readout: str = "mean", **options: object) -> Model:
    model = make_model("local", readout, channels=2, seed=1000, readout_options=dict(options))
    model.standardize.fit(toy(N).tensors().x)
    x, _, events, _ = toy(N, seed=5).tensors()
    model.train()(x, events)  # CREST's running averages have seen a batch
    return model.eval()


@pytest.mark.parametrize("readout", ALL)
def test_predictions_are_those_of_everything_at_once(readout: str) -> None:
    model, data = made(readout), toy(N)
    x, _, events, _ = data.tensors()
    with torch.no_grad():
        expected = model(x, events)
    answers = predict(model, data)
    assert answers.shape == (N,)
    assert not answers.requires_grad
    torch.testing.assert_close(answers, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 5, BATCH, N])
def test_error_by_hand(n: int) -> None:
    model, data = made(), toy(n)
    answers = [model(data[row : row + 1].tensors().x).item() for row in range(n)]
    expected = np.sqrt(np.mean((np.array(answers) - data.y) ** 2))
    assert model_error(model, data) == pytest.approx(expected, rel=1e-6)


def test_error_of_known_answers() -> None:
    model, data = made(), toy(2)
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    assert model_error(model, dataclasses.replace(data, y=np.array([3.0, -4.0]))) == pytest.approx(12.5**0.5)


def test_error_keeps_the_labels_precision() -> None:
    model, data = made(), toy(2)
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    assert model_error(model, dataclasses.replace(data, y=np.full(2, 0.1))) == pytest.approx(0.1, rel=1e-12)


def test_score_pairs_the_two_errors() -> None:
    model = made()
    splits = Splits(train=toy(8), id=toy(9, seed=1), ood=toy(10, seed=2))
    both = score(model, splits)
    assert (both.id, both.ood) == (model_error(model, splits.id), model_error(model, splits.ood))
    assert both.id != both.ood


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1])
@pytest.mark.parametrize("name", ["id", "ood"])
def test_a_score_refuses_what_is_no_error(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be 0 or more, got {bad}"):
        Score(**{"id": 0.1, "ood": 0.1, name: bad})
    with pytest.raises(TypeError):
        Score(**{name: 0.1})
    with pytest.raises(dataclasses.FrozenInstanceError):
        Score(id=0.0, ood=0.0).id = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("readout", ALL)
def test_credit_is_that_of_everything_at_once(readout: str) -> None:
    model, data = made(readout), toy(N)
    x, _, events, _ = data.tensors()
    with torch.no_grad():
        features = model.features(x)
        expected = credit(features, model.pool(features, events), events)
    found = measured_credit(model, data)
    assert isinstance(found, Credit)
    assert torch.equal(found.counted, expected.counted)
    for name in ("scores", "positive", "ecm", "precision", "cie", "chance"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=1e-4, atol=1e-5)


def test_credit_of_an_encoder_with_a_stride_is_that_of_its_own_steps() -> None:
    model, data = make_model("cnn", "mean", channels=2, seed=1000).eval(), toy(N)
    x, _, events, _ = data.tensors()
    with torch.no_grad():
        features = model.features(x)
    found = measured_credit(model, data)
    assert found is not None
    expected = credit(features, features.mean(1), events.unflatten(1, (-1, 4)).any(2))
    torch.testing.assert_close(found.ecm, expected.ecm, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.chance, expected.chance)


def test_there_is_no_credit_without_events() -> None:
    assert measured_credit(made(), toy(events=False)) is None


def test_trajectories_without_an_event_are_not_counted() -> None:
    data = toy(N)
    assert data.events is not None
    events = data.events.copy()
    events[[0, BATCH]] = False
    found = measured_credit(made(), dataclasses.replace(data, events=events))
    assert found is not None
    assert found.n_without_events == 2
    assert (~found.counted).nonzero().flatten().tolist() == [0, BATCH]


@pytest.mark.parametrize(
    "options", [{}, {"budget": "trajectory"}, {"split": True}, {"budget": 0.2}, {"direction": "stable"}]
)
def test_the_budget_is_that_of_everything_at_once(options: dict[str, object]) -> None:
    model, data = made("crest", **options), toy(N)
    with torch.no_grad():
        core = model.readout.select(model.features(data.tensors().x))
    found = measured_budget(model, data)
    assert isinstance(found, Budget)
    for name in ("epsilon", "alpha", "width", "tail", "selected"):
        expected = getattr(core, name).double().mean().item()
        assert getattr(found, name) == pytest.approx(expected, rel=1e-5), name
    assert 0 < found.selected < 1


@pytest.mark.parametrize("readout", [name for name in ALL if name != "crest"])
def test_only_crest_has_a_budget(readout: str) -> None:
    assert measured_budget(made(readout), toy(4)) is None


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("readout", ["crest", "attention"])
def test_evaluation_leaves_the_model_as_it_was(readout: str, training: bool) -> None:
    model = made(readout).train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for measure in (predict, model_error, measured_credit, measured_budget):
        measure(model, toy(N))
        assert all(part.training == training for part in model.modules())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_the_mode_is_put_back_after_a_failure() -> None:
    model = made("event_window").train()
    with pytest.raises(ValueError, match="events must be given"):
        predict(model, toy(events=False))
    assert model.training
    assert torch.is_grad_enabled()


def test_no_more_than_one_batch_is_seen_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = made("crest"), []
    forward = model.encoder.forward
    monkeypatch.setattr(model.encoder, "forward", lambda x: sizes.append(len(x)) or forward(x))
    for measure in (predict, measured_credit, measured_budget):
        measure(model, toy(N))
    assert sizes == [BATCH, N - BATCH] * 3


def test_evaluation_measures_in_evaluation_mode_whatever_the_callers() -> None:
    data: Trajectories = toy(N)
    model = made("crest")
    calm = predict(model, data)
    torch.testing.assert_close(predict(model.train(), data), calm, rtol=0, atol=0)


def test_classes_are_scored_by_wrong_answers_and_by_macro_f1() -> None:
    """All are taken for the second of two classes: three of four are right ID, one of two OOD."""
    model = make_model("pointwise", "mean", channels=2, seed=1000, outputs=2)
    torch.nn.init.zeros_(model.head.weight)
    with torch.no_grad():
        model.head.bias.copy_(torch.tensor([0.0, 1.0]))
    inside, outside = (
        dataclasses.replace(toy(len(y)), y=np.array(y), classes=("no fault", "fault"))
        for y in ([1.0, 1.0, 0.0, 1.0], [0.0, 1.0])
    )
    splits = Splits(train=inside, id=inside, ood=outside)
    assert score(model, splits) == Score(id=0.25, ood=0.5)
    assert macro_f1_of_splits(model, splits) == pytest.approx({"id": 3 / 7, "ood": 1 / 3})
    assert macro_f1_of_splits(made(), Splits(train=toy(2), id=toy(2), ood=toy(2))) == {}


def test_errors_by_condition_are_those_of_the_windows_of_each() -> None:
    model, data = made(), toy(6)
    speeds = np.array(["slow", "fast", "slow", "fast", "slow", "slow"])
    known = dataclasses.replace(data, extra={"condition": speeds})
    found = condition_errors(model, Splits(train=known, id=known, ood=known[speeds == "fast"]))
    fast = model_error(model, data[speeds == "fast"])
    assert found["ood"] == {"fast": pytest.approx(fast)}
    assert found["id"] == {
        "fast": pytest.approx(fast),
        "slow": pytest.approx(model_error(model, data[speeds == "slow"])),
    }
    assert condition_errors(model, Splits(train=data, id=data, ood=data)) == {}
