import json
from pathlib import Path

import pytest

from crest.lab.demo.steps import DEMO, QUICK_DEMO, REMEDIES_TRIED, DemoFolder, DemoSettings, ErrorRow

TINY = DemoSettings(training=12, held_out=8, field=8, epochs=1)


def test_the_demo_is_on_a_development_seed() -> None:
    assert {DEMO.seed, QUICK_DEMO.seed} == {1000}


def test_it_tries_what_answers_a_smooth_cue() -> None:
    assert REMEDIES_TRIED == (
        "trained longer", "re-anchored", "AC coupling", "high-pass", "level jitter", "exchange", "core exchange",
    )  # fmt: skip


def test_the_trivial_remedies_stand_beside_what_was_chosen(tmp_path: Path) -> None:
    made = DemoFolder(tmp_path / "there", TINY)
    made.repaired.mkdir()

    def told(name: str) -> list[ErrorRow]:
        numbers = {"id_error": 0.1, "field_error": 0.2, "exchange": {"moved": 0.3}}
        names = ["as it is", "AC coupling", "high-pass", "exchange", "core exchange"]
        (made.repaired / "repaired.json").write_text(
            json.dumps({"name": name, "candidates": dict.fromkeys(names, numbers)})
        )
        return made.errors()

    chosen = [row.name for row in told("core exchange")]
    assert chosen == ["as it is", "AC coupling", "high-pass", "core exchange *"]
    assert [row.name for row in told("AC coupling")] == ["as it is", "AC coupling *", "high-pass"]
    assert told("as it is")[0] == ErrorRow("as it is *", 0.1, 0.2, 0.3)


def test_a_folder_keeps_to_its_settings_until_it_starts_anew(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    made = DemoFolder(folder, TINY)
    made.weights.touch()
    DemoFolder(folder, TINY)
    with pytest.raises(ValueError, match="--anew"):
        DemoFolder(folder, QUICK_DEMO)
    (folder / "mine.txt").touch()
    DemoFolder(folder, QUICK_DEMO, anew=True)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "settings.json"]


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    made = DemoFolder(tmp_path, TINY)
    data = made.data(lambda _: None)
    made.weights.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="does not hold the demo's network: --anew"):
        made.trained(data, lambda _: None, lambda: None)
