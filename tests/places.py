"""Where things are in the source tree."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "crest"
DOCS = ROOT / "docs"
RESULTS = ROOT / "results"
