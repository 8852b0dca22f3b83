import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from crest.lab.runs.store import Store
from crest.lab.runs.study import Study, copy_studies

CALLS: list[dict[str, Any]] = []


def squares(n: int, offset: float = 0.0) -> list[float]:
    CALLS.append({"n": n, "offset": offset})
    return [k * k + offset for k in range(n)]


@pytest.fixture(autouse=True)
def _uncalled() -> None:
    CALLS.clear()


STUDY = Study(name="squares", compute=squares, parameters={"n": 3, "offset": 0.5})


def test_a_result_is_computed_once_and_read_back(tmp_path: Path) -> None:
    assert not STUDY.done(tmp_path)
    assert STUDY.ensure(tmp_path)
    assert STUDY.done(tmp_path)
    assert STUDY.read(tmp_path) == [0.5, 1.5, 4.5]
    assert not STUDY.ensure(tmp_path)
    assert CALLS == [{"n": 3, "offset": 0.5}]


def test_its_file_says_where_it_comes_from(tmp_path: Path) -> None:
    STUDY.ensure(tmp_path)
    path = STUDY.path(tmp_path)
    assert path == tmp_path / "studies" / f"{STUDY.id}.json"
    kept = json.loads(path.read_text())
    assert kept["id"] == STUDY.id
    assert kept["parameters"] == {"n": 3, "offset": 0.5}
    assert {"source", "torch", "processor"} <= set(kept["versions"])
    assert "commit" in kept
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_it_does_not_disturb_the_records_beside_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    STUDY.ensure(tmp_path)
    assert store.ids() == set()
    assert store.failures() == set()


def test_a_changed_parameter_is_another_file(tmp_path: Path) -> None:
    STUDY.ensure(tmp_path)
    for parameters in ({"n": 4, "offset": 0.5}, {"n": 3, "offset": 0.25}, {"n": 3}):
        other = dataclasses.replace(STUDY, parameters=parameters)
        assert other.id != STUDY.id
        assert other.id.startswith("squares-")
        assert not other.done(tmp_path)
        assert other.ensure(tmp_path)
    assert STUDY.read(tmp_path) == [0.5, 1.5, 4.5]
    assert len(list((tmp_path / "studies").iterdir())) == 4


def test_the_order_of_parameters_does_not_matter() -> None:
    assert dataclasses.replace(STUDY, parameters={"offset": 0.5, "n": 3}).id == STUDY.id
    assert dataclasses.replace(STUDY, name="cubes").id != STUDY.id


def test_what_was_never_computed_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=STUDY.id):
        STUDY.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"3", b'{"id": "squares"}', b'"text"', b"\xff"])
def test_a_corrupt_file_names_itself(tmp_path: Path, content: bytes) -> None:
    STUDY.ensure(tmp_path)
    STUDY.path(tmp_path).write_bytes(content)
    with pytest.raises(ValueError, match=f"{STUDY.id}.json is not the result of a study: remove it"):
        STUDY.read(tmp_path)
    STUDY.path(tmp_path).unlink()
    assert STUDY.ensure(tmp_path)
    assert STUDY.read(tmp_path) == [0.5, 1.5, 4.5]


def broken(n: int) -> float:
    raise RuntimeError(f"no result for {n}")


def not_a_number(n: int) -> list[float]:
    return [float("nan")] * n


def not_plain(n: int) -> object:
    return object()


@pytest.mark.parametrize(
    ("compute", "error", "message"),
    [
        (broken, RuntimeError, "no result for 3"),
        (not_a_number, ValueError, "not JSON compliant"),
        (not_plain, TypeError, "not JSON serializable"),
    ],
)
def test_nothing_is_left_of_a_failing_one(
    tmp_path: Path, compute: Any, error: type[Exception], message: str
) -> None:
    study = Study(name="bad", compute=compute, parameters={"n": 3})
    with pytest.raises(error, match=message):
        study.ensure(tmp_path)
    assert not study.done(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_parameters_are_plain_numbers() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = Study(name="bad", compute=squares, parameters={"n": float("inf")}).id


# -- into another folder


def test_results_are_copied_where_they_are_missing_or_others(tmp_path: Path) -> None:
    source, target = tmp_path / "work", tmp_path / "results"
    target.mkdir()
    assert copy_studies(source, target) == []
    other = dataclasses.replace(STUDY, parameters={"n": 2})
    for study in (STUDY, other):
        study.ensure(source)
    (source / "studies" / ".squares.json.0123.partial").touch()
    assert copy_studies(source, target) == sorted([STUDY.id, other.id])
    assert STUDY.read(target) == [0.5, 1.5, 4.5]
    assert copy_studies(source, target) == []
    STUDY.path(target).write_text("{}")
    assert copy_studies(source, target) == [STUDY.id]
    assert STUDY.path(target).read_bytes() == STUDY.path(source).read_bytes()
    assert len(list((target / "studies").iterdir())) == 2


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"id": "squares-of-another"}'])
def test_what_is_no_result_is_not_copied(tmp_path: Path, content: str) -> None:
    STUDY.ensure(tmp_path / "work")
    STUDY.path(tmp_path / "work").write_text(content)
    with pytest.raises(ValueError, match=f"{STUDY.id}.json is (not )?the result of .*remove it"):
        copy_studies(tmp_path / "work", tmp_path)
    assert not (tmp_path / "studies").exists()
