"""The public data sets: whole tables, and the same bytes as the files beside the checkout, if they are there."""

import os
import re
from pathlib import Path

import pytest

from crest.lab.systems.public import DATA_SETS, HITSM, MITBIH, SISFALL
from crest.lab.systems.public_files import RecordingFileError, check_files, require_files
from places import ROOT

PLACES = [Path(place) for place in (os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data") if place]


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_files_beside_the_checkout_are_those_of_the_table(name: str) -> None:
    folder = next((place / name for place in PLACES if (place / name).is_dir()), None)
    if folder is None:
        pytest.skip(f"no folder {name} in CREST_DATA or ../shared/data")
    assert {found.state for found in check_files(DATA_SETS[name], folder)} == {"present"}
    assert require_files(DATA_SETS[name], folder) == folder


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_data_set_says_what_it_is_and_how_to_get_it(name: str) -> None:
    data = DATA_SETS[name]
    assert data.name == name
    for text in (data.title, data.what, data.licence, data.cite):
        assert text == text.strip() != ""
        assert "\n" not in text
    names = [file.name for file in data.files]
    assert len(set(names)) == len(names)
    for file in data.files:
        assert file.sha256 is None or (re.fullmatch("[0-9a-f]{64}", file.sha256) and file.size > 0)
    assert all(re.fullmatch(r"https?://\S+/", address) for address in data.addresses)


def test_every_record_has_its_three_files() -> None:
    records = {file.name.partition(".")[0] for file in MITBIH.files}
    assert len(records) == 44
    assert not records & {"102", "104", "107", "217"}
    wanted = {f"{record}.{kind}" for record in records for kind in ("hea", "dat", "atr")}
    assert {file.name for file in MITBIH.files} == wanted


def test_every_fault_has_its_three_speeds() -> None:
    speeds = (1200, 600, 900)
    wanted = [f"{race}R{size}_{speed}.mat" for race in "IO" for size in (2, 5, 8) for speed in speeds]
    # Recordings are numbered in this order.
    assert [file.name for file in HITSM.files] == wanted


def test_trials_are_built_by_hand(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError, match=r"trials\.npz: missing\n(.|\n)*sisfall\.build_trials"):
        require_files(SISFALL, tmp_path)
