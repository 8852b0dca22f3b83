"""What newly moves a repaired model and was not declared."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest._repair import AS_IT_IS, MeasuredModel
from crest._repair.page import repair_line, repaired_page
from crest._repair.undeclared import undeclared_harms, undeclared_note
from crest.exchange.sensitivity import Sensitivity
from pages_made import SMALL, repaired


def row(rate: float, error: float | None = None, *, half: float = 0.1, **options: object) -> MeasuredModel:
    """A model that the rate moves so far, with this error then; its expected error is 0.3, that of a constant 1."""
    one = (0.5, 0.5)
    moved = {"rate": Sensitivity(moved=rate, moved_interval=(rate - half, rate + half), error=error)}
    exchange = crest.Exchange(
        transient=0.5, background=0.5, interaction=0.0, transient_interval=one, background_interval=one,
        interaction_interval=(0.0, 0.0), background_alone=0.5, kind="core", trajectories=128, exchanged_error=0.3,
        constant_error=1.0, invariant=("offset", "drift"), nuisances=moved,
    )  # fmt: skip
    return MeasuredModel(id_error=0.1, exchange=dataclasses.replace(exchange, **options))


def test_it_says_both_numbers_and_what_to_declare() -> None:
    assert undeclared_note(row(0.24), row(1.6, 1.73)) == [
        "Not declared, and it moves the chosen model more than the given one: rate by 1.60 standard deviations (before 0.24; its "
        "error with rate exchanged is 1.73). If the field changes the rate, declare it: "
        'invariant=("offset", "drift", "rate").'
    ]
    (alone,) = undeclared_note(row(0.24), row(1.6, invariant=()))
    assert alone.endswith('(before 0.24). If the field changes the rate, declare it: invariant=("rate",).')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (row(0.24), row(0.39, half=0.01)),  # below the limit
        (row(0.6), row(0.7)),  # not clearly more
        (row(1.6), row(0.5)),  # less
        (row(0.24), row(1.6, invariant=("rate",))),  # declared
    ],
)
def test_it_is_silent_otherwise(before: MeasuredModel, after: MeasuredModel) -> None:
    assert undeclared_note(before, after) == []
    assert not undeclared_harms(before, after)


@pytest.mark.parametrize(
    ("error", "constant", "harms"),
    [
        (1.73, 1.0, True),
        (0.37, 1.0, True),  # more than a fifth above the expected error of 0.3
        (0.35, 1.0, False),
        (0.35, 0.34, True),
        (0.35, None, False),
        (None, 1.0, False),
    ],
)
def test_it_harms_if_the_model_errs_then(error: float | None, constant: float | None, harms: bool) -> None:
    assert undeclared_harms(row(0.24), row(1.6, error, constant_error=constant)) == harms


def test_the_page_and_the_notebook_are_amber_and_say_it() -> None:
    def found(error: float) -> crest.Repaired:
        plain = repaired()
        rows = {AS_IT_IS: dataclasses.replace(row(0.24), id_error=0.7), plain.name: row(1.6, error)}
        return dataclasses.replace(plain, candidates=rows)

    bad, mild = found(1.73), found(0.31)
    assert (repair_line(bad).mark, repair_line(bad).word) == ("doubt", "repaired, but see below")
    assert (repair_line(mild).mark, repair_line(mild).word) == ("good", "repaired")
    for one in (bad, mild):
        assert "Not declared, and moves it more than before: rate 0.24 → 1.60." in repair_line(one).sentence
        assert "If the field changes the rate, declare it" in repair_line(one).todo
        why = repaired_page(one, title="T").split("Why</h2>")[1]
        assert "rate by 1.60 standard deviations (before 0.24" in why
    assert 'aria-label="doubt"' in bad._repr_html_()
    assert 'aria-label="good"' in mild._repr_html_()


class Mixed(nn.Module):
    """The mean level, or the size of the peak above the median, as its weight says."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = nn.Parameter(torch.tensor(0.0))

    def forward(self, x: Tensor) -> Tensor:
        level, peak = x.median(1).values[:, 0], x.amax((1, 2)) - x.median(1).values[:, 0]
        return level + self.peak * (peak - level)


def test_a_repair_tells_what_moves_the_chosen_model_now() -> None:
    """Signals of different loudness: the given model follows the level, the chosen one the size of the peak."""
    numbers = torch.Generator().manual_seed(1000)
    y, loud = 2 + torch.rand(48, generator=numbers), 0.01 + 0.1 * torch.rand(48, generator=numbers)
    x = y[:, None, None] + loud[:, None, None] * torch.randn(48, 120, 1, generator=numbers)
    x[:, 60:64, 0] = (2 * y)[:, None]

    def fit(model: nn.Module, _: Any) -> None:
        next(one for one in model.modules() if isinstance(one, Mixed)).peak.data.fill_(1.0)

    found = crest.repair(
        Mixed(), [(x, y)], fit=fit, validation=[(x, y)], remedies=["level jitter"], exchange=SMALL
    )
    assert found.changed
    (told,) = (note for note in found.notes if note.startswith("Not declared, and"))
    assert "gain by" in told
    assert "Not declared, and it moves the chosen model" in repr(found)
    assert 'invariant=("offset", "drift", "tones", "gain")' in told
    assert repair_line(found).mark == "doubt"
