import math

import pytest
import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import (
    OBJECTIVES,
    CrossEntropy,
    GroupDro,
    MeanSquaredError,
    TrainingBatch,
    make_objective,
    squared_errors,
)
from crest.lab.objectives.base import trajectory_errors
from objectives_made import batch, silent
from toy import toy


def test_mean_squared_error_by_hand() -> None:
    assert squared_errors(silent(), batch([1.0, -2.0, 3.0])).tolist() == [1.0, 4.0, 9.0]
    assert MeanSquaredError().loss(silent(), batch([1.0, -2.0, 3.0])).item() == pytest.approx(14 / 3)


def test_rows_of_a_batch() -> None:
    whole = TrainingBatch(*toy(8).tensors())
    part = whole.rows(torch.tensor([5, 2]))
    for name in TrainingBatch._fields:
        assert torch.equal(getattr(part, name), getattr(whole, name)[[5, 2]])
    bare = TrainingBatch(*toy(8, events=False, proxy=False).tensors()).rows(torch.tensor([1]))
    assert bare.events is None
    assert bare.proxy is None


@pytest.mark.parametrize("name", ["mse", "group_dro", "irm", "last_layer", "train_twice", "physics"])
def test_every_objective_refuses_the_reference_without_events(name: str) -> None:
    data = batch([0.0, 1.0], [0.0, 1.0])._replace(events=None)
    with pytest.raises(ValueError, match="train must have events for EventWindowReadout"):
        make_objective(name).prepare(silent("event_window"), data)


def test_objectives_by_name() -> None:
    for name, kind in OBJECTIVES.items():
        assert type(make_objective(name)) is kind
    made = make_objective("group_dro", step=0.2, groups=3)
    assert isinstance(made, GroupDro)
    assert (made.step, made.groups) == (0.2, 3)
    with pytest.raises(
        ValueError,
        match=r"objective must be one of mse, cross_entropy, group_dro, event_auxiliary, .*, got 'mae': did you mean 'mse'",
    ):
        make_objective("mae")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("group_dro", {"step": 0.0}, "step must be positive, got 0.0"),
        ("group_dro", {"groups": 1}, "groups must be a whole number, 2 or more, got 1"),
        ("event_auxiliary", {"weight": -0.1}, "weight must be 0 or more, got -0.1"),
        ("irm", {"weight": -1.0}, "weight must be 0 or more, got -1.0"),
        ("last_layer", {"penalty": 0.0}, "penalty must be positive, got 0.0"),
        ("train_twice", {"share": 1.0}, r"share must lie in \(0, 1\), got 1.0"),
        ("train_twice", {"times": 1}, "times must be a whole number, 2 or more, got 1"),
        ("physics", {"displacement": 1}, "rate must be another channel than displacement, got 1 for both"),
        ("physics", {"damping": 1.0}, r"damping must lie in \[0, 1\), got 1.0"),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_objective(name, **options)


# -- classes


# Those that are for numbers and for classes.
BOTH = ("group_dro", "irm", "last_layer", "train_twice")


def of_classes(outputs: int = 2) -> Model:
    return make_model("pointwise", "attention", channels=2, seed=1000, outputs=outputs)


def test_cross_entropy_by_hand() -> None:
    model = of_classes()
    torch.nn.init.zeros_(model.head.weight)
    with torch.no_grad():
        model.head.bias.copy_(torch.tensor([0.0, math.log(3.0)]))
    # The second class has three quarters of the probability, whatever the signal.
    expected = -(2 * math.log(0.25) + math.log(0.75)) / 3
    assert CrossEntropy().loss(model, batch([0.0, 0.0, 1.0])).item() == pytest.approx(expected)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in ("cross_entropy", *BOTH)])
def test_objectives_of_numbers_refuse_classes(name: str) -> None:
    with pytest.raises(ValueError, match="objective must be cross_entropy if the labels are 2 classes, got "):
        make_objective(name).check(of_classes())


@pytest.mark.parametrize("name", BOTH)
def test_rivals_are_for_numbers_and_for_classes(name: str) -> None:
    make_objective(name).check(of_classes())
    make_objective(name).check(silent())
    with pytest.raises(ValueError, match="train must have numbers of 2 classes for labels"):
        make_objective(name).prepare(of_classes(), batch([0.0, 0.5], [0.0, 1.0]))


def test_the_error_of_a_trajectory_is_its_cross_entropy_or_its_square() -> None:
    model, data = of_classes(), batch([0.0, 1.0, 1.0])
    torch.nn.init.zeros_(model.head.weight)
    with torch.no_grad():
        model.head.bias.copy_(torch.tensor([0.0, math.log(3.0)]))
    expected = [-math.log(0.25), -math.log(0.75), -math.log(0.75)]
    assert trajectory_errors(model, data).tolist() == pytest.approx(expected)
    assert trajectory_errors(silent(), data).tolist() == squared_errors(silent(), data).tolist()


def test_cross_entropy_refuses_numbers() -> None:
    with pytest.raises(
        ValueError, match="one for numbers, such as mse, if the labels are numbers, got CrossEntropy"
    ):
        CrossEntropy().check(silent())
    for labels in ([0.0, 2.0], [0.5, 1.0], [-1.0, 0.0]):
        with pytest.raises(ValueError, match="train must have numbers of 2 classes for labels"):
            CrossEntropy().prepare(of_classes(), batch(labels))
