import errno
import math
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from crest.lab.runs import worker
from crest.lab.runs.provenance import source_digest
from crest.lab.runs.record import Record
from crest.lab.runs.runner import run
from crest.lab.runs.worker import NO_MEMORY, execute
from sweeping import failing, numbers, tiny


def test_returns_the_record_as_plain_values(tmp_path: Path) -> None:
    spec = tiny("crest")
    kind, fields = execute(spec.to_dict(), spec.id, source_digest(), str(tmp_path))
    assert kind == "done"
    assert numbers(Record.from_dict(fields)) == numbers(run(spec))
    assert (tmp_path / spec.data_key / "ood.npz").exists()


def test_returns_the_traceback_of_a_failure() -> None:
    kind, text = execute(failing().to_dict(), failing().id, source_digest(), None)
    assert kind == "failed"
    assert text.startswith("Traceback")
    assert "training diverged" in text


def test_numbers_that_cannot_be_stored_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    record = run(tiny())
    record.losses[0] = math.nan
    monkeypatch.setattr(worker, "run", lambda spec, data: record)
    kind, text = execute(tiny().to_dict(), tiny().id, source_digest(), None)
    assert kind == "failed"
    assert "ValueError" in text


def no_mapping() -> None:
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


TOO_MUCH = {
    "python": lambda: bytearray(2**60),
    "numpy": lambda: np.empty(2**57),
    "torch": lambda: torch.empty(2**57),
    "system": no_mapping,
}


@pytest.mark.parametrize("take", TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_a_lack_of_memory_is_told_in_a_sentence(
    take: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "run", lambda spec, data: take())
    kind, text = execute(tiny().to_dict(), tiny().id, source_digest(), None)
    assert kind == "failed"
    assert text.startswith("Traceback")
    assert text.splitlines()[-1] == NO_MEMORY


def test_other_failures_do_not_speak_of_memory() -> None:
    _, text = execute(failing().to_dict(), failing().id, source_digest(), None)
    assert NO_MEMORY not in text


def test_what_a_run_held_is_free_before_its_lack_of_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        alive = 0

        def __init__(self) -> None:
            Held.alive += 1

        def __del__(self) -> None:
            Held.alive -= 1

    def runs_out(spec: Any, data: Any) -> None:
        held = Held()
        raise MemoryError(type(held).__name__)

    alive: list[int] = []
    told = traceback.format_exc
    monkeypatch.setattr(worker, "run", runs_out)
    monkeypatch.setattr(traceback, "format_exc", lambda: (alive.append(Held.alive), told())[1])
    assert execute(tiny().to_dict(), tiny().id, source_digest(), None)[0] == "failed"
    assert alive == [0]


def test_refuses_to_run_for_another_source() -> None:
    kind, text = execute(tiny().to_dict(), tiny().id, "0123456789", None)
    assert kind == "refused"
    assert f"has source {source_digest()} of crest, not 0123456789" in text


def test_refuses_a_run_that_has_another_id_here() -> None:
    kind, text = execute(tiny().to_dict(), "gear-of-tomorrow", source_digest(), None)
    assert kind == "refused"
    assert f"takes gear-of-tomorrow for {tiny().id}" in text


@pytest.mark.parametrize("changed", [{"tomorrow": 1}, {"readout": "tomorrow"}])
def test_refuses_a_spec_that_it_cannot_read(changed: dict[str, object]) -> None:
    kind, text = execute({**tiny().to_dict(), **changed}, tiny().id, source_digest(), None)
    assert kind == "refused"
    assert "tomorrow" in text
