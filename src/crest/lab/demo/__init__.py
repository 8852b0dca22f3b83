"""`crest demo`: an ordinary network on recordings of an impact oscillator, repaired, and audited before and after."""

from crest.lab.demo.network import StridedCnn, train
from crest.lab.demo.recordings import DemoData, read_recordings, write_recordings
from crest.lab.demo.steps import DEMO, QUICK_DEMO, DemoFolder, DemoSettings

__all__ = [
    "DEMO",
    "QUICK_DEMO",
    "DemoData",
    "DemoFolder",
    "DemoSettings",
    "StridedCnn",
    "read_recordings",
    "train",
    "write_recordings",
]
