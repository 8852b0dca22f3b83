import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import crest
from crest import ExchangeSettings
from crest._repair.reading import read_choice, read_exchange, read_numbers
from crest._repair.saving import NUMBERS, finite
from crest.exchange.result import exchange_numbers
from knocks_made import knocks, network, one_step, split

TRAIN = split(*knocks(64, tie=0.99, seed=1000))
QUICK: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=8, block=4)}


@pytest.fixture(scope="module")
def found() -> crest.Repaired:
    return crest.repair(
        network(), TRAIN, fit=one_step, remedies=["AC coupling", "CREST"], field=TRAIN, **QUICK
    )


def test_a_repair_comes_back_with_its_table_and_sentences(found: crest.Repaired, tmp_path: Path) -> None:
    found.save(tmp_path)
    again = crest.Repaired.load(tmp_path, network())
    assert isinstance(again, crest.Repaired)
    assert str(again) == str(found)
    assert str(again.choice) == str(found.choice)
    assert again.to_dict() == found.to_dict()
    assert again.structure == found.structure
    assert again.after.exchange.verdict == found.after.exchange.verdict
    assert torch.equal(again.model(TRAIN[0][0]), found.model(TRAIN[0][0]))
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice" / NUMBERS).read_text() == (tmp_path / NUMBERS).read_text()


def test_each_number_of_a_candidate_comes_back_as_itself(found: crest.Repaired, tmp_path: Path) -> None:
    names = ("even_error", "even_constant", "other_error", "field_error", "seconds")
    rows = {
        name: dataclasses.replace(row, **{one: place + 0.1 * k for k, one in enumerate(names)})
        for place, (name, row) in enumerate(found.candidates.items())
    }
    dataclasses.replace(found, candidates=rows).save(tmp_path)
    again = crest.Repaired.load(tmp_path, network())
    for name, row in rows.items():
        assert [getattr(again.candidates[name], one) for one in names] == [getattr(row, one) for one in names]


def test_a_folder_of_an_earlier_version_is_read(found: crest.Repaired, tmp_path: Path) -> None:
    """It has no even_constant, and may lack fields of the exchange test that were added since."""
    found.save(tmp_path)
    numbers = json.loads((tmp_path / NUMBERS).read_text())
    for row in numbers["candidates"].values():
        del row["even_constant"], row["exchange"]["moved"], row["exchange"]["moved_interval"]
    (tmp_path / NUMBERS).write_text(json.dumps(numbers))
    again = crest.Repaired.load(tmp_path, network())
    assert str(again) == str(found)
    assert math.isnan(again.before.exchange.moved)


def test_an_exchange_test_comes_back(found: crest.Repaired) -> None:
    for row in found.candidates.values():
        assert read_exchange(finite(exchange_numbers(row.exchange))) == row.exchange
    numbers = found.to_dict()
    chosen = read_choice(numbers, {name: row.exchange for name, row in found.candidates.items()})
    assert (chosen.name, chosen.by, chosen.lowest_error) == (
        found.choice.name, found.choice.by, found.choice.lowest_error,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"candidates": {"as it is": {}}}', '{"candidates": 3}'])
def test_other_numbers_are_refused(found: crest.Repaired, text: str, tmp_path: Path) -> None:
    found.save(tmp_path)
    (tmp_path / NUMBERS).write_text(text)
    with pytest.raises(ValueError, match=r"repaired\.json is not what Repaired\.save wrote"):
        crest.Repaired.load(tmp_path, network())


def test_weights_alone_are_told(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"repaired\.json does not exist: .* Repaired\.load needs both"
    ):
        read_numbers(tmp_path)
