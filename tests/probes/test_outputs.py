import numpy as np
import pytest
import torch

import crest
from crest.probes.outputs import ChosenOutput, column_of, label_codes, path_of, read_targets

QUICK = crest.ExchangeSettings(trajectories=24, block=6, bootstrap=20)
LABELS = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize("many", [LABELS, LABELS.bool(), LABELS.double()])
def test_rows_of_flags_are_labels_unless_each_has_one(many: torch.Tensor) -> None:
    found, notes, label = read_targets(many)
    assert torch.equal(found, LABELS)
    assert not label
    assert notes == ["targets of 3 columns of 0 and 1 are several labels"]
    classes, notes, label = read_targets(torch.eye(3)[[2, 0, 1]].to(many.dtype))
    assert classes.tolist() == [2, 0, 1]
    assert not label
    assert notes == ["targets of 3 columns are one-hot: read as class numbers 0 to 2"]


def test_a_column_goes_with_its_output() -> None:
    assert column_of(("logits", 2), torch.zeros(4, 1)) == ("logits", 2)
    assert column_of(2, torch.zeros(4, 3)) is None
    found, notes, label = read_targets(LABELS, ("logits", 2))
    assert (found.tolist(), label) == ([1, 0, 0], True)
    assert "column 2 of the targets" in notes[0]
    numbers = torch.tensor([[0.5, 2.0], [1.5, 3.0]])
    assert read_targets(numbers, -1)[0].tolist() == [2.0, 3.0]
    assert not read_targets(numbers, 1)[2]
    assert torch.equal(read_targets(numbers[:, :1], 7)[0], numbers[:, 0])
    with pytest.raises(ValueError, match=r"^output must lie in \[0, 1\], the columns of the targets, got 2"):
        read_targets(numbers, 2)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (
            torch.tensor([[0.5, 2.0]]),
            r"^targets of field of several columns must be .* pass output=0 to 1 to choose",
        ),
        (torch.zeros(2, 3, 1), r"^targets of field must be of shape \(N,\), .* got \(2, 3, 1\)"),
    ],
)
def test_other_targets_are_refused(targets: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_targets(targets, None, " of field")


def test_an_output_is_taken_by_name_place_and_column() -> None:
    columns = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(ChosenOutput(output=2)(columns), columns[:, 2])
    assert torch.equal(ChosenOutput(output=("a", 1))({"a": columns.numpy()}), columns[:, 1])
    assert torch.equal(ChosenOutput(output=1)([None, columns]), columns)
    assert torch.equal(
        ChosenOutput(answer=lambda out: out.b, output=0)(type("Out", (), {"b": columns})), columns[:, 0]
    )
    assert ChosenOutput(output=1, threshold=0.5)(columns).argmax(1).tolist() == [1, 1]
    assert path_of("a") == ("a",)
    for found, output, message in (
        ({"a": 1, "b": 2}, "c", r"^output must be one of 'a', 'b', got 'c'"),
        ((1, 2), 2, r"^output must lie in \[0, 1\], the outputs of the model, got 2"),
        (columns, 3, r"^output must lie in \[0, 2\]"),
        (columns, "a", r"^output must be the name .* got 'a' for a model that returns Tensor"),
        (np.ones(3), 0, r"^output must be the name .* returns ndarray"),
    ):
        with pytest.raises(ValueError, match=message):
            ChosenOutput(output=output)(found)


def signals() -> tuple[torch.Tensor, torch.Tensor]:
    """A knock and a level, with a label each."""
    numbers = torch.Generator().manual_seed(1000)
    knock, level = torch.randn(2, 48, generator=numbers)
    x = level[:, None, None] + 0.1 * torch.randn(48, 80, 1, generator=numbers)
    x[:, 40:44, 0] += 3 * knock[:, None]
    return x, torch.stack([knock > 0, level > 0, knock > 1], 1).long()


def knock_and_level(x: torch.Tensor) -> torch.Tensor:
    knock = x[:, 42, 0] - x[:, 20, 0]
    return torch.stack([knock, x[:, 20, 0], knock - 3], 1)


def test_each_label_is_tested_by_itself() -> None:
    x, y = signals()
    found = [
        crest.exchange_test(knock_and_level, x, targets=y, output=one, exchange=QUICK) for one in range(3)
    ]
    assert found[0].transient > 0.9
    assert found[2].transient > 0.9
    assert found[1].background > 0.9
    assert found[0].together.error < 0.1
    assert found[1].together.error > 0.3
    likely = crest.exchange_test(
        lambda x: knock_and_level(x).sigmoid(), x, targets=y, output=1, exchange=QUICK
    )
    assert likely.together.error == pytest.approx(found[1].together.error, abs=0.05)


def test_labels_together_are_no_logits() -> None:
    """A shift that all labels share is a change of all of them; of logits it is none."""
    x, y = signals()

    def shared(x: torch.Tensor) -> torch.Tensor:
        return x[:, 20].expand(-1, 3)

    assert crest.exchange_test(shared, x, targets=y, exchange=QUICK).background > 0.9
    assert not crest.exchange_test(shared, x, exchange=QUICK).varies
    found = crest.exchange_test(knock_and_level, x, targets=y, exchange=QUICK)
    # One of three labels follows the level, and is told by chance once that is exchanged.
    assert found.together.error == pytest.approx(1 / 6, abs=0.08)
    assert found.constant_error == pytest.approx(
        float(torch.minimum(y.double().mean(0), 1 - y.double().mean(0)).mean()), abs=0.1
    )


def test_one_hot_classes_are_those_that_they_stand_for() -> None:
    x, y = signals()

    def logits(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([-x[:, 20, 0], x[:, 20, 0]], 1)

    numbers = crest.exchange_test(logits, x, targets=y[:, 1], exchange=QUICK)
    hot = crest.exchange_test(logits, x.numpy(), targets=np.eye(2)[y[:, 1]], exchange=QUICK)
    assert hot == numbers


class Pair(torch.nn.Module):
    """Features and logits, in a tuple."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.mean(1), knock_and_level(x)


def test_a_place_in_a_tuple_is_no_column_of_the_targets() -> None:
    x, y = signals()
    classes = knock_and_level(x).argmax(1)
    hot = torch.eye(3)[classes]
    first, second = (
        crest.exchange_test(Pair(), x, targets=one, output=1, exchange=QUICK) for one in (classes, hot)
    )
    assert first == second
    whole = crest.ExchangeSettings(trajectories=48, block=6, bootstrap=20)
    assert crest.audit(Pair(), (x, hot), channels_first=False, output=1, exchange=whole).error == 0.0
    found = crest.repair(
        Pair(), [(x, hot)], validation=[(x, hot)], channels_first=False, output=1, remedies=[], exchange=QUICK
    )
    assert found.before.id_error == 0.0
    labels = crest.exchange_test(Pair(), x, targets=y, output=1, exchange=QUICK)
    assert labels == crest.exchange_test(knock_and_level, x, targets=y, exchange=QUICK)
    # A column of what stands there is one, and so is a place of one number for each trajectory.
    label = crest.exchange_test(Pair(), x, targets=y, output=(1, 2), exchange=QUICK)
    assert label == crest.exchange_test(knock_and_level, x, targets=y, output=2, exchange=QUICK)
    heads = crest.exchange_test(
        lambda x: knock_and_level(x).unbind(1), x, targets=y, output=2, exchange=QUICK
    )
    assert heads == label


def test_codes_tell_combinations_apart() -> None:
    assert len(set(label_codes(LABELS).tolist())) == 3
    assert torch.equal(label_codes(LABELS[:, 0]), LABELS[:, 0])
