import copy
import functools
import io
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import crest
from crest.lab.ablations import make_lab_readout
from crest.readouts.fast import backend
from crest.readouts.streaming import StreamedWindow, StreamingCrest
from eventful import trajectories

# Some steps are left after the last hop.
STEPS, WINDOW, HOP = 410, 64, 24


@functools.cache
def features(steps: int = STEPS, width: int = 5, batch: int = 3) -> Tensor:
    """A stream with an event here and there."""
    parts = [trajectories(batch, 50, width, seed) for seed in range(-(-steps // 50))]
    return torch.cat(parts, 1)[:, :steps].float()


def calibrated(**options: Any) -> crest.CrestReadout:
    return (
        make_lab_readout("crest", 8, **{"run_up": 0, **options})
        .calibrate([features(WINDOW), features(90)])
        .eval()
    )


def pushed(stream: StreamingCrest, series: Tensor, cuts: list[int]) -> list[StreamedWindow]:
    """All windows of a stream that comes in cut at these steps."""
    ends = [0, *sorted(cuts), series.shape[1]]
    return [one for start, stop in pairwise(ends) for one in stream.push(series[:, start:stop])]


def assert_same(windows: list[StreamedWindow], others: list[StreamedWindow], later: int = 0) -> None:
    """To the bit."""
    assert [one.start for one in windows] == [one.start + later for one in others]
    for one, other in zip(windows, others, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one[1:], other[1:], strict=True))


OPTIONS: dict[str, dict[str, Any]] = {
    "pooled": {},
    "trajectory": {"budget": "trajectory", "run_up": "auto"},
    "fixed": {"budget": 0.1, "run_up": "auto"},
    "stable": {"direction": "stable"},
    "alpha": {"alpha": 0.9},
    "split": {"split": True},
    "stride": {"stride": 2},
    "another background": {"background": "level"},
    "constants": {"config": crest.CrestConfig(sigma=3.0, dilation=1)},
}


@pytest.mark.parametrize("code", ["torch", "numba"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_window_is_what_the_readout_says_of_the_same_steps(options: dict[str, Any], code: Any) -> None:
    readout, series = calibrated(**options), features()
    with backend(code):
        windows = StreamingCrest(readout, WINDOW, HOP).push(series)
        assert [one.start for one in windows] == list(range(0, STEPS - WINDOW + 1, HOP))
        for one in windows:
            assert one.stop == one.start + WINDOW
            cut_out = series[:, one.start : one.stop]
            assert torch.equal(one.pooled, readout(cut_out))
            assert torch.equal(one.votes, readout.votes(cut_out))


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    cuts=st.lists(st.integers(0, STEPS), max_size=30),
    batch=st.integers(1, 3),
    window=st.integers(37, 150),
    share=st.floats(0.2, 1.0),
)
def test_how_a_stream_is_cut_changes_no_bit(cuts: list[int], batch: int, window: int, share: float) -> None:
    series, readout, hop = features(batch=batch), calibrated(), max(1, int(share * window))
    whole, in_parts = (StreamingCrest(readout, window, hop) for _ in range(2))
    assert_same(pushed(in_parts, series, cuts), whole.push(series))
    assert_same(in_parts.flush(), whole.flush())


def test_steps_one_by_one_and_empty_chunks() -> None:
    series, readout = features(), calibrated()
    every = list(range(STEPS))
    one_by_one = pushed(StreamingCrest(readout, WINDOW, HOP), series, every + every)
    assert_same(one_by_one, StreamingCrest(readout, WINDOW, HOP).push(series))


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_a_stream_that_begins_later_has_the_same_windows_from_there_on(hops: int) -> None:
    series, readout, later = features(), calibrated(), hops * HOP
    windows = StreamingCrest(readout, WINDOW, HOP).push(series)
    assert_same(windows[hops:], StreamingCrest(readout, WINDOW, HOP).push(series[:, later:]), later)


def test_layout_and_gradients_of_the_chunks_do_not_matter() -> None:
    series, readout = features(), calibrated()
    turned = series.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    windows = StreamingCrest(readout, WINDOW, HOP).push(turned)
    assert_same(windows, StreamingCrest(readout, WINDOW, HOP).push(series))
    assert not windows[0].pooled.requires_grad


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_windows_have_the_dtype_of_the_features(dtype: torch.dtype) -> None:
    series, readout = features().to(dtype), calibrated()
    for one in StreamingCrest(readout, WINDOW).push(series):
        assert one.pooled.dtype == dtype
        assert torch.equal(one.pooled, readout(series[:, one.start : one.stop]))


# -- the end


def test_what_is_left_is_a_window_that_ends_with_the_stream() -> None:
    series, readout = features(), calibrated()
    stream = StreamingCrest(readout, WINDOW, HOP)
    assert stream.push(series)[-1].stop < STEPS
    (last,) = stream.flush()
    assert (last.start, last.stop) == (STEPS - WINDOW, STEPS)
    assert torch.equal(last.pooled, readout(series[:, -WINDOW:]))
    assert stream.steps == 0
    assert stream.flush() == []


def test_nothing_is_left_of_a_stream_that_ends_with_a_window() -> None:
    stream = StreamingCrest(calibrated(), WINDOW, HOP)
    assert len(stream.push(features(WINDOW + 2 * HOP))) == 3
    assert stream.flush() == []


def test_a_stream_shorter_than_a_window_is_read_whole() -> None:
    series, readout = features(WINDOW - 5), calibrated()
    stream = StreamingCrest(readout, WINDOW, HOP)
    assert stream.push(series) == []
    (only,) = stream.flush()
    assert (only.start, only.stop) == (0, WINDOW - 5)
    assert torch.equal(only.pooled, readout(series))


def test_after_reset_a_stream_of_another_kind_may_begin() -> None:
    readout = calibrated()
    stream = StreamingCrest(readout, WINDOW, HOP)
    stream.push(features())
    stream.reset()
    other = features(width=2, batch=1).double()
    assert_same(stream.push(other), StreamingCrest(readout, WINDOW, HOP).push(other))


# -- memory and time


def held(stream: StreamingCrest) -> int:
    """Elements of all tensors that a stream keeps, with those of its readout."""
    kept = [value for value in vars(stream).values() if isinstance(value, Tensor)]
    return sum(one.numel() for one in [*kept, *stream._readout.state_dict().values()])


@pytest.mark.parametrize("hop", [7, WINDOW])
def test_memory_does_not_grow_with_the_stream(hop: int) -> None:
    stream = StreamingCrest(calibrated(), WINDOW, hop)
    most = 0
    for _ in range(10):
        for size in (1, 7, 200):
            stream.push(features(size))
            most = max(most, held(stream))
    assert stream.steps == 2080
    assert most <= 3 * 5 * WINDOW + 3


def test_a_step_costs_the_same_early_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by what the readout is given to read."""
    stream, read = StreamingCrest(calibrated(), WINDOW, HOP), []
    select = stream._readout.select

    def counted(series: Tensor, mask: Tensor | None) -> Any:
        read.append(series.shape[1])
        return select(series, mask)

    monkeypatch.setattr(stream._readout, "select", counted)
    for _ in range(50):
        stream.push(features(HOP))
    assert read == [WINDOW] * (50 - 2)


def test_a_step_is_in_a_window_as_soon_as_is_said() -> None:
    stream, series = StreamingCrest(calibrated(), WINDOW, HOP), features()
    shown, waited = 0, []
    for now in range(STEPS):
        for one in stream.push(series[:, now : now + 1]):
            waited += [now - step for step in range(max(shown, WINDOW), one.stop)]
            shown = one.stop
    assert max(waited) == stream.latency == HOP - 1


# -- the budget


def test_the_budget_is_frozen_when_the_stream_is_made() -> None:
    readout, series = calibrated().train(), features()
    before = copy.deepcopy(readout).eval()
    stream = StreamingCrest(readout, WINDOW)
    readout(features(80).cumsum(1))
    assert readout.training
    assert not torch.equal(readout.running.width, before.running.width)
    (window,) = stream.push(series[:, :WINDOW])
    assert torch.equal(window.pooled, before(series[:, :WINDOW]))
    assert not torch.equal(window.pooled, readout.eval()(series[:, :WINDOW]))


def test_a_readout_without_a_budget_is_told_what_to_do() -> None:
    with pytest.raises(
        ValueError, match=r"readout must know its budget .* call readout\.calibrate\(batches\)"
    ):
        StreamingCrest(crest.CrestReadout(), WINDOW)
    StreamingCrest(crest.CrestReadout("trajectory"), WINDOW)
    StreamingCrest(crest.CrestReadout(0.1), WINDOW)


def test_a_window_in_which_nothing_happens_can_be_told() -> None:
    generator = torch.Generator().manual_seed(0)
    series = 0.01 * torch.randn(2, 1024, 16, generator=generator)
    series[0, 700:704] += 1.0
    readout = crest.CrestReadout(0.05)
    windows = StreamingCrest(readout, 256).push(series)
    budgets = torch.stack([one.own_budget for one in windows], 1)
    assert (budgets < readout.config.epsilon_max).tolist() == [[False, False, True, False], [False] * 4]
    assert all((one.votes.sum(1) > 0).all() for one in windows)


# -- the run-up


def test_the_run_up_is_left_out_where_the_stream_begins_and_ends() -> None:
    series = features()
    stream = StreamingCrest(crest.CrestReadout(0.1, run_up=(30, 8)), WINDOW, HOP)
    plain = crest.CrestReadout(0.1, run_up=0)
    windows = [*stream.push(series), *stream.flush()]
    for one in windows:
        steps = torch.arange(one.start, one.stop)
        mask = (steps >= 30) & ((steps < STEPS - 8) | (one.stop < STEPS))
        mask = mask.expand(3, WINDOW)
        assert torch.equal(one.votes, plain.votes(series[:, one.start : one.stop], mask))
        assert torch.equal(one.pooled, plain(series[:, one.start : one.stop], mask))
    # Twice at the start: the second window begins before the run-up is over.
    ignored = [bool((one.votes[:, 0] == 0).all() and one.start < 30) for one in windows]
    assert ignored[:3] == [True, True, False]


def test_a_run_up_that_was_found_is_left_out_too() -> None:
    series = 0.01 * torch.randn(16, 256, 4) + 5.0 * torch.exp(-torch.arange(256.0) / 4)[:, None]
    readout = crest.CrestReadout().calibrate([series])
    found = int(readout.run_up.start)
    assert 5 < found < 64
    (first,) = StreamingCrest(readout, 256).push(series)
    assert first.votes[:, :found].sum() == 0
    assert torch.equal(first.pooled, readout.eval()(series))
    assert int(readout.run_up.start) == found


def test_a_window_inside_the_run_up_is_read_whole() -> None:
    series = features()
    first = StreamingCrest(crest.CrestReadout(0.1, run_up=WINDOW + 10), WINDOW).push(series)[0]
    assert torch.equal(first.pooled, crest.CrestReadout(0.1, run_up=0)(series[:, :WINDOW]))


# -- to go on elsewhere


@pytest.mark.parametrize("cut", [0, 10, WINDOW, 150, STEPS])
def test_a_stream_goes_on_elsewhere_to_the_bit(cut: int) -> None:
    series, readout = features(), calibrated(run_up=20)
    whole, first = (StreamingCrest(readout, WINDOW, HOP) for _ in range(2))
    before = first.push(series[:, :cut])
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    first.push(series[:, :33])
    # As another process would: a readout of the same options, calibrated by whatever.
    second = StreamingCrest(crest.CrestReadout(run_up=0).calibrate([features(70)]), WINDOW, HOP)
    second.load_state_dict(torch.load(file, weights_only=True))
    assert second.steps == cut
    assert_same(before + second.push(series[:, cut:]), whole.push(series))
    assert_same(second.flush(), whole.flush())


@pytest.mark.unchecked
def test_a_state_that_does_not_fit_is_refused() -> None:
    stream = StreamingCrest(calibrated(), WINDOW, HOP)
    stream.push(features(100))
    state = stream.state_dict()
    for other, said in [
        (StreamingCrest(calibrated(), WINDOW, HOP + 1), "state must be of a stream with hop = 25, got 24"),
        (StreamingCrest(calibrated(), WINDOW + 1, HOP), "state must be of a stream with window = 65, got 64"),
        (
            StreamingCrest(crest.CrestReadout(0.1), WINDOW, HOP),
            "state must hold held, hop, run_up, steps, window, got",
        ),
    ]:
        with pytest.raises(ValueError, match=said):
            other.load_state_dict(state)
    with pytest.raises(ValueError, match=r"state must hold the last 64 of its 100 steps, got \(3, 63, 5\)"):
        stream.load_state_dict({**state, "held": state["held"][:, 1:]})
    with pytest.raises(ValueError, match="state must be a mapping"):
        stream.load_state_dict(torch.zeros(3))
    assert_same(stream.push(features(50)), pushed_after(100, 50))


def pushed_after(steps: int, more: int) -> list[StreamedWindow]:
    stream = StreamingCrest(calibrated(), WINDOW, HOP)
    stream.push(features(steps))
    return stream.push(features(more))


# -- what is refused


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (torch.zeros(3, 4, 6), "chunk must have B = 3 streams and D = 5 channels as before, got 3 and 6"),
        (torch.zeros(2, 4, 5), "chunk must have B = 3 streams and D = 5 channels as before, got 2 and 5"),
        (torch.zeros(3, 4, 5).double(), "chunk must be of torch.float32 on cpu as before, got torch.float64"),
        (
            torch.zeros(3, 4, 5, device="meta"),
            "chunk must hold numbers, got a tensor on the meta device",
        ),
        (torch.zeros(3, 4, 5, dtype=torch.int64), "chunk must be a floating point tensor, got torch.int64"),
        (torch.full((3, 4, 5), torch.nan), r"chunk must be finite, got 60 .* at row 0, step 0, channel 0"),
        (torch.zeros(3, 5), r"chunk must have shape \(B, t, D\), B and D not 0, got \(3, 5\)"),
        (torch.zeros(0, 4, 5), r"chunk must have shape \(B, t, D\), B and D not 0, got \(0, 4, 5\)"),
        ([[1.0]], "chunk must be a torch tensor, got list"),
    ],
)
def test_a_bad_chunk_is_refused_and_the_stream_goes_on(chunk: Any, said: str) -> None:
    series, readout = features(), calibrated()
    stream = StreamingCrest(readout, WINDOW, HOP)
    before = stream.push(series[:, :100])
    with pytest.raises(ValueError, match=said):
        stream.push(chunk)
    after = stream.push(series[:, 100:])
    assert_same(before + after, StreamingCrest(readout, WINDOW, HOP).push(series))


def test_validate_of_the_readout_holds_for_the_stream() -> None:
    stream = StreamingCrest(crest.CrestReadout(0.1, validate=False), WINDOW)
    stream.push(torch.full((1, 3, 2), torch.nan))
    assert stream.steps == 3


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        (
            {},
            {"window": 36},
            "window must be 37 or more .* low-pass is 37 steps wide and whose peaks are 5, got 36",
        ),
        ({"stride": 4}, {"window": 10}, "window must be 11 or more"),
        ({"background": "level"}, {"window": 5}, "window must be 6 or more"),
        ({"config": crest.CrestConfig(sigma=0.5, dilation=20)}, {"window": 41}, "window must be 42 or more"),
        ({}, {"window": 0}, "window must be a whole number, 1 or more, got 0"),
        ({}, {"window": 64.0}, "window must be a whole number, 1 or more, got 64.0"),
        ({}, {"window": 64, "hop": 0}, "hop must be a whole number, 1 or more, got 0"),
        ({}, {"window": 64, "hop": 65}, "hop must be at most window = 64, or steps are never read, got 65"),
    ],
)
def test_windows_and_hops_that_make_no_sense(
    options: dict[str, Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        StreamingCrest(crest.CrestReadout(0.1, **options), **given)


@pytest.mark.unchecked
def test_other_readouts_are_refused() -> None:
    with pytest.raises(ValueError, match="readout must be a CrestReadout, got MeanReadout"):
        StreamingCrest(crest.MeanReadout(), 64)


def test_it_says_what_it_is() -> None:
    stream = StreamingCrest(calibrated(), WINDOW)
    stream.push(features(10))
    assert repr(stream) == "StreamingCrest(window=64, hop=64), 10 steps seen"
