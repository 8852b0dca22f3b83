"""The machines are what they say, and the audit tells each cue."""

import pytest
import torch
from torch import Tensor

import crest
from crest.examples import MACHINE_CUES, MachineRecordings, fit_network, machines, network

NAMED = {"level": "offset", "amplitude": "gain", "rate": "rate"}
"""What the audit calls each cue."""


def correlation(a: Tensor, b: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1])


@pytest.mark.parametrize("cue", MACHINE_CUES)
def test_the_load_goes_with_the_damage_on_the_bench_alone(cue: str) -> None:
    train, bench, plant = machines(1000, cue=cue)
    assert [len(part) for part in (train, bench, plant)] == [256, 128, 128]
    for part in (train, bench, plant):
        assert part.x.shape == (len(part), 1, 128)
        assert part.events.shape == (len(part), 128)
        assert part.events.sum(1).tolist() == [12] * len(part)
        assert part.y.shape == part.condition.shape == (len(part),)
        assert part.sample_rate == 100.0
    assert min(correlation(part.y, part.condition) for part in (train, bench)) > 0.95
    assert abs(correlation(plant.y, plant.condition)) < 0.2


def test_a_worse_machine_knocks_harder_wherever_it_is() -> None:
    for part in machines(1000):
        heights = (part.x.squeeze(1) - part.condition[:, None]).amax(1)
        assert correlation(heights, part.y) > 0.95


def loudness(part: MachineRecordings) -> Tensor:
    """Of the steps without a knock."""
    x = part.x.squeeze(1)
    return torch.stack([row[~knock].std() for row, knock in zip(x, part.events, strict=True)]).log()


def changes_of_sign(part: MachineRecordings) -> Tensor:
    return (part.x.squeeze(1).sign().diff() != 0).float().mean(1)


def test_each_cue_changes_its_own_thing() -> None:
    def told(cue: str) -> list[float]:
        plant = machines(1000, cue=cue, noise=0.01).plant
        level = plant.x.squeeze(1).median(1).values
        return [
            abs(correlation(one, plant.condition)) for one in (level, loudness(plant), changes_of_sign(plant))
        ]

    for place, cue in enumerate(MACHINE_CUES):
        assert told(cue)[place] > 0.9, cue
    assert told("level")[1] < 0.3
    assert told("amplitude")[0] < 0.3
    assert max(told("rate")[:2]) < 0.3


def test_a_seed_repeats_the_machines_and_leaves_the_global_state() -> None:
    state = torch.get_rng_state()
    first, again, other = (machines(seed).bench for seed in (1000, 1000, 1001))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first.x, again.x)
    assert not torch.equal(first.x, other.x)


def test_tie_and_noise_are_taken() -> None:
    untied = machines(1000, tie=0.0).train
    assert abs(correlation(untied.y, untied.condition)) < 0.2
    assert (
        machines(1000, noise=1.0).bench.x.std(2).mean() > 2 * machines(1000, noise=0.0).bench.x.std(2).mean()
    )


def test_batches_hold_every_recording_in_order() -> None:
    bench = machines(1000).bench
    pairs = bench.batches(50)
    assert [len(x) for x, _ in pairs] == [50, 50, 28]
    assert torch.equal(torch.cat([x for x, _ in pairs]), bench.x)
    assert torch.equal(torch.cat([y for _, y in pairs]), bench.y)
    with pytest.raises(ValueError, match=r"size must be a whole number, 1 or more, got 0"):
        bench.batches(0)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"cue": "speed"}, "cue must be one of level, amplitude, rate, got 'speed'"),
        ({"tie": 1.5}, r"tie must lie in \[-1, 1\], got 1.5"),
        ({"noise": -1.0}, "noise must be 0 or more, got -1.0"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        machines(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("cue", MACHINE_CUES)
def test_the_audit_names_the_cue_that_a_trained_network_follows(cue: str) -> None:
    train, bench, plant = machines(1000, cue=cue)
    model = network(seed=1000)
    fit_network(model, train.batches())
    with torch.no_grad():
        errors = [crest.probes.rmse(model.eval()(part.x), part.y) for part in (bench, plant)]
    assert errors[1] > 2 * errors[0]
    found = crest.audit(model, bench.batches()).exchange.nuisances
    moved = {name: one.moved for name, one in found.items()}
    assert max(moved, key=lambda name: moved[name]) == NAMED[cue]
    # And clearly so: nothing else moves the predictions half as far.
    assert sorted(moved.values())[-2] < 0.6 * moved[NAMED[cue]]
