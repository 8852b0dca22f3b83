import math
from pathlib import Path

import pytest

from crest.lab.runs import worker
from crest.lab.runs.provenance import source_digest
from crest.lab.runs.record import Record
from crest.lab.runs.runner import run
from crest.lab.runs.worker import execute
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
