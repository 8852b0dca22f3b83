import sys

import numpy as np
import pytest
import torch

import crest
from crest._cues.cues import readings_of
from crest._cues.inputs import signals_of
from crest.nuisances import SeparatedSignals
from crest.recordings import Trajectories


def bursts(count: int, tie: float, seed: int = 1000) -> tuple[torch.Tensor, torch.Tensor]:
    """Bursts whose size is the target, on a level that follows the target as far as `tie` says."""
    generator = torch.Generator().manual_seed(seed)
    target, other = torch.randn(2, count, generator=generator)
    level = tie * target + (1 - tie**2) ** 0.5 * other
    x = level[:, None, None] + 0.1 * torch.randn(count, 200, 1, generator=generator)
    for row, first in enumerate(torch.randint(20, 170, (count,), generator=generator)):
        x[row, first : first + 8] += 2 + 0.5 * target[row]
    return x, target


@pytest.mark.parametrize(("tie", "low", "high"), [(0.97, 0.92, 0.96), (0.0, -0.1, 0.02)])
def test_a_tied_level_is_found_and_an_untied_one_is_none(tie: float, low: float, high: float) -> None:
    found = crest.cues(*bursts(300, tie))
    assert low < found["offset"].score < high
    assert found["core"].score > 0.95
    assert found["all"].score > 0.95
    for name in ("drift", "tones", "gain"):
        assert found[name].share < 0.05, name
    # Bursts have a colour of their own; without them nothing of it is left.
    assert found["colour"].score > 0.5
    assert found["colour"].share_around < 0.05
    declared = any('invariant=("offset",)' in one for one in found.sentences)
    assert declared == (tie > 0)


def rows_of(count: int = 240, steps: int = 256, seed: int = 1000) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, steps, 1, generator=generator), torch.rand(count, generator=generator)


@pytest.mark.parametrize("name", ["drift", "tones", "gain", "colour"])
def test_each_nuisance_is_found_by_its_name(name: str) -> None:
    """The target sets one thing of plain noise; only what that thing is part of tells it."""
    noise, y = rows_of()
    size, steps = (0.5 + 2 * y)[:, None, None], torch.arange(256.0)[:, None]
    phase = 6.28 * torch.rand(240, 1, 1, generator=torch.Generator().manual_seed(1001))
    x = {
        "drift": noise + size * torch.sin(2 * torch.pi * 2 * steps / 256 + phase),
        "tones": noise + size * torch.sin(2 * torch.pi * 0.23 * steps + phase),
        "gain": noise * size,
        "colour": torch.lerp(noise, noise.roll(1, 1), y[:, None, None] / 2),
    }[name]
    if name == "colour":
        x = x / x.std(1, keepdim=True)
    found = crest.cues(x, y, bootstrap=100)
    assert found[name].score > 0.5
    assert found["surroundings"].score > 0.5
    # The slow part of noise is as large as its gain makes it.
    beside = {"offset", "drift", "tones", "gain"} - {name} - ({"drift"} if name == "gain" else set())
    assert {one: round(found[one].share, 2) for one in beside if found[one].share > 0.3} == {}


def test_what_rises_and_falls_is_found() -> None:
    noise, y = rows_of()
    level = torch.where(torch.arange(240) % 2 == 0, 1.0, -1.0) * y
    assert crest.cues(0.1 * noise + level[:, None, None], y, bootstrap=10)["offset"].score > 0.9


def test_classes_have_an_accuracy_against_chance() -> None:
    noise, _ = rows_of()
    kinds = torch.arange(240) % 3
    found = crest.cues(noise + kinds[:, None, None], kinds)
    assert (found.measure, found.classes) == ("balanced accuracy", ("0", "1", "2"))
    assert found["offset"].score > 0.98
    assert found["offset"].chance == pytest.approx(1 / 3)
    assert found["gain"].score < 0.45
    names = np.array(["inner", "none", "outer"])[kinds]
    assert crest.cues(noise + kinds[:, None, None], names)["offset"].score == found["offset"].score


def test_noise_counts_as_a_cue_of_classes_about_as_often_as_its_interval_says() -> None:
    """Seeds that no choice was made by. With the interval of the accuracy alone some 8 % of the rows counted."""
    told, counted = 0, 0
    for seed in range(30):
        generator = torch.Generator().manual_seed(2000 + seed)
        x = torch.randn(30, 96, 1, generator=generator)
        found = crest.cues(x, torch.randint(0, 2, (30,), generator=generator), bootstrap=100)
        told += len(found.rows)
        counted += sum(row.share >= 0.1 and row.least_share > 0 for row in found.rows)
    assert counted / told < 0.04


@pytest.mark.parametrize("rare", [0.5, 0.1])
def test_a_strong_cue_of_classes_counts(rare: float) -> None:
    generator = torch.Generator().manual_seed(1000)
    worn = torch.rand(100, generator=generator) < rare
    x = torch.randn(100, 96, 1, generator=generator) + 0.5 * worn[:, None, None]
    found = crest.cues(x, worn, bootstrap=200)
    assert found["offset"].share > 0.8
    assert found["offset"].least_share > 0.5
    assert any('invariant=("offset",)' in one for one in found.sentences)


