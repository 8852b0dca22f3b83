from pathlib import Path

import pytest

from crest.lab.demo.steps import CHANNELS, DEMO, QUICK_DEMO, DemoFolder, DemoSettings
from crest.lab.systems import ImpactSystem, Sizes

TINY = DemoSettings(training=12, held_out=8, field=8, epochs=1)


def test_the_demo_is_on_a_development_seed() -> None:
    assert {DEMO.seed, QUICK_DEMO.seed} == {1000}


def test_the_channels_are_those_of_the_simulator() -> None:
    assert ImpactSystem().splits(1000, Sizes(train=1, id=1, ood=1)).train.channels == CHANNELS


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
    data = made.data()
    made.weights.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="does not hold the demo's network: --anew"):
        made.trained(data)


def test_what_is_there_is_taken_and_told(tmp_path: Path) -> None:
    made = DemoFolder(tmp_path, TINY)
    made.trained(made.data())
    assert made.kept == []
    again = DemoFolder(tmp_path, TINY)
    again.trained(again.data())
    assert again.kept == ["recordings", "network"]
