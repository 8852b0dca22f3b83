import dataclasses
from pathlib import Path

import numpy as np
import pytest

from crest.lab.evidence.shown import Series
from crest.lab.report.story import fall_signals, story, story_errors
from report_made import chart, line_panel
from report_made import fall_signals as made_signals

ERRORS = {"as it is": (0.01, 0.45), "repaired": (0.02, 0.05)}


def test_the_errors_are_those_of_the_falls() -> None:
    sides = {"bench": [0.01, 0.02], "field": [0.45, 0.05]}
    series = tuple(Series(name=name, x=list(ERRORS), y=values, look="bars") for name, values in sides.items())
    falls = dataclasses.replace(line_panel("SisFall: falls"), series=series)
    assert story_errors(chart(panels=(line_panel("MIT-BIH"), falls))) == ERRORS


def test_the_picture_marks_the_fall_and_what_the_model_follows() -> None:
    above, below, bars = story(made_signals(), ERRORS).axes
    said = {text.get_text() for text in above.texts}
    assert said == {"the fall", "lying: what the\nmodel follows"}
    (fall,) = (text for text in above.texts if text.get_text() == "the fall")
    assert fall.xy[0] == pytest.approx(6.0, abs=0.1)  # type: ignore[attr-defined]
    assert "the fall" not in {text.get_text() for text in below.texts}
    band = below.collections[0].get_paths()[0].vertices[:, 0]
    assert (band.min(), band.max()) == (pytest.approx(4.0, abs=0.1), pytest.approx(8.0, abs=0.1))
    assert [round(bar.get_height(), 2) for bar in bars.patches] == [0.01, 0.02, 0.45, 0.05]
    assert {"0.01", "0.02", "0.45", "0.05", "a guess"} == {text.get_text() for text in bars.texts}


def trials(folder: Path) -> None:
    """Of 23 people: each stands and falls once, lies down from standing, and lies from the start."""
    people = [f"SA{number:02d}" for number in range(1, 24)]
    x, who, what = [], [], []
    for place, person in enumerate(people):
        for activity in ("D14", "D12", "F01", "D07"):
            trial = np.zeros((3, 600))
            if activity != "D14":
                trial[1, : 100 + place] = -1
            x.append(trial)
            who.append(person)
            what.append(activity)
    np.savez(folder / "trials.npz", x=np.array(x, dtype=np.float16), who=np.array(who), what=np.array(what))


def test_the_first_recordings_of_somebody_who_stands_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    assert fall_signals() is None
    (tmp_path / "sisfall").mkdir()
    trials(tmp_path / "sisfall")
    found = fall_signals()
    assert found is not None
    assert found.sample_rate == 50.0
    for signal, people in ((found.fall, range(14)), (found.lying, range(14, 23))):
        assert signal.shape == (600,)
        assert int((signal == -1).sum()) - 100 in people
