import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crest.lab.evidence.experiment import distinct
from crest.lab.evidence.study_file import study_of
from crest.lab.runs.naming import naming
from crest.lab.systems.recordings import RecordingsSystem
from studies_made import ENCODER, made_study


def test_it_is_every_encoder_with_every_readout_and_remedy_on_every_seed(tmp_path: Path) -> None:
    study = study_of(
        made_study(tmp_path, models={"remedies": ["none", "ac_coupling", "reanchor"], "seeds": [4, 7]})
    )
    assert (study.name, study.called) == ("my_study", str(tmp_path / "my_study.toml"))
    # Re-anchoring changes the trained models of `none`, and CREST re-anchored would be CREST.
    assert len(study.runs) == len(distinct([study])) == 2 * 2 * 2 * 2
    assert [spec.seed for spec in study.runs] == [4] * 8 + [7] * 8
    first = study.runs[0]
    assert first.measures == ("exchange", "reanchor", "traces")
    assert [spec.measures for spec in study.runs if spec.readout == "crest" and spec.seed == 7] == [
        ("exchange",)
    ] * 4
    assert study.runs[1].remedy_options == {"kind": "level"}
    assert {spec.schedule.epochs for spec in study.runs if spec.schedule} == {1}
    assert [spec.encoder for spec in study.runs[:8]] == ["pointwise"] * 4 + ["own"] * 4
    assert study.check().startswith(
        f"{study.called}: 20 training windows, 6 ID, 12 OOD; 10 are left out as gaps"
    )


def test_fronts_are_crossed_with_remedies_and_alone_they_are_the_runs_of_before(tmp_path: Path) -> None:
    few = {"encoders": ["pointwise"], "readouts": ["mean"], "seeds": 1}
    study = study_of(
        made_study(
            tmp_path,
            models={
                **few,
                "fronts": ["none", "standardise", "ac_coupling"],
                "remedies": ["none", "exchange", "reanchor"],
            },
        )
    )
    assert [(spec.front, spec.remedy) for spec in study.runs] == [
        ("none", "none"), ("none", "exchange"), ("none", "standardise"), ("standardise", "exchange"), ("none", "high_pass"),
        ("high_pass", "exchange"),
    ]  # fmt: skip
    assert study.runs[5].front_options == {"kind": "level"}
    # Of each front the model without a remedy is re-anchored.
    assert ["reanchor" in spec.measures for spec in study.runs] == [True, False] * 3
    before = study_of(made_study(tmp_path, models={**few, "remedies": ["none", "exchange", "standardise"]}))
    plain = study_of(
        made_study(
            tmp_path, models={**few, "fronts": ["none", "standardise"], "remedies": ["none", "exchange"]}
        )
    )
    assert {spec.id for spec in before.runs} == {spec.id for spec in plain.runs if spec.front == "none"}


def test_a_strided_encoder_of_the_package_lets_crest_count_steps_of_the_signals(tmp_path: Path) -> None:
    study = study_of(made_study(tmp_path, models={"encoders": ["cnn"], "seeds": 1}))
    assert [spec.readout_options for spec in study.runs] == [{}, {"stride": 4}]


def test_a_run_is_named_by_what_the_recordings_hold_and_not_by_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    path = made_study(tmp_path / "here")
    shutil.copytree(path.parent, tmp_path / "there")

    def ids(folder: str) -> list[str]:
        return [spec.id for spec in study_of(tmp_path / folder / path.name).runs]

    before = ids("here")
    assert ids("there") == before
    (tmp_path / "there" / "my_encoder.py").write_text(f"{ENCODER}\n")
    assert [one == other for one, other in zip(before, ids("there"), strict=True)] == [
        True,
        True,
        False,
        False,
    ] * 2
    np.save(tmp_path / "here" / "7.npy", np.zeros(240))
    assert not set(ids("here")) & set(before)


def test_a_column_may_say_what_is_held_out(tmp_path: Path) -> None:
    divided: dict[str, Any] = {"condition": None, "ood": None, "split": "part"}
    study = study_of(made_study(tmp_path, recordings=divided))
    told = study.check()
    assert (
        ": 30 training windows, 6 ID, 12 OOD; signals: raw units, as in the files; labels are standardised"
        in told
    )
    table = tmp_path / "table.csv"
    table.write_text(table.read_text().replace(",ood,", ",train,"))
    study = study_of(made_study(tmp_path, recordings=divided))
    assert ": 42 training windows, 6 ID; nothing is held out as OOD; signals" in study.check()
    assert not study.runs[0].has_ood
    table.write_text(table.read_text().replace(",id,", ",test,"))
    with pytest.raises(ValueError, match=r"a cell of 'part', .* must be one of train, id, ood, got 'test'"):
        study_of(made_study(tmp_path, recordings=divided))


