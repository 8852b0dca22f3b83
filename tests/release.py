"""What a release would hand out, made and tried: sdist, wheel, and what the wheel gives in new environments. A program: `make release`.

It builds both as an index would have them, the wheel from the sdist, and looks at what is in them. Then it installs the wheel without
extras, and with some or all of them, in environments that have nothing else, and runs README's code and a few lines for each extra there,
in a folder that is not the clone's. It runs in the environment of its tools, and needs an index.

torch is a file here, the one that pip chooses for the version in the Makefile: uv does not read pip's settings, and would take the build for
CUDA, which has gigabytes. All else comes from the index, in the versions that a user would get.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from manual import blocks
from places import ROOT, SOURCE

README = ROOT / "README.md"
# Bytes. With some room above what it has: docs/evidence/choices.md#release
LARGEST_WHEEL = 1_300_000
LICENCES = {"licenses/LICENSE", "licenses/src/crest/_pages/plotly/LICENSE"}
# What a package consists of: code, its type marker, templates and scripts of pages (one is packed), a list of checksums.
KINDS = {".py", ".typed", ".j2", ".js", ".xz", ".css", ".txt", ".md", ""}
_TOUCH = "import crest, torch; x = torch.randn(8, 60, 3); "
SMOKE = {
    "": "import crest.theory; print(crest.theory.best_budget(10))",
    "lab": _TOUCH
    + "from torch import nn; model = nn.Sequential(nn.Flatten(), nn.Linear(180, 1)); crest.audit(model, x).to_html('audit.html')",
    "fast": _TOUCH
    + "import crest.readouts.fast as fast\nwith fast.backend('numba'): crest.CrestReadout()(x)",
    "lab,rivals": "import captum.attr, tslens, crest.lab.runs.attributions",
    "metrics": _TOUCH + "crest.CreditInEvent().update(x, x.mean(1), torch.arange(60).expand(8, -1) == 20)",
    "sklearn": _TOUCH
    + "print(crest.CrestPooler().fit_transform(x.numpy()).shape); "
    + "print(crest.CrestRegressor(invariant=(), epochs=1).fit(x.numpy(), x.mean((1, 2)).numpy()).predict(x.numpy()).shape)",
    "lightning": "import crest; print(crest.LightningWatch(every=2).watch)",
    "export": _TOUCH
    + "torch.onnx.export(crest.CrestReadout().eval(), (x,), dynamo=True).save('crest.onnx'); "
    + "import onnxruntime; print(onnxruntime.InferenceSession('crest.onnx').run(None, {'features': x.numpy()})[0].shape)",
    "cluster": "import distributed; from crest.lab.runs.executors import ClusterExecutor",
    "recordings": "import numpy, pandas, scipy.io, wfdb, h5py, pyarrow\n"
    + "from crest.recordings import load_recordings\nscipy.io.savemat('a.mat', {'a': numpy.arange(40.0)})\n"
    + "open('table.csv', 'w').write('file,label\\na.mat,1\\n')\n"
    + "print(load_recordings('table.csv', window=10, sample_rate=1))",
    "docs": "import furo, myst_parser, sphinx, sphinx_copybutton",
}
"""Extras, and lines that run with them: what each is for. `dev` is not here, because it is for a clone: `make test` has it."""
USUAL = ("", "lab")
"""The environments that CI tries: a layer alone, and all that README's commands need."""


def done(words: Sequence[str | Path], **options: object) -> str:
    """What a command prints; an error shows all of it."""
    ran = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    if ran.returncode:
        raise SystemExit(f"{' '.join(str(word) for word in words)}\n{ran.stdout}{ran.stderr}")
    return str(ran.stdout)


def wrong_in_wheel(names: Iterable[str], modules: Iterable[str]) -> list[str]:
    """What a wheel lacks, and what it should not have, by the names of its files."""
    names, found = set(names), []
    info = {name.partition("/")[2] for name in names if name.partition("/")[0].endswith(".dist-info")}
    wanted = {f"crest/{module}" for module in modules} | {"crest/py.typed"}
    found += [f"{name} is missing" for name in sorted(wanted - names)]
    found += [f"{name} is missing in .dist-info" for name in sorted(LICENCES - info)]
    for name in sorted(names):
        path = PurePosixPath(name)
        if path.parts[0].endswith(".dist-info"):
            continue
        if path.parts[0] != "crest" or path.suffix not in KINDS or {"tests", "__pycache__"} & {*path.parts}:
            found.append(f"{name} does not belong in a wheel")
    return found


