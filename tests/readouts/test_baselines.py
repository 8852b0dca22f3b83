"""What each baseline computes, by hand; what all of them must obey is in tests/contracts."""

import pytest
import torch

from crest.readouts import make_readout

FEATURES = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [2.0, 7.0], [0.0, 1.0]]])


def test_mean_last_and_max() -> None:
    torch.testing.assert_close(make_readout("mean", 2)(FEATURES), torch.tensor([[1.5, 2.5]]))
    torch.testing.assert_close(make_readout("last", 2)(FEATURES), torch.tensor([[0.0, 1.0]]))
    torch.testing.assert_close(make_readout("max", 2)(FEATURES), torch.tensor([[3.0, 7.0]]))
    torch.testing.assert_close(
        make_readout("max", 2).step_weights(FEATURES), torch.tensor([[0, 0.5, 0.5, 0]])
    )


def test_last_takes_the_last_valid_step_wherever_it_is() -> None:
    mask = torch.tensor([[True, False, True, False]])
    torch.testing.assert_close(make_readout("last", 2)(FEATURES, mask), FEATURES[:, 2])


def test_attention_is_a_scaled_softmax() -> None:
    readout = make_readout("attention", 2)
    scores = (FEATURES[0] @ readout.query) / 2**0.5
    torch.testing.assert_close(readout(FEATURES)[0], torch.softmax(scores, 0) @ FEATURES[0])


def test_attention_can_find_the_event() -> None:
    readout = make_readout("attention", 2)
    with torch.no_grad():
        readout.query.copy_(torch.tensor([0.0, 50.0]))
    torch.testing.assert_close(readout(FEATURES), FEATURES[:, 2])


def test_scored_and_gated_attention_score_with_their_layers() -> None:
    scored = make_readout("scored_attention", 2, hidden=3)
    weights = torch.softmax(scored.scorer(FEATURES[0]).squeeze(-1), 0)
    torch.testing.assert_close(scored.step_weights(FEATURES)[0], weights)
    gated = make_readout("gated_attention", 2, hidden=3)
    hidden = torch.tanh(gated.content(FEATURES[0])) * torch.sigmoid(gated.gate(FEATURES[0]))
    torch.testing.assert_close(
        gated.step_weights(FEATURES)[0], torch.softmax(gated.score(hidden).squeeze(-1), 0)
    )


def test_registers_take_part_of_the_attention() -> None:
    readout = make_readout("registers", 2, registers=3)
    tokens = torch.cat([FEATURES[0], readout.registers])
    weights = torch.softmax((tokens @ readout.query) / 2**0.5, 0)
    torch.testing.assert_close(readout(FEATURES)[0], weights @ tokens)
    torch.testing.assert_close(readout.step_weights(FEATURES)[0], weights[:4] / weights[:4].sum())


def test_windows_are_attended_alone_and_averaged() -> None:
    readout = make_readout("windowed", 2, window=3)
    scores = (FEATURES[0] @ readout.query) / 2**0.5
    first = torch.softmax(scores[:3], 0) @ FEATURES[0, :3]
    torch.testing.assert_close(readout(FEATURES)[0], (first + FEATURES[0, 3]) / 2)
    whole = make_readout("windowed", 2, window=9)
    with torch.no_grad():
        whole.query.copy_(readout.query)
    torch.testing.assert_close(whole(FEATURES)[0], torch.softmax(scores, 0) @ FEATURES[0])


def test_conjunctive_is_the_mean_of_attention_weighted_instance_predictions() -> None:
    readout = make_readout("conjunctive", 2)
    head = torch.nn.Linear(2, 1, bias=False)
    attention = readout.attention(FEATURES[0])
    torch.testing.assert_close(head(readout(FEATURES))[0], (attention * head(FEATURES[0])).mean(0))


def test_event_window_averages_valid_event_steps_and_else_everything() -> None:
    readout = make_readout("event_window", 2)
    events = torch.tensor([[False, True, True, False]])
    torch.testing.assert_close(readout(FEATURES, events), torch.tensor([[2.5, 4.5]]))
    mask = torch.tensor([[True, True, False, True]])
    torch.testing.assert_close(readout(FEATURES, events, mask), torch.tensor([[3.0, 2.0]]))
    torch.testing.assert_close(readout(FEATURES, torch.zeros_like(events)), torch.tensor([[1.5, 2.5]]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_events_of_zeros_and_ones_are_events(dtype: torch.dtype) -> None:
    readout = make_readout("event_window", 2)
    events = torch.tensor([[False, True, True, False]])
    for method in (readout.forward, readout.step_weights):
        assert torch.equal(method(FEATURES, events.to(dtype)), method(FEATURES, events))
    with pytest.raises(ValueError, match=r"^events must hold booleans or the integers 0 and 1, got 3$"):
        readout(FEATURES, 3 * events.to(dtype))
    taken = make_readout("event_window", 2, validate=False)(FEATURES, 3 * events.to(dtype))
    assert torch.equal(taken, readout(FEATURES, events))


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            torch.ones(1, 4),
            r"^events must hold booleans .* \(events\.bool\(\) converts\), got torch.float32$",
        ),
        (torch.ones(1, 3).bool(), r"^events must have shape \(B, T\) = \(1, 4\), got \(1, 3\)$"),
        ([[True]], "^events must be a torch tensor, got list$"),
    ],
)
def test_wrong_events_are_refused_by_name(events: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_readout("event_window", 2)(FEATURES, events)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("windowed", "window", 0), ("registers", "registers", 0), ("windowed", "window", -3)],
)
def test_sizes_are_checked(name: str, option: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"^{option} must be a whole number, 1 or more, got {value}$"):
        make_readout(name, 2, **{option: value})
