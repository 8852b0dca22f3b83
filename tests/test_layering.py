"""Imports point one way: a module may import only from the stages named beside its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import crest
from crest._base.extras import missing_extra
from places import ROOT, SOURCE

# Each room, and the rooms that it may import from. The product comes first and never imports the lab.
STANDS_ON = {"_base", "background", "nuisances"}
INSIDE = STANDS_ON | {"readouts", "probes", "exchange"}
PRODUCT = INSIDE | {
    "theory",
    "recordings",
    "strangers",
    "remedies",
    "_pages",
    "_audit",
    "_repair",
    "_cues",
    "estimators",
    "examples",
}
MODELS = PRODUCT | {
    "lab.own_code", "lab.study_keys", "lab.systems", "lab.ablations", "lab.encoders", "lab.model", "lab.objectives", "lab.evaluation", "lab.remedies",
    "lab.training",
}  # fmt: skip
ALLOWED = {
    "_base": set(),
    "background": {"_base"},
    "nuisances": {"_base", "background"},
    "readouts": STANDS_ON,
    "probes": STANDS_ON,
    "exchange": STANDS_ON | {"probes"},
    "theory": {"_base"},
    "recordings": {"_base", "nuisances"},
    "strangers": STANDS_ON | {"readouts", "probes"},
    "remedies": STANDS_ON | {"readouts", "probes", "strangers"},
    "_pages": STANDS_ON | {"probes", "exchange"},
    "_audit": INSIDE | {"strangers", "_pages", "_cues"},
    "_repair": INSIDE | {"strangers", "remedies", "_pages"},
    "_cues": INSIDE | {"remedies", "_pages"},
    "estimators": INSIDE | {"remedies", "_repair"},
    "examples": {"_base"},
    "__init__": PRODUCT,
    "lab": set(),
    "lab.own_code": set(),
    "lab.systems": {"_base", "recordings"},
    "lab.study_keys": {"_base", "recordings", "lab.systems", "lab.own_code"},
    "lab.encoders": STANDS_ON | {"readouts", "lab.own_code"},
    "lab.remedies": STANDS_ON | {"remedies"},
    "lab.ablations": STANDS_ON | {"readouts"},
    "lab.model": STANDS_ON | {"lab.ablations", "lab.encoders", "readouts", "probes"},
    "lab.objectives": STANDS_ON | {"readouts", "probes", "lab.model"},
    "lab.evaluation": PRODUCT | {"lab.model"},
    "lab.training": PRODUCT | {"lab.model", "lab.objectives", "lab.evaluation"},
    "lab.demo": PRODUCT | {"lab.systems"},
    "lab.runs": MODELS,
    "lab.evidence": MODELS | {"lab.runs"},
    "lab.report": MODELS | {"lab.runs", "lab.evidence"},
    "lab.cli": MODELS | {"lab.runs", "lab.evidence", "lab.report", "lab.demo"},
    # The door of the command line, `python -m crest`, and the only file outside of the lab that opens it.
    "__main__": {"_base", "lab.cli"},
}


def room(module: str) -> str:
    """The room of a module: `crest.lab.runs.store` is in `lab.runs`, `crest.probes.credit` in `probes`."""
    parts = module.split(".")[1:] or ["__init__"]
    return ".".join(parts[:2]) if parts[0] == "lab" else parts[0]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """The modules of crest that a file imports; a name from a package counts as a module where there is one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in ("crest", "crest.lab"):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] == "crest"}


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    own = room(module_of(path))
    assert own in ALLOWED, f"{own} has no place in the order of rooms: give it one in {__file__}"
    # The package itself, for its version and its folder, costs nothing: its names load on first use.
    targets = {room(name) for name in imports(path)} - {own, "__init__"}
    assert targets <= ALLOWED[own]


