"""Where the CWRU recordings are on this machine, and the mark of the tests that need them."""

import os
from pathlib import Path

import pytest

from places import ROOT

PLACES = [os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data"]
FOLDERS = [Path(place) / part for place in PLACES if place for part in ("cwru", ".")]
FOLDER = next((folder for folder in FOLDERS if (folder / "105.mat").exists()), None)

real = pytest.mark.skipif(FOLDER is None, reason="no CWRU files in CREST_DATA or ../shared/data/cwru")
