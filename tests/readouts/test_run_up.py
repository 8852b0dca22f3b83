"""The run-up is found where every trajectory shows it, and nowhere else."""

import pytest
import torch
from torch import Tensor, nn

from crest.background import background_of
from crest.background.transience import channel_transience
from crest.readouts import CrestConfig, CrestReadout
from crest.readouts.run_up import RunUp, end_profile, enough_for_a_run_up, run_up_steps, without_run_up


def features(batch: int = 16, steps: int = 200, seed: int = 0) -> Tensor:
    """Noise with an event of four steps somewhere."""
    generator = torch.Generator().manual_seed(seed)
    made = 0.1 * torch.randn(batch, steps, 6, generator=generator)
    for row, place in enumerate(torch.randint(40, steps - 40, (batch,), generator=generator)):
        made[row, place : place + 4] += 2.0
    return made


def with_run_up(made: Tensor, steps: float = 5.0) -> Tensor:
    """A state that starts far away and comes near at a rate of its own, as a recurrent one does."""
    time = torch.arange(made.shape[1])
    return made + 8.0 * torch.exp(-time / steps).unsqueeze(-1)


def test_it_is_found_at_the_end_where_it_is() -> None:
    started = CrestReadout()
    started(with_run_up(features()))
    start, end = started.run_up.steps.tolist()
    assert 10 <= start <= 40
    assert end == 0
    mirrored = CrestReadout()
    mirrored(with_run_up(features()).flip(1))
    assert mirrored.run_up.steps.tolist() == [end, start]


def test_both_ends_of_a_bidirectional_state() -> None:
    both = with_run_up(with_run_up(features()).flip(1))
    readout = CrestReadout()
    readout(both)
    assert (readout.run_up.steps >= 10).all()


def test_where_there_is_none_nothing_changes_to_the_bit() -> None:
    for seed in range(5):
        auto, none = CrestReadout(), CrestReadout(run_up=0)
        made = features(seed=seed)
        assert torch.equal(auto(made), none(made))
        assert auto.run_up.steps.tolist() == [0, 0]
        assert torch.equal(auto.eval()(made), none.eval()(made))


@pytest.mark.parametrize("noise", [0.1, 0.01, 0.001])
def test_what_the_signals_do_at_their_ends_is_no_run_up(noise: float) -> None:
    """Slopes, slow waves and random walks: a low-pass that averages is off at their ends, a line is not."""
    generator = torch.Generator().manual_seed(1000)
    time = torch.arange(200)
    slopes = torch.randn(32, 1, 6, generator=generator) * time[:, None] / 200
    waves = torch.sin(time / 40 + 6.3 * torch.rand(32, 1, generator=generator))[..., None]
    walks = torch.randn(32, 200, 6, generator=generator).cumsum(1)
    for made in (slopes, waves.expand(32, 200, 6), walks):
        readout = CrestReadout()
        readout(made + noise * torch.randn(32, 200, 6, generator=generator))
        assert readout.run_up.steps.tolist() == [0, 0]


def test_an_event_at_the_start_of_a_few_is_none() -> None:
    made = features()
    made[:6, :4] += 5.0
    readout = CrestReadout()
    readout(made)
    assert readout.run_up.steps.tolist() == [0, 0]


def test_the_core_is_the_event_again() -> None:
    made = with_run_up(features())
    readout, blind = CrestReadout(0.05), CrestReadout(0.05, run_up=0)
    readout(made)
    found = readout.eval().votes(made).argmax(1)
    truth = features().mean(-1).argmax(1)
    assert ((found - truth).abs() <= 4).all()
    assert (blind.votes(made).argmax(1) < 40).all()
    assert (readout.step_weights(made)[:, :10] == 0).all()
    core = readout.select(made)
    assert torch.equal(core.run_up, readout.run_up.steps)
    assert not core.selected[:, : int(core.run_up[0])].any()


def test_leaving_out_is_what_the_mask_does() -> None:
    made = features()
    mask = torch.arange(200).expand(16, 200)
    given = CrestReadout("trajectory", run_up=(12, 3))
    torch.testing.assert_close(
        given(made), CrestReadout("trajectory", run_up=0)(made, (mask >= 12) & (mask < 197))
    )
    assert CrestReadout("trajectory", run_up=12).select(made).run_up.tolist() == [12, 0]


