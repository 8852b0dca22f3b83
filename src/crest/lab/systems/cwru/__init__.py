"""CWRU bearings: real drive-end recordings, with the diameter of the inner-race fault as the target."""

from crest.lab.systems.cwru.system import CwruSystem

__all__ = ["CwruSystem"]
