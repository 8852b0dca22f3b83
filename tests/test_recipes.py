"""The recipes for loggers, run with the real packages on this disk, and what the loggers then hold."""

from pathlib import Path
from typing import Any

import pytest

from manual import blocks
from places import DOCS

RECIPES = blocks(DOCS / "user" / "recipes.md", "python")
pytestmark = [pytest.mark.slow, pytest.mark.unchecked]


def run(word: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names after the recipe that has this word, which writes into the folder alone."""
    (code,) = [one for one in RECIPES if word in one]
    monkeypatch.chdir(folder)
    assert "tempfile.mkdtemp()" in code
    code = code.replace("tempfile.mkdtemp()", repr(str(folder)))
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "recipes.md", "exec"), names)
    return names


def test_tensorboard_has_the_rows_of_the_watch_and_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415

    names = run("SummaryWriter", tmp_path, monkeypatch)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    moved = [one.value for one in events.Scalars("crest/moved")]
    assert moved == pytest.approx([row.to_dict("")["moved"] for row in names["watch"].history])
    (offset,) = events.Scalars("audit/moved by offset")
    assert offset.value == pytest.approx(names["audit"].exchange.nuisances["offset"].moved)
    assert any(tag.startswith("audit") for tag in events.Tags()["tensors"])
    assert (tmp_path / "audit.html").stat().st_size > 1e6


def test_wandb_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb  # noqa: PLC0415

    monkeypatch.setenv("WANDB_SILENT", "true")
    names = run("wandb", tmp_path, monkeypatch)
    # Its service writes in a process of its own, which has ended then.
    wandb.teardown()
    (kept,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    written = kept.read_bytes()
    assert b"crest/moved" in written
    assert b"audit/moved by offset" in written
    # The summary: its key, and the JSON of its value behind it.
    assert names["audit"].verdict.encode() in written.partition(b"audit/verdict")[2][:40]
    assert any((tmp_path / "wandb").glob("offline-run-*/files/media/html/*.html"))


def test_mlflow_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow  # noqa: PLC0415

    names = run("mlflow", tmp_path, monkeypatch)
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    (kept,) = client.search_runs([client.get_experiment_by_name("pumps").experiment_id])
    assert kept.data.metrics["audit/expected_error"] == pytest.approx(names["audit"].expected_error)
    assert len(client.get_metric_history(kept.info.run_id, "crest/moved")) == 3
    assert kept.data.tags["audit verdict"] == names["audit"].verdict
    assert {one.path for one in client.list_artifacts(kept.info.run_id)} == {
        "audit.html",
        "audit.json",
        "card.md",
    }


def test_the_card_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run('/ "card.md"', tmp_path, monkeypatch)
    assert "## Repair: candidates" in names["text"]
    assert "## Audit: verdict" in names["text"]


def test_every_recipe_is_run() -> None:
    assert len(RECIPES) == 4
