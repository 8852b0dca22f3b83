"""`crest demo`: somebody's network on recordings of a gear drive, audited, repaired, and audited again."""

from crest.lab.demo.network import GearCnn, train
from crest.lab.demo.recordings import DemoData, read_recordings, write_recordings
from crest.lab.demo.steps import DEMO, QUICK_DEMO, DemoFolder, DemoSettings

__all__ = [
    "DEMO",
    "QUICK_DEMO",
    "DemoData",
    "DemoFolder",
    "DemoSettings",
    "GearCnn",
    "read_recordings",
    "train",
    "write_recordings",
]