def test_a_channel_is_read_in_any_unit() -> None:
    """The level of the second channel is the target; the first is noise, and a billion times larger or smaller."""
    noise, y = rows_of(60, 96)
    second = y[:, None, None] + 0.1 * noise
    first = torch.randn(noise.shape, generator=torch.Generator().manual_seed(1001))
    scores = [
        [row.score for row in crest.cues(torch.cat([unit * first, second], 2), y, bootstrap=5).rows]
        for unit in (1e-9, 1.0, 1e9)
    ]
    assert scores[1][0] > 0.95
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    assert scores[2] == pytest.approx(scores[1], abs=1e-3)


def test_conditions_say_what_they_set_and_whether_they_are_tied() -> None:
    noise, _ = rows_of()
    speed = torch.arange(240) % 3
    y = torch.where(torch.arange(240) % 20 == 0, (speed + 1) % 3, speed).double()
    found = crest.cues(noise * (1 + speed[:, None, None]), y, {"speed": speed}, bootstrap=100)
    assert found["gain"].by_condition > 0.9
    assert found["offset"].by_condition < 0.1
    assert found["condition"].score > 0.7
    assert found.tie.tied
    assert any(one.endswith("12 of 240 trajectories break the tie.") for one in found.sentences)
    assert any(one.startswith("The condition explains") and "of the gain" in one for one in found.sentences)
    assert "by condition" in repr(found)
    shuffled = crest.cues(noise * (1 + speed[:, None, None]), y, torch.arange(240) // 3 % 2, bootstrap=100)
    assert shuffled["gain"].by_condition < 0.1
    assert shuffled["condition"].share < 0.05
    assert not shuffled.tie.tied


def test_a_machine_that_is_known_by_its_level_is_not_a_cue_with_groups() -> None:
    noise, _ = rows_of(120)
    machine = torch.arange(120) // 10
    generator = torch.Generator().manual_seed(1002)
    level, wear = torch.randn(12, 6, generator=generator), torch.randn(12, generator=generator)
    x = 0.1 * noise + level[machine][:, None]
    alone, grouped = (crest.cues(x, wear[machine], groups=groups) for groups in (None, machine))
    assert alone["offset"].score > 0.7
    assert grouped["offset"].share < 0.1
    assert (alone.groups, grouped.groups) == (None, 12)


def test_lengths_pieces_and_a_mask_change_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = rows_of(12, 100)
    lengths = torch.tensor([100, 60, 80] * 4)
    rows = signals_of(x, lengths, False)
    # `crest._cues.cues` is the function: the package has it under the name of its module.
    monkeypatch.setattr(sys.modules["crest._cues.cues"], "_AT_A_TIME", 200)
    found = readings_of(rows)
    whole = SeparatedSignals(rows.signals, rows.mask)
    for name, numbers in found.items():
        torch.testing.assert_close(numbers, whole.reading(name, scale=1.0), msg=name)


def test_the_same_seed_gives_the_same_bits_and_units_do_not_matter() -> None:
    x, y = bursts(80, 0.9)
    first, again, other = (crest.cues(x, y, seed=seed, bootstrap=50) for seed in (1000, 1000, 1001))
    assert first.to_dict() == again.to_dict()
    assert first["offset"].interval != other["offset"].interval
    scaled = crest.cues(1000 * x.numpy() + 7, 5 * y + 100, seed=1000, bootstrap=50)
    assert scaled["offset"].score == pytest.approx(first["offset"].score, abs=0.01)


def test_channels_first_is_the_same() -> None:
    x, y = bursts(60, 0.9)
    x = torch.cat([x, torch.randn(x.shape, generator=torch.Generator().manual_seed(1001))], 2)
    first = crest.cues(x, y, bootstrap=20)
    assert crest.cues(x.transpose(1, 2), y, channels_first=True, bootstrap=20).to_dict() == first.to_dict()


def test_global_generators_are_left_alone() -> None:
    x, y = bursts(20, 0.9)
    torch.manual_seed(1000)
    state = torch.get_rng_state()
    crest.cues(x, y, bootstrap=5)
    assert torch.equal(torch.get_rng_state(), state)


def tied_recordings() -> Trajectories:
    """Three sizes at three speeds, a recording each; nearly all windows of a size are at one speed, and louder ones are larger."""
    numbers, rows = np.random.default_rng(1000), []
    for place in range(9):
        size, speed = place // 3, place % 3
        rows += [(size, speed, place)] * (30 if size == speed else 3)
    size, speed, recording = np.array(rows).T
    # The speed sets the loudness: it tells the size by the tie alone.
    x = (1.0 + speed)[:, None, None] * numbers.normal(size=(len(rows), 128, 1))
    extra = {"recording": recording, "condition": speed.astype(str)}
    return Trajectories(x=x, y=3.0 * size + 2, sample_rate=1.0, channels=("a",), extra=extra)


def test_recordings_that_hold_most_of_a_target_are_not_left_out() -> None:
    data = tied_recordings()
    found = crest.cues(data)
    assert found.groups is None
    assert found["gain"].found
    (note,) = found.notes
    assert "too few to leave out: one of the groups holds 30 of the 36 trajectories of the target 2" in note
    assert "on both sides, so scores are too good" in note
    # Who passes groups gets them, and is told; labels are not blamed.
    told = crest.cues(data, groups=data.extra["recording"])
    assert told.groups == 9
    assert any(one.endswith("Scores are too low.") for one in told.notes)
    assert not any("check labels" in one for one in told.sentences)
