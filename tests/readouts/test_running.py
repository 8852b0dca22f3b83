"""Running averages of the budget: what a readout keeps of its training batches."""

import copy

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from crest.lab.ablations import AblatedCrestReadout
from crest.readouts import CrestReadout
from eventful import lengths_mask, trajectories


def test_the_pooled_budget_is_a_running_average() -> None:
    readout = CrestReadout("pooled").double()
    own = CrestReadout("trajectory").double()
    batches = [trajectories(seed=seed) for seed in range(3)]
    cores = [own.select(batch) for batch in batches]
    width, tail = cores[0].width.mean(), cores[0].tail.mean()
    readout(batches[0])
    torch.testing.assert_close(readout.running.width, width)
    for batch, core in zip(batches[1:], cores[1:], strict=True):
        readout(batch)
        width, tail = 0.95 * width + 0.05 * core.width.mean(), 0.95 * tail + 0.05 * core.tail.mean()
    torch.testing.assert_close(readout.running.width, width)
    torch.testing.assert_close(readout.running.tail, tail)
    assert readout.running.batches == 3
    readout.eval()
    epsilon = readout.select(trajectories(seed=9)).epsilon
    assert epsilon.unique().numel() == 1
    frozen = copy.deepcopy(readout.state_dict())
    readout(trajectories(seed=9))
    readout.train().votes(trajectories(seed=9))
    assert readout.state_dict() == frozen


def test_the_pooled_budget_is_in_the_state_dict_and_others_have_none() -> None:
    names = {"running.width", "running.tail", "running.batches"}
    assert set(CrestReadout(run_up=0).state_dict()) == names
    assert set(CrestReadout().state_dict()) == names | {"run_up.start", "run_up.end", "run_up.batches"}
    assert CrestReadout("trajectory", run_up=0).state_dict() == {}
    assert CrestReadout(0.1, run_up=3).state_dict() == {}


def test_before_any_batch_evaluation_uses_each_trajectory_own_budget() -> None:
    features = trajectories()
    torch.testing.assert_close(CrestReadout("pooled").eval()(features), CrestReadout("trajectory")(features))


def test_padding_rows_do_not_move_the_pooled_budget() -> None:
    features = trajectories()
    mask = lengths_mask(70, [70, 70, 0])
    readout, without = CrestReadout().double(), CrestReadout().double()
    readout(features, mask)
    without(features[:2])
    torch.testing.assert_close(readout.running.width, without.running.width)
    torch.testing.assert_close(readout.running.tail, without.running.tail)
    before = copy.deepcopy(readout.state_dict())
    readout(features, torch.zeros_like(mask))
    assert readout.state_dict() == before


def test_calibrate_is_the_plain_average() -> None:
    batches = [trajectories(seed=0), trajectories(batch=5, seed=1)]
    readout = CrestReadout().double().calibrate(batches)
    own = CrestReadout("trajectory").double()
    widths = torch.cat([own.select(batch).width for batch in batches])
    torch.testing.assert_close(readout.running.width, widths.mean())
    tails = torch.cat([own.select(batch).tail for batch in batches])
    torch.testing.assert_close(readout.running.tail, tails.mean())
    assert readout.running.batches == 2
    assert readout.running.tail != readout.running.width
    mask = lengths_mask(70, [70, 40, 0])
    halves = AblatedCrestReadout(split=True).double().calibrate([(batches[0], mask)])
    expected = AblatedCrestReadout("trajectory", split=True).double().select(batches[0], mask).tail[:2].mean()
    torch.testing.assert_close(halves.running.tail, expected)
    masked = CrestReadout().double().calibrate([(batches[0], lengths_mask(70, [70, 40, 0]))])
    expected = own.select(batches[0], lengths_mask(70, [70, 40, 0])).width[:2].mean()
    torch.testing.assert_close(masked.running.width, expected)
    as_a_loader_gives_it = CrestReadout().double().calibrate([[batches[0], lengths_mask(70, [70, 40, 0])]])
    torch.testing.assert_close(as_a_loader_gives_it.running.width, expected)
    with pytest.raises(ValueError, match="batches must hold at least one trajectory"):
        CrestReadout().calibrate([])
    with pytest.raises(
        ValueError, match=r"calibrate needs budget='pooled' or run_up='auto', got budget=0\.1"
    ):
        CrestReadout(0.1, run_up=0).calibrate(batches)


def test_the_averages_stay_in_single_precision() -> None:
    """In bfloat16, 0.05 of a small change is lost and the average never moves."""
    readout = CrestReadout().bfloat16()
    assert readout.running.width.dtype == torch.float32
    assert CrestReadout().double().running.tail.dtype == torch.float64


def test_a_checkpointed_forward_pass_is_counted_once() -> None:
    """Else the repeated pass would move the budget, and the gradients would be those of another selection."""
    gradients = {}
    for again in (False, True):
        readout = CrestReadout().double()
        readout(trajectories(seed=1))
        features = trajectories(seed=2).requires_grad_()
        pooled = checkpoint(readout, features, use_reentrant=False) if again else readout(features)
        pooled.square().sum().backward()
        gradients[again] = features.grad
        assert readout.running.batches == 2
    torch.testing.assert_close(gradients[True], gradients[False])


def test_a_checkpoint_without_averages_means_none_seen() -> None:
    model = nn.Sequential(nn.Linear(5, 5), nn.Identity())
    state = model.state_dict()
    model[1] = CrestReadout()
    model[1](trajectories().float())
    fresh = nn.Sequential(nn.Linear(5, 5), CrestReadout())
    fresh.load_state_dict(state)
    assert fresh[1].running.batches == 0
    incomplete = model.state_dict()
    del incomplete["1.running.tail"]
    with pytest.raises(RuntimeError, match=r"running\.tail"):
        fresh.load_state_dict(incomplete)


def test_reset_forgets_the_averages() -> None:
    readout = CrestReadout()
    readout(trajectories().float())
    readout.running.reset_parameters()
    assert [float(value) for value in readout.running.state_dict().values()] == [0.0, 0.0, 0.0]