def test_it_counts_valid_steps_wherever_they_begin() -> None:
    """Padding at the left, at the right and in between: the run-up is at the first valid steps."""
    made = with_run_up(features())
    bare = CrestReadout()
    bare(made)
    padded = torch.full((16, 260, 6), float("nan"))
    mask = torch.zeros(16, 260, dtype=torch.bool)
    for row in range(16):
        first = 3 * row
        padded[row, first : first + 200] = made[row]
        mask[row, first : first + 200] = True
    readout = CrestReadout()
    pooled = readout(padded, mask)
    assert torch.equal(readout.run_up.steps, bare.run_up.steps)
    torch.testing.assert_close(pooled, CrestReadout()(made), rtol=0, atol=1e-5)


def test_what_was_found_takes_a_quarter_of_a_trajectory_at_most() -> None:
    """So that a row that is one step longer is not pooled in quite another way."""
    mask = torch.arange(40)[None] < torch.tensor([[40], [8], [3], [0]])
    left = without_run_up(mask, torch.tensor([12.0, 1.0])).sum(1)
    assert left.tolist() == [40 - 10 - 1, 8 - 2 - 1, 3, 0]


def test_what_is_given_is_taken_as_given_unless_nothing_is_left() -> None:
    made, mask = features(), torch.arange(200).expand(16, 200) < torch.tensor([[200], [30]]).repeat(8, 1)
    readout = CrestReadout("trajectory", run_up=100)
    whole = CrestReadout("trajectory", run_up=0)
    torch.testing.assert_close(readout(made, mask)[1::2], whole(made, mask)[1::2])
    late = torch.arange(200).expand(16, 200) >= 100
    torch.testing.assert_close(readout(made), whole(made, late))
    with pytest.raises(
        ValueError, match=r"run_up must leave some of the 200 steps of features, got \(150, 50\)"
    ):
        CrestReadout(run_up=(150, 50))(made)


@pytest.mark.parametrize("rows", [1, 7])
def test_a_few_trajectories_say_nothing(rows: int) -> None:
    readout = CrestReadout()
    readout(with_run_up(features(batch=rows)))
    assert readout.run_up.batches == 0
    assert not enough_for_a_run_up(torch.ones(rows, 9))


def test_a_profile_without_scale_or_of_few_steps_has_none() -> None:
    for steps in (1, 2, 3, 5, 9):
        assert run_up_steps(torch.rand(16, steps)).tolist() == [0, 0]
    sparse = torch.zeros(16, 64)
    sparse[:, 0] = 1.0
    assert run_up_steps(sparse).tolist() == [0, 0]


def test_it_takes_a_quarter_at_most() -> None:
    profile = torch.ones(16, 100)
    profile[:, :45] = 40.0
    assert run_up_steps(profile).tolist() == [25, 0]


def test_calibrate_finds_it_and_evaluation_keeps_rows_apart() -> None:
    made = with_run_up(features())
    readout = CrestReadout().eval().calibrate([made[:8], made[8:]])
    assert readout.run_up.steps[0] >= 10
    torch.testing.assert_close(readout(made)[:1], readout(made[:1]))
    fixed = CrestReadout(0.1).calibrate([made])
    assert fixed.run_up.steps[0] >= 10
    # Few trajectories say nothing: what was found before is forgotten.
    assert fixed.calibrate([made[:4]]).run_up.steps.tolist() == [0, 0]
    trained = CrestReadout()
    trained(made)
    assert "0 at the end are left out" in repr(trained)
    assert "no batch seen" in repr(CrestReadout())


def test_a_real_recurrent_state_has_a_run_up_and_a_layer_per_step_has_none() -> None:
    torch.manual_seed(0)
    signals = 0.1 * torch.randn(32, 256, 3)
    with torch.no_grad():
        states = nn.GRU(3, 32, batch_first=True)(signals + 2.0)[0]
        both = nn.GRU(3, 16, batch_first=True, bidirectional=True)(signals + 2.0)[0]
        steps = torch.nn.functional.gelu(nn.Linear(3, 32)(signals + 2.0))
    found = []
    for made in (states, both, steps):
        readout = CrestReadout()
        readout(made)
        found.append(readout.run_up.steps.tolist())
    assert found[0][0] > 0, found
    assert found[0][1] == 0
    assert min(found[1]) > 0
    assert found[2] == [0, 0]


def test_old_checkpoints_load() -> None:
    old = {key: value for key, value in CrestReadout().state_dict().items() if key.startswith("running")}
    readout = CrestReadout()
    readout(with_run_up(features()))
    readout.load_state_dict(old)
    assert readout.run_up.steps.tolist() == [0, 0]


