"""Imports point one way: a module may import only from the stages named beside its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import crest

SOURCE = Path(__file__).parents[1] / "src" / "crest"

CORE = {"arrays", "rng", "files"}
PARTS = CORE | {"readouts", "probes", "theory", "systems"}
MODELS = PARTS | {"encoders", "model", "objectives", "evaluation", "training"}
ALLOWED = {
    "arrays": set(),
    "rng": set(),
    "files": set(),
    "readouts": CORE,
    "probes": CORE,
    "theory": {"rng"},
    "kernels": set(),
    "systems": CORE | {"kernels"},
    "replacement": CORE | {"readouts"},
    "estimator": CORE | {"readouts"},
    "encoders": CORE,
    "model": CORE | {"encoders", "readouts"},
    "objectives": CORE | {"readouts", "model"},
    "evaluation": PARTS | {"model"},
    "training": PARTS | {"model", "objectives", "evaluation"},
    "experiments": MODELS,
    "report": MODELS | {"experiments"},
    "evidence": MODELS | {"experiments", "report"},
    "cli": MODELS | {"experiments", "report", "evidence"},
    "__main__": {"cli"},
    "__init__": CORE | {"readouts", "probes", "theory", "systems", "replacement", "estimator"},
}


def stage(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "crest":
                found |= {f"crest.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "crest"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(SOURCE).with_suffix("").parts[0]
    assert own in ALLOWED, f"{own} has no place in the order of stages: give it one in {__file__}"
    targets = {stage(name) for name in imports(path)} - {own}
    targets -= {"__init__"} if own == "__init__" or targets == {"__init__"} else set()
    assert targets <= ALLOWED[own] | ({"__init__"} if "crest" in imports(path) else set())


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_core_loads_nothing_optional() -> None:
    code = (
        "import sys, crest; "
        "heavy = {'matplotlib', 'rich', 'torchmetrics', 'sklearn', 'scipy', 'pandas', 'onnx', 'onnxruntime', "
        "'distributed', 'numba'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = run(code)
    assert result.stdout.strip() == "[]", result.stderr


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
    ("name", "package", "extra"),
    [("CreditInEvent", "torchmetrics", "metrics"), ("CrestPooler", "scikit-learn", "sklearn")],
)
def test_a_missing_extra_is_named(name: str, package: str, extra: str) -> None:
    code = (
        BLOCKED.format(names=[package.replace("scikit-learn", "sklearn")])
        + f"""
try:
    crest.{name}
except ImportError as error:
    print(error)
"""
    )
    assert f"{name} needs {package}: pip install 'crest-readout[{extra}]'" in run(code).stdout


def test_public_names_exist_and_are_listed() -> None:
    for name in crest.__all__:
        assert getattr(crest, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = crest.nonsense