def wrong_in_sdist(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """What an sdist has beside files of the repository, and what it lacks to be built and tested."""
    names, known = set(names), {*tracked, "PKG-INFO"}
    needed = {"pyproject.toml", "LICENSE", "README.md", "Makefile", "requirements.lock", "tests/conftest.py"}
    return [f"{name} is missing" for name in sorted(needed - names)] + [
        f"{name} is not in the repository" for name in sorted(names - known)
    ]


def environment(folder: Path, wheel: Path, torch: Path, extras: str) -> Path:
    """The Python of a new environment that holds the wheel, with extras, and what these need."""
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    done([*uv, "venv", "--quiet", "--python", sys.executable, folder])
    named = f"crest-readout{f'[{extras}]' if extras else ''} @ {wheel.as_uri()}"
    done([*uv, "pip", "install", "--quiet", "--python", python, torch, named])
    done([*uv, "pip", "check", "--quiet", "--python", python])
    return python


def tried(python: Path, extras: str) -> None:
    """README's code, the lines of the extras and the command line, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        # -I: neither the clone nor the user's own packages are on the path.
        run = [python, "-I", "-W", "ignore", "-c"]
        place = done([*run, "import crest; print(crest.__file__)"], cwd=folder).strip()
        if not Path(place).is_relative_to(python.parents[1]):
            raise SystemExit(f"crest was imported from {place}, not from the new environment")
        for code in [*blocks(README, "python"), SMOKE[extras]]:
            done([*run, code], cwd=folder)
        command = python.with_name("crest")
        if "lab" in extras:
            done([command, "--version"], cwd=folder)
            return
        told = subprocess.run([command, "--version"], capture_output=True, text=True, check=False, cwd=folder)
        if told.returncode != 1 or "pip install '.[lab]'" not in told.stderr:
            raise SystemExit(f"crest without the lab said {told.returncode}: {told.stdout}{told.stderr}")


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that was built from it; both are looked at."""
    shutil.rmtree(folder, ignore_errors=True)
    done([sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder, ROOT])
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    done([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    with zipfile.ZipFile(wheel) as archive:
        parts = {one.filename: one.compress_size for one in archive.infolist()}
    with tarfile.open(sdist) as archive:
        names = [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]
    modules = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]
    found = wrong_in_wheel(parts, modules)
    found += wrong_in_sdist(names, done(["git", "ls-files"], cwd=ROOT).splitlines())
    if wheel.stat().st_size > LARGEST_WHEEL:
        found.append(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}")
    if found:
        raise SystemExit("\n".join(found))
    pages, lab = (
        sum(size for name, size in parts.items() if re.match(room, name))
        for room in ("crest/_pages/plotly/", "crest/lab/")
    )
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB, {len(names)} files")
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(parts)} files; "
        f"{lab / 1e6:.2f} MB of it are the lab, {pages / 1e6:.2f} MB the script of pages",
        flush=True,
    )
    return sdist, wheel


def main() -> None:
    """Build, look, install, try; ends with an error at the first thing that is wrong."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument(
        "--torch", required=True, help="the version of torch in new environments, as pip takes it"
    )
    asked.add_argument(
        "--extras", default="usual", help=f"usual, all, or one of: {', '.join(filter(None, SMOKE))}"
    )
    asked.add_argument("--folder", type=Path, default=ROOT / "outputs" / "release")
    given = asked.parse_args()
    chosen = {"usual": USUAL, "all": tuple(SMOKE)}.get(given.extras, (given.extras,))
    if not {*chosen} <= {*SMOKE}:
        asked.error(
            f"--extras must be usual, all or one of {', '.join(filter(None, SMOKE))}, got {given.extras!r}"
        )
    _, wheel = built(given.folder / "dist")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        fetch = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        done([*fetch, "--dest", folder, given.torch])
        (torch,) = Path(folder).glob("torch-*.whl")
        for extras in chosen:
            started = time.monotonic()
            place = Path(folder) / "environment"
            tried(environment(place, wheel, torch, extras), extras)
            shutil.rmtree(place)
            print(f"{extras or 'no extra'}: runs, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
