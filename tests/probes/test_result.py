"""Averages of a credit as plain numbers, and the credit of batches joined."""

import dataclasses

import pytest
import torch
from torch import Tensor

from crest.probes import Credit, CreditMeans, batches_of, credit, credit_of_scores, evaluating
from stranger import Stranger

FIELDS = tuple(field.name for field in dataclasses.fields(Credit))


def flags(rows: int, steps: int) -> Tensor:
    """Every third trajectory has no event."""
    events = torch.rand(rows, steps) < 0.3
    events[:, 0] = True
    events[::3] = False
    return events


# -- averages


def test_averages_are_over_the_trajectories_with_events() -> None:
    scores = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    events = torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]])
    found = credit_of_scores(scores, events).averages()
    # CiE@1: half of a tie, and a hit. Prec@|E|: half of a tie, and 1 hit + 1/3 of a tie among three, of 2.
    assert isinstance(found, CreditMeans)
    assert dataclasses.asdict(found) == {
        "cie": pytest.approx(0.75),
        "ecm": pytest.approx(0.75),
        "precision": pytest.approx((0.5 + (1 + 1 / 3) / 2) / 2),
        "chance": pytest.approx(0.375),
        "counted": 2,
        "without_events": 1,
    }


def test_averages_are_those_of_the_credit() -> None:
    found = credit_of_scores(torch.rand(50, 20), flags(50, 20))
    means = found.averages()
    assert means is not None
    plain = dataclasses.asdict(means)
    assert (plain.pop("counted"), plain.pop("without_events")) == (33, 17)
    assert plain == found.mean
    assert all(type(value) is float for value in plain.values())


def test_averages_may_be_added_up_in_float32() -> None:
    found = credit_of_scores(torch.rand(50, 20), flags(50, 20))
    means, wide = found.averages(torch.float32), found.averages()
    assert means is not None
    assert wide is not None
    for name in ("cie", "ecm", "precision", "chance"):
        assert getattr(means, name) == getattr(found, name)[found.counted].mean().item()
        assert getattr(means, name) == pytest.approx(getattr(wide, name), rel=1e-6)
    assert means != wide


def test_without_any_event_there_are_no_averages() -> None:
    assert credit_of_scores(torch.rand(3, 4), torch.zeros(3, 4, dtype=torch.bool)).averages() is None


# -- joined


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [1, 4, 10])
def test_the_credit_of_a_strangers_network_in_batches_is_that_of_everything_at_once(
    stride: int, size: int
) -> None:
    network, x, events = Stranger(stride=stride), torch.randn(10, 24, 2), flags(10, 24)
    coarse = events[:, ::stride]
    with evaluating(network):
        whole = credit(*network.interface(x), coarse)
        found = Credit.joined(
            credit(*network.interface(rows), known) for rows, known in batches_of(x, coarse, size=size)
        )
    for name in FIELDS:
        torch.testing.assert_close(getattr(found, name), getattr(whole, name), equal_nan=True)
    assert (found.n_trajectories, found.n_without_events) == (10, 4)


def test_batches_of_other_lengths_are_padded() -> None:
    short, long = torch.rand(2, 3), torch.rand(1, 5)
    first, second = (credit_of_scores(scores, scores > 0.1) for scores in (short, long))
    found = Credit.joined([first, second])
    assert torch.equal(found.scores, torch.cat([torch.nn.functional.pad(short, (0, 2)), long]))
    assert torch.equal(found.positive, found.scores)
    assert torch.equal(found.ecm, torch.cat([first.ecm, second.ecm]))
    padded = torch.nn.functional.pad(short, (0, 2))
    mask = torch.tensor([[True, True, True, False, False]]).expand(2, 5)
    whole = credit_of_scores(padded, padded > 0.1, mask)
    torch.testing.assert_close(found.precision[:2], whole.precision, equal_nan=True)


def test_one_part_is_itself_and_none_is_refused() -> None:
    part = credit_of_scores(torch.rand(2, 3), flags(2, 3))
    assert all(
        torch.equal(getattr(Credit.joined([part]), name).nan_to_num(7), getattr(part, name).nan_to_num(7))
        for name in FIELDS
    )
    with pytest.raises(ValueError, match="parts must hold the credit of at least one batch, got none"):
        Credit.joined([])


def test_credits_are_compared_by_identity_since_tensors_have_no_one_answer() -> None:
    found = credit_of_scores(torch.rand(5, 20), flags(5, 20))
    again = dataclasses.replace(found)
    assert found != again
    assert len({found, again}) == 2


@pytest.mark.parametrize(("cie", "ecm", "mark"), [(0.9, 0.8, "good"), (0.9, 0.1, "doubt"), (0.1, 0.1, "bad")])
def test_a_notebook_shows_the_averages_against_chance(cie: float, ecm: float, mark: str) -> None:
    rows = {"cie": cie, "precision": cie, "ecm": ecm, "chance": 0.25}
    columns = {name: torch.full((2,), value) for name, value in rows.items()}
    found = Credit(torch.ones(2, 3), torch.ones(2, 3), counted=torch.tensor([True, True]), **columns)
    page = found._repr_html_()
    assert f'aria-label="{mark}"' in page
    assert f">{ecm:.3f}</td>" in page
    nothing = dataclasses.replace(found, counted=torch.tensor([False, False]))
    assert "none with an event step" in nothing._repr_html_()
