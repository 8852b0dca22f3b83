from pathlib import Path

import numpy as np
import pytest

from crest.recordings import load_recordings
from crest.recordings.problems import refuse_problems, told_problems
from crest.recordings.table import read_table
from recordings_made import table


def test_every_reason_is_told_and_few_rows_are_all_named() -> None:
    problems: list[tuple[int | None, str]] = [(line, f"file 'a{line}.npy' does not exist") for line in (2, 3)]
    problems += [
        (4, "label must be a finite number, got 'n/a'"),
        (5, "label must be a finite number, got '?'"),
    ]
    problems += [(line, "label must be a finite number, got 'n/a'") for line in range(6, 30)]
    problems += [(None, "sample_rate must be given")]
    assert told_problems("row", problems) == [
        "row 2: file 'a2.npy' does not exist",
        "row 3: file 'a3.npy' does not exist",
        "rows 4, 6, 7 and 22 more: label must be a finite number, got 'n/a'",
        "row 5: label must be a finite number, got '?'",
        "sample_rate must be given",
    ]


def test_reasons_that_differ_in_words_are_never_one() -> None:
    problems = [
        (line, f"{word} must not be empty") for line, word in enumerate(("a", "b", "c", "d", "e", "f", "g2"))
    ]
    assert len(told_problems("line", problems)) == 7


def test_numbers_and_names_alone_make_no_other_reason() -> None:
    problems = [
        (n, f'file "o\'{n}.npy" must have at least one window of 500 samples, got {n}') for n in range(2, 9)
    ]
    assert told_problems("line", problems) == [
        'lines 2, 3, 4 and 4 more: file "o\'2.npy" must have at least one window of 500 samples, got 2, and likewise the others'
    ]


def test_nothing_wrong_is_no_error(tmp_path: Path) -> None:
    refuse_problems(read_table(table(tmp_path, "file,label", "a.npy,1")), [])


def test_a_window_that_is_too_long_says_which_would_fit(tmp_path: Path) -> None:
    for number in range(8):
        np.save(tmp_path / f"{number}.npy", np.zeros(20 + number))
    path = table(tmp_path, "file,label", *(f"{number}.npy,1" for number in range(8)))
    with pytest.raises(ValueError, match="got 8 problems in 8 of 8 rows") as caught:
        load_recordings(path, window=50, sample_rate=1)
    assert str(caught.value).splitlines()[1:] == [
        "  lines 2, 3, 4 and 5 more: file '0.npy' must have at least one window of 50 samples, got 20, and likewise the others",
        "What to do: recordings have 20 to 27 samples: take window=20 or less",
    ]
    with pytest.raises(ValueError, match="got 7 problems") as caught:
        load_recordings(path, window=27, sample_rate=1)
    assert str(caught.value).splitlines()[-1] == (
        "What to do: recordings have 20 to 27 samples: take window=20 or less, or leave the shorter ones out of the table"
    )


def test_files_in_a_folder_beside_the_table_are_found_for_the_advice(tmp_path: Path) -> None:
    (tmp_path / "signals").mkdir()
    np.save(tmp_path / "signals" / "a.npy", np.zeros(20))
    path = table(tmp_path, "file,label", "a.npy,1", "b.npy,1")
    with pytest.raises(
        ValueError, match=rf"none of the files is in .*: try folder='{tmp_path / 'signals'}'$"
    ):
        load_recordings(path, window=8, sample_rate=1)
    np.save(tmp_path / "a.npy", np.zeros(20))
    with pytest.raises(ValueError, match=r"b\.npy' does not exist$"):
        load_recordings(path, window=8, sample_rate=1)
