"""What an executor's process does with one run."""

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


def execute(fields: Mapping[str, Any], run_id: str, source: str, data: str | None) -> Answer:
    """Do one run in this process, which may be on another machine: plain values in, plain values out.

    Exceptions come back as text, because not every exception survives the way.
    """
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
    except Exception:
        return "failed", traceback.format_exc()
