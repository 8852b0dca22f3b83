import numpy as np
import pandas
import pytest
import torch
from torch import nn

import crest
from crest.probes.tables import require_no_features, signals_of_table, table_note

QUICK = crest.ExchangeSettings(trajectories=16, block=4, bootstrap=20)
NUMBERS = torch.Generator().manual_seed(1000)
X = torch.randn(24, 1, generator=NUMBERS) + 0.1 * torch.randn(24, 50, generator=NUMBERS)
Y = X.mean(1)


def test_two_axes_are_trajectories_of_one_channel() -> None:
    flat = crest.exchange_test(lambda x: x[:, 5:].mean(1), X, exchange=QUICK)
    assert flat == crest.exchange_test(lambda x: x[:, 5:].mean((1, 2)), X[..., None], exchange=QUICK)
    model = nn.Linear(50, 1)
    found = crest.audit(model, (X, Y), exchange=QUICK)
    channels = crest.audit(
        nn.Sequential(nn.Flatten(), model), (X[..., None], Y), channels_first=False, exchange=QUICK
    )
    assert found.exchange == channels.exchange
    assert any(note.startswith("inputs (16, 50) read as 16 trajectories of 50 steps") for note in found.notes)


def test_a_model_of_three_axes_is_told_what_to_give() -> None:
    with pytest.raises(
        ValueError, match=r"Does it take three axes\? Give x\[\.\.\., None\] .* or x\[:, None\]"
    ):
        crest.audit(nn.Sequential(nn.Conv1d(1, 2, 5), nn.Flatten()), (X, Y))
    with pytest.raises(
        ValueError, match=r"for a model of two axes torch\.nn\.Sequential\(torch\.nn\.Flatten\(\), model\)"
    ):
        crest.repair(nn.Linear(50, 1), [(X, Y)])


@pytest.mark.parametrize("ask", [crest.audit, crest.exchange_test])
def test_a_table_of_features_is_refused(ask: object) -> None:
    with pytest.raises(
        ValueError, match=r"got \(24, 7\), which looks like a table of features: crest needs the signals"
    ):
        ask(lambda x: x.mean(1), X[:, :7])  # type: ignore[operator]
    require_no_features("inputs", (24, 16))


def test_a_data_frame_is_refused_as_a_table() -> None:
    frame = pandas.DataFrame(X.numpy(), columns=[f"feature {one}" for one in range(50)])
    with pytest.raises(ValueError, match=r"got a table \(DataFrame\): crest needs the signals, as an array"):
        crest.audit(lambda x: x.mean(1), (frame, np.asarray(Y)))


def test_the_note_and_the_turned_function_agree() -> None:
    signals, function = signals_of_table(X, lambda x: x.sum(1), "inputs")
    assert torch.equal(function(signals), X.sum(1))
    assert "24 trajectories of 50 steps" in table_note(tuple(X.shape))