def test_the_average_moves_and_is_forgotten() -> None:
    run_up = RunUp(momentum=0.5)
    profile = torch.ones(16, 64)
    profile[:, :8] = 50.0
    run_up.observe(profile, None)
    run_up.observe(torch.ones(16, 64), None)
    assert (float(run_up.start), float(run_up.end)) == (4.0, 0.0)
    run_up.reset_parameters()
    assert run_up.steps.tolist() == [0, 0]


@pytest.mark.unchecked
@pytest.mark.parametrize("run_up", [-1, (1, 2, 3), (1, -1), "some", 2.5, None])
def test_the_number_is_checked(run_up: object) -> None:
    with pytest.raises(ValueError, match=r"^run_up must be ('auto', a number of steps|'auto', a number or)"):
        CrestReadout(run_up=run_up)


def test_stride_counts_steps_of_the_inputs() -> None:
    made = features()
    strided = CrestReadout("trajectory", stride=4, config=CrestConfig(sigma=12.0, dilation=5))
    plain = CrestReadout("trajectory", config=CrestConfig(sigma=3.0, dilation=2))
    assert torch.equal(strided(made), plain(made))
    # Below one step of the features a low-pass would be the features themselves.
    far = CrestReadout("trajectory", stride=32, config=CrestConfig(sigma=6.0, dilation=0))
    one = CrestReadout("trajectory", config=CrestConfig(sigma=1.0, dilation=0))
    assert torch.equal(far(made), one(made))
    assert "stride=4" in repr(strided)
    with pytest.raises(ValueError, match=r"^stride must be a whole number, 1 or more, got 0"):
        CrestReadout(stride=0)


def test_the_background_is_what_the_residual_is_taken_from() -> None:
    made = features().double() + torch.sin(torch.arange(200) * 0.1)[:, None]
    for kind in ("level", "slow", "slow+level"):
        readout = CrestReadout("trajectory", background=kind, run_up=0)
        assert readout(made).isfinite().all()
    by_level = CrestReadout("trajectory", background="level", run_up=0).select(made).selected
    assert not torch.equal(by_level, CrestReadout("trajectory", run_up=0).select(made).selected)
    with pytest.raises(ValueError, match=r"^background must be one of level, slow"):
        CrestReadout(background="fast")


def test_the_profile_is_what_is_ranked_by_the_readout_itself() -> None:
    made = features()
    options = {"stride": 2, "background": "level", "run_up": (12, 3)}
    found = CrestReadout("trajectory", **options).profile(made)
    inside = (torch.arange(200) >= 12) & (torch.arange(200) < 197)
    by_hand = channel_transience(made, inside.expand(16, 200), 3.0, background=background_of("level")).mean(
        -1
    )
    torch.testing.assert_close(found, by_hand)
    assert (found[:, :12] == 0).all()
    assert (found[:, 197:] == 0).all()


def test_the_mask_of_a_large_batch_is_that_of_the_trajectories_looked_at() -> None:
    made, mask = torch.randn(40, 60, 4), torch.arange(60) < torch.randint(30, 60, (40, 1))
    profile, rows = end_profile(made, mask, 6.0, 1e-12)
    assert rows is not None
    assert profile.shape == rows.shape
    assert torch.equal(rows, mask[: len(rows)])
    assert len(rows) < 40
    readout = CrestReadout().calibrate([(made, mask)])
    assert int(readout.running.batches) == 1


def test_a_run_up_need_not_be_largest_at_its_first_step() -> None:
    """A convolution that sees zeros beyond the end is off at the steps beside it, too."""
    profile = torch.ones(16, 64)
    profile[:, 0], profile[:, 1:6] = 3.0, 50.0
    assert run_up_steps(profile).tolist() == [6, 0]
    assert run_up_steps(profile.flip(1)).tolist() == [0, 6]


def test_calibrate_leaves_the_run_up_out_of_the_budget() -> None:
    made = with_run_up(features())
    found = CrestReadout().calibrate([made])
    start, end = found.run_up.steps.long().tolist()
    given = CrestReadout(run_up=(start, end)).calibrate([made])
    torch.testing.assert_close(found.running.width, given.running.width, rtol=0, atol=0)
    torch.testing.assert_close(found.running.tail, given.running.tail, rtol=0, atol=0)
    # With it the budget is another one.
    assert not torch.allclose(found.running.width, CrestReadout(run_up=0).calibrate([made]).running.width)
