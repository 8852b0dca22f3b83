import pytest
import torch
from torch import nn

import crest
from crest.strangers.answers import stranger_of
from crest.strangers.batch import Batch

X = torch.randn(12, 40, 1, generator=torch.Generator().manual_seed(1000))
LABELS = torch.stack([X[:, 0, 0] > 0, X[:, 1, 0] > 0, X[:, 2, 0] > 1], 1).long()


def first_steps(x: torch.Tensor) -> torch.Tensor:
    return x[:, :3, 0] - torch.tensor([0.0, 0.0, 1.0])


@pytest.mark.parametrize("probable", [False, True])
def test_one_label_is_a_class_of_two(probable: bool) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return first_steps(x).sigmoid() if probable else first_steps(x)

    for column in range(3):
        stranger, batch = stranger_of(model, Batch(X, LABELS), False, output=column, notes=[])
        assert torch.equal(stranger(batch.signals).argmax(1), LABELS[:, column])
        assert torch.equal(batch.targets, LABELS[:, column])
        assert batch.label


def test_labels_without_a_choice_and_missing_targets_stay() -> None:
    notes: list[str] = []
    stranger, batch = stranger_of(first_steps, Batch(X, LABELS), False, notes=notes)
    assert torch.equal(batch.targets, LABELS)
    assert notes == ["targets of 3 columns of 0 and 1 are several labels"]
    assert torch.equal(stranger.predictions(stranger.beside(batch)), first_steps(X))
    assert stranger_of(first_steps, Batch(X), False, output=0, notes=[])[1].targets is None
    with pytest.raises(
        ValueError, match=r"^targets must have a column for each of the 2 outputs of the model, got 3"
    ):
        crest.audit(lambda x: first_steps(x)[:, :2], (X, LABELS))


def test_an_audit_chooses_tells_and_names() -> None:
    quick = crest.ExchangeSettings(trajectories=12, block=4, bootstrap=20)
    hot = torch.eye(2)[LABELS[:, 0]]

    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"hidden": x, "logits": torch.cat([-x[:, 0], x[:, 0]], 1)}

    found = crest.audit(Two(), (X, hot), output="logits", features=False, exchange=quick)
    assert found.error == 0
    assert found.named(classes=["ok", "worn"]).classes == ("ok", "worn")
    assert "targets of 2 columns are one-hot: read as class numbers 0 to 1" in found.notes
    several = crest.audit(first_steps, (X, LABELS), conditions=["a", "b"] * 6, exchange=quick)
    assert several.error == 0
    assert several.classes == ("0", "1", "2")
    assert several.traces is not None
    assert all(row.y is None and row.prediction is None for row in several.traces.rows)
    watch = crest.Watch(first_steps, (X, LABELS), output=1, channels_first=False, exchange=quick)
    assert watch(0)["crest/error"] == 0
