"""What an executor's process does with one run."""

import errno
import socket
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from crest.lab.runs.provenance import source_digest
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec

Answer = tuple[Literal["done", "failed", "refused"], Any]
"""The record's fields, a traceback, or why this process is not fit for the run."""

MORE_MEMORY = "do fewer runs at a time (--jobs, or fewer workers), or give them more memory"
NO_MEMORY = f"Out of memory: {MORE_MEMORY}"
"""The last line of the note of a run for which there was not enough memory."""


def execute(fields: Mapping[str, Any], run_id: str, source: str, data: str | None) -> Answer:
    """Do one run in this process, which may be on another machine: plain values in, plain values out.

    Exceptions come back as text, because not every exception survives the way.
    """
    # A worker of another version would train something else under this id: it is refused, which ends the sweep, because
    # every other run would be refused too.
    try:
        spec = RunSpec.from_dict(fields)
    except (ValueError, TypeError) as error:
        return "refused", f"{socket.gethostname()} cannot read {run_id}: {error}"
    if source != source_digest():
        return "refused", f"{socket.gethostname()} has source {source_digest()} of crest, not {source}"
    if spec.id != run_id:
        return "refused", f"{socket.gethostname()} takes {run_id} for {spec.id}"
    try:
        record = run(spec, data=None if data is None else Path(data))
        record.to_json()  # numbers that cannot be stored, such as NaN, are this run's failure too
        return "done", record.to_dict()
    except Exception as error:
        if not _lacks_memory(error):
            return "failed", traceback.format_exc()
        # The arrays of the run are alive in its frames, and the text needs memory too.
        traceback.clear_frames(error.__traceback__)
        return "failed", f"{traceback.format_exc()}{NO_MEMORY}\n"


def _lacks_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out: Python and NumPy have a type for it, torch has words."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or "DefaultCPUAllocator" in str(error)
