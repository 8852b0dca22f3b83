"""Study: what is computed without training (closed forms, nearest neighbours), kept like a record."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crest._base.files import lasting_folder, whole_file
from crest._base.plain_json import read_json
from crest.lab.runs.provenance import commit, versions

FOLDER = "studies"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """A function of plain parameters with a plain result, kept in one JSON.

    Args:
        name: what its result is called.
        compute: called with the parameters; returns plain values, as JSON has them.
        parameters: what it is called with; with the version they name the file.
        version: raised when the same parameters would give another result.

    Example:
        >>> import tempfile
        >>> study = Study(name="squares", compute=lambda n: [k * k for k in range(n)], parameters={"n": 3})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     study.ensure(Path(folder)), study.read(Path(folder))
        (True, [0, 1, 4])
    """

    name: str
    compute: Callable[..., Any]
    parameters: Mapping[str, Any]
    version: int = 1

    @property
    def id(self) -> str:
        """Readable stem and hash of the parameters."""
        named_by = {"version": self.version, **self.parameters}
        canonical = json.dumps(named_by, sort_keys=True, allow_nan=False)
        return f"{self.name}-{hashlib.sha256(canonical.encode()).hexdigest()[:10]}"

    def path(self, folder: Path) -> Path:
        """Where its result is, among the records of `folder`."""
        return folder / FOLDER / f"{self.id}.json"

    def done(self, folder: Path) -> bool:
        """Whether its result is there."""
        return self.path(folder).exists()

    def read(self, folder: Path) -> Any:
        """Its result."""
        path = self.path(folder)
        try:
            return read_json(path.read_bytes())["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the result of a study: remove it and run it again") from error

    def ensure(self, folder: Path) -> bool:
        """Compute and keep the result unless it is there; whether it was computed."""
        if self.done(folder):
            return False
        result = self.compute(**self.parameters)
        kept = {
            "id": self.id,
            "parameters": dict(self.parameters),
            "result": result,
            "versions": versions(),
            "commit": commit(),
        }
        path = self.path(folder)
        lasting_folder(path.parent)
        with whole_file(path) as file:
            file.write((json.dumps(kept, allow_nan=False) + "\n").encode())
        return True


def copy_studies(source: Path, target: Path) -> list[str]:
    """Ids of the studies whose results one folder of records has and another lacks or holds with other content; they are copied."""
    copied = []
    for path in sorted((source / FOLDER).glob("[!.]*.json")):
        content = path.read_bytes()
        try:
            named = read_json(content)["id"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the result of a study: remove it and run it again") from error
        if named != path.stem:
            raise ValueError(f"{path} is the result of {named}: remove it, or give it that name")
        place = target / FOLDER / path.name
        if not (place.exists() and place.read_bytes() == content):
            lasting_folder(place.parent)
            with whole_file(place) as file:
                file.write(content)
            copied.append(path.stem)
    return copied
