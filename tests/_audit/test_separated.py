"""One trajectory taken apart."""

import torch

import crest
from crest._audit.readings import core_of
from crest._audit.separated import separated_trajectory
from crest.strangers.batch import Batch
from pages_made import signals


def test_the_event_stays_and_the_level_is_the_donors() -> None:
    x, _ = signals()
    batch = Batch(x, None)
    core = core_of(x, batch.valid, 6.0)
    found = separated_trajectory(batch, core, crest.ExchangeSettings())
    assert found is not None
    level = x[:, :60, 0].mean(1)
    torch.testing.assert_close(found.signal, x[found.row, :, 0])
    # The one that changes it most.
    assert found.donor == int((level - level[found.row]).abs().argmax())
    torch.testing.assert_close(found.slow.mean(), level[found.row], atol=0.05, rtol=0)
    torch.testing.assert_close(found.exchanged_slow.mean(), level[found.donor], atol=0.05, rtol=0)
    rest, height = ~found.core, found.signal[80:86].mean() - found.signal[:60].mean()
    torch.testing.assert_close(found.exchanged[rest].mean(), level[found.donor], atol=0.05, rtol=0)
    torch.testing.assert_close(
        found.exchanged[80:86].mean() - found.exchanged[:60].mean(), height, atol=0.1, rtol=0
    )
    assert bool(found.core[80:86].all())


def test_padding_is_left_out_and_nothing_declared_gives_nothing() -> None:
    x, _ = signals(8)
    mask = torch.arange(160).expand(8, 160) < torch.arange(153, 161).unsqueeze(1)
    batch = Batch(x * mask.unsqueeze(-1), None, mask)
    core = core_of(batch.signals, batch.valid, 6.0)
    found = separated_trajectory(batch, core, crest.ExchangeSettings())
    assert found is not None
    assert {len(part) for part in (found.signal, found.core, found.slow, found.exchanged)} == {
        153 + found.row
    }
    assert separated_trajectory(batch, core, crest.ExchangeSettings(invariant=())) is None


def test_what_padding_holds_changes_nothing() -> None:
    x, _ = signals(8)
    mask = torch.arange(160).expand(8, 160) < torch.arange(153, 161).flip(0).unsqueeze(1)
    batches = [
        Batch(x.masked_fill(~mask.unsqueeze(-1), held), None, mask) for held in (0.0, 1e4, float("nan"))
    ]
    core = core_of(batches[0].signals, batches[0].valid, 6.0)
    found = [separated_trajectory(batch, core, crest.ExchangeSettings()) for batch in batches]
    assert len({(one.row, one.donor, one.channel) for one in found if one is not None}) == 1
    for one in found:
        assert one is not None
        torch.testing.assert_close(one.exchanged, found[0].exchanged)
        torch.testing.assert_close(one.slow, found[0].slow)