def test_parts_of_files_and_standardised_windows_can_be_said(tmp_path: Path) -> None:
    study = study_of(
        made_study(
            tmp_path,
            recordings={"standardise": "median", "condition": ["speed", "part"], "ood": ["speed=fast"]},
        )
    )
    assert "signals: each window standardised by its median" in study.check()
    plain = study_of(made_study(tmp_path, recordings={}))
    options = study.runs[0].system_options
    assert (options["standardise"], options["condition"], options["ood"]) == (
        "median",
        ["speed", "part"],
        ["speed=fast"],
    )
    assert study.runs[0].id != plain.runs[0].id
    # What was added is no part of the names of runs that do not use it.
    assert not {"start", "stop", "split", "group", "standardise", "unit", "scale"} & set(
        naming(RecordingsSystem, plain.runs[0].system_options)
    )


def test_classes_may_be_said(tmp_path: Path) -> None:
    def classes(**recordings: object) -> Any:
        return study_of(made_study(tmp_path, recordings=recordings)).runs[0].system_options["classes"]

    assert classes(label="state") == ["ok", "worn"]
    assert classes(label="state", classes=["worn", "ok", "gone"]) == ["worn", "ok", "gone"]
    table = (tmp_path / "table.csv").read_text().replace(",ok", ",10").replace(",worn", ",2")
    (tmp_path / "table.csv").write_text(table)
    assert classes(label="state") is None
    assert classes(label="state", classes=True) == ["2", "10"]
    assert classes(label="state", classes=[10, 2]) == ["10", "2"]
    with pytest.raises(
        ValueError, match="classes must name every class of the column 'state', got 2, 3, and it also has 10"
    ):
        classes(label="state", classes=[2, 3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recording": {}}, "the file has no section recording; it has .*: did you mean 'recordings'?"),
        ({"recordings": {"labels": "label"}}, r"\[recordings\] has no key labels; it has .*: did you mean 'label'?"),
        ({"models": {"content": "a"}}, r"\[models\] has no key content; it has encoders,"),
        ({"recordings": {"window": None}}, r"\[recordings\] must have window, got none"),
        ({"recordings": {"table": "gone.csv"}}, "table must be a file that exists, got '.*gone.csv'"),
        ({"recordings": {"signals": "gone"}}, "signals must be a folder that exists, got '.*gone'"),
        ({"recordings": {"label": "labels"}}, "label names a column of .* got 'labels': did you mean 'label'?"),
        ({"recordings": {"condition": None}}, "ood must come with condition"),
        ({"recordings": {"split": "part"}}, "split must come without ood"),
        ({"recordings": {"window": "long"}}, "window must be a number, got 'long'"),
        ({"models": {"encoders": "cnn"}}, "encoders must be a list of names in .models., got 'cnn'"),
        ({"models": {"encoders": ["ccn"]}}, "encoders must be one of .* got 'ccn': did you mean 'cnn'?"),
        ({"models": {"encoders": ["gone.py:make"]}}, "encoders must name a file that exists, got 'gone.py'"),
        ({"models": {"readouts": ["event_window"]}}, "readouts must be one of mean, .* got 'event_window'"),
        ({"models": {"remedies": ["reanchor"]}}, "remedies must have none beside reanchor"),
        ({"models": {"remedies": ["highpass"]}}, "remedies must be one of .* did you mean 'high_pass'?"),
        ({"models": {"fronts": ["exchange"]}}, "fronts must be one of none, .* got 'exchange'"),
        ({"models": {"fronts": ["standardize"]}}, "fronts must be one of .* did you mean 'standardise'?"),
        ({"models": {"fronts": "whiten"}}, "fronts must be a list of names in .models., got 'whiten'"),
        (
            {"models": {"fronts": ["none", "whiten"], "remedies": ["high_pass"]}},
            "remedies must have no front beside the list of fronts, got high_pass",
        ),
        ({"models": {"seeds": 0}}, "seeds must be a whole number, 1 or more, got 0"),
        ({"training": {"epochs": 0}}, "epochs must be a whole number, 1 or more, got 0"),
        ({"training": {"epoch": 5}}, r"\[training\] has no key epoch; .*: did you mean 'epochs'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_sentence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = made_study(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {message}"):
        study_of(path)


def test_what_only_reading_shows_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    path = made_study(tmp_path, models={"encoders": ["my_encoder.py:make_nothing"]})
    with pytest.raises(
        ValueError, match=r"my_study.toml: encoder must name a function of my_encoder.py, such as"
    ):
        study_of(path).check()
    path = made_study(tmp_path, recordings={"window": 200, "id_by": "recording", "id_fraction": 0.01})
    with pytest.raises(ValueError, match=r"my_study.toml: id_fraction must leave 2 windows for ID, got 1"):
        study_of(path).check()
    with pytest.raises(ValueError, match=r"gone.toml must be the file of a study, and it does not exist"):
        study_of(tmp_path / "gone.toml")
    path.write_text("[recordings\n")
    with pytest.raises(ValueError, match=r"my_study.toml: Expected ']'"):
        study_of(path)