def test_the_product_never_imports_the_lab() -> None:
    doors = {
        room(module_of(path)) for path in FILES if any(name.startswith("crest.lab") for name in imports(path))
    }
    assert {door for door in doors if not door.startswith("lab")} == {"__main__"}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_core_loads_nothing_optional() -> None:
    code = (
        "import sys, crest; "
        "heavy = {'matplotlib', 'rich', 'torchmetrics', 'sklearn', 'scipy', 'pandas', 'onnx', 'onnxruntime', "
        "'distributed', 'numba', 'lightning', 'pytorch_lightning'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = run(code)
    assert result.stdout.strip() == "[]", result.stderr


def test_the_package_and_its_theory_load_without_torch() -> None:
    result = run(
        "import sys, crest, crest.theory; print(crest.theory.best_budget(10), 'torch' in sys.modules)"
    )
    assert result.stdout.strip() == "10.0 False", result.stderr


# None in sys.modules is how Python itself spells "not installed".
BLOCKED = """
import sys
sys.modules.update(dict.fromkeys({names}))
import crest, torch
"""


def test_the_core_works_without_any_optional_package() -> None:
    code = BLOCKED.format(names=["jaxtyping", "beartype", "torchmetrics", "sklearn", "matplotlib", "rich"])
    code += "print(tuple(crest.CrestReadout()(torch.randn(2, 30, 4)).shape))"
    result = run(code)
    assert result.stdout.strip() == "(2, 4)", result.stderr


@pytest.mark.parametrize(
    ("name", "package", "extra", "modules"),
    [
        ("CreditInEvent", "torchmetrics", "metrics", ["torchmetrics"]),
        ("CrestPooler", "scikit-learn", "sklearn", ["sklearn"]),
        ("LightningWatch", "lightning", "lightning", ["lightning", "pytorch_lightning"]),
    ],
)
def test_a_missing_extra_is_named(name: str, package: str, extra: str, modules: list[str]) -> None:
    code = (
        BLOCKED.format(names=modules)
        + f"""
try:
    crest.{name}
except ImportError as error:
    print(error)
"""
    )
    assert missing_extra(name, package, extra) in run(code).stdout


@pytest.mark.parametrize("name", ["CrestClassifier", "CrestRegressor"])
def test_estimators_name_scikit_learn_and_how_to_install_it_from_a_clone(name: str) -> None:
    code = (
        BLOCKED.format(names=["sklearn"])
        + f"try:\n    crest.{name}\nexcept ImportError as error:\n    print(error)\n"
    )
    told = run(code).stdout
    assert f"{name} " in told
    assert missing_extra("CrestClassifier or CrestRegressor", "scikit-learn", "sklearn") in told


def test_public_names_exist_and_are_listed() -> None:
    for name in crest.__all__:
        assert getattr(crest, name) is not None
        assert name in dir(crest)
    listed = dir(crest)
    assert {"CreditInEvent", "CrestPooler", "LightningWatch", "recordings", "__version__"} <= set(listed)
    assert {"CrestClassifier", "CrestRegressor"} <= set(listed)
    assert sorted(set(listed)) == listed, "dir(crest) names something twice"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = crest.nonsense


WITHOUT_EXTRAS = [
    "cyclopts",
    "jinja2",
    "matplotlib",
    "numba",
    "plotly",
    "pooch",
    "rich",
    "safetensors",
    "scipy",
    "sklearn",
]


def test_the_command_line_names_the_extra_that_it_needs() -> None:
    code = BLOCKED.format(names=WITHOUT_EXTRAS) + "import crest.__main__\nsys.argv = ['crest', '--help']\n"
    result = run(code + "crest.__main__.command_line()")
    assert result.returncode == 1
    assert result.stderr == f"crest: {missing_extra('the command line', 'cyclopts', 'lab')}\n"


def test_a_command_names_the_extra_that_it_needs() -> None:
    code = (
        BLOCKED.format(names=["scipy", "numba"])
        + "import crest.__main__\nsys.argv = ['crest', 'systems', 'list']\n"
    )
    result = run(code + "crest.__main__.command_line()")
    assert result.returncode == 1
    assert "pip install '.[lab]' in your clone" in result.stderr
    assert "Traceback" not in result.stderr


def test_ones_own_recordings_need_no_extra(tmp_path: Path) -> None:
    code = (
        BLOCKED.format(names=WITHOUT_EXTRAS)
        + f"""
import numpy as np
from pathlib import Path
from crest.lab.systems import Sizes
from crest.recordings import load, save
from crest.recordings import load_recordings
folder = Path({str(tmp_path)!r})
np.save(folder / "a.npy", np.arange(10.0))
(folder / "table.csv").write_text("file,label\\na.npy,0.5\\n")
save(load_recordings(folder / "table.csv", window=4, sample_rate=100), folder / "b.npz")
print(len(load(folder / "b.npz")))
try:
    crest.lab.systems.GearSystem
except ImportError as error:
    print(error)
"""
    )
    result = run(code)
    assert result.stdout.splitlines() == [
        "2",
        missing_extra("crest.lab.systems.GearSystem", "numba", "lab"),
    ], result.stderr


def test_names_of_systems_exist_and_are_listed() -> None:
    import crest.lab.systems  # noqa: PLC0415

    assert dir(crest.lab.systems) == sorted(crest.lab.systems.__all__)
    for name in crest.lab.systems.__all__:
        assert getattr(crest.lab.systems, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = crest.lab.systems.nonsense


def test_the_map_names_every_room() -> None:
    """CONTRIBUTING.md draws the house: a room that it leaves out is a room that nobody finds."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    drawn = contributing.split("## The house")[1].split("## The rules")[0]
    rooms = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")} - {
        ".",
        "lab",
    }
    missing = [room for room in sorted(rooms) if f" {room.rpartition('/')[2]}/ " not in drawn]
    assert not missing, f"CONTRIBUTING.md has no place for {', '.join(missing)}"
