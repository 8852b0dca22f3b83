"""One word means one thing: a public name is defined in one module of the package."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from places import SOURCE


def defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names of functions, classes and constants at the top level, also under an `if` or a `try`."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from assigned(targets)
            case ast.AnnAssign(target=target):
                yield from assigned([target])
            case ast.If() | ast.Try() | ast.With() | ast.For():
                inner = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
                inner += [handler.body for handler in getattr(node, "handlers", [])]
                for part in inner:
                    yield from defined(part)


def assigned(targets: Iterable[ast.expr]) -> Iterator[str]:
    """The names among what is assigned to: `A, B = 1, 2` defines two, `a.b = 1` and `a[0] = 1` none."""
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            yield from assigned(target.elts)


def homes(root: Path) -> dict[str, list[str]]:
    """The modules that define each public name; a script's own part, under `if __name__`, defines none."""
    found: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        body = [node for node in ast.parse(path.read_text()).body if not is_script(node)]
        for name in sorted({name for name in defined(body) if not name.startswith("_")}):
            found.setdefault(name, []).append(str(path.relative_to(root)))
    return found


def is_script(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def test_a_public_name_is_defined_in_one_module() -> None:
    repeated = {name: modules for name, modules in homes(SOURCE).items() if len(modules) > 1}
    lines = [f"{name}: {', '.join(modules)}" for name, modules in repeated.items()]
    assert not lines, (
        "these names mean more than one thing; give each module a name of its own for it, or make what only one module "
        "needs private with a leading underscore:\n" + "\n".join(lines)
    )


def test_every_way_to_define_a_name_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import os\nfrom os import path\nA = B = 1\nC, (D, _e) = 1, (2, 3)\nF: int = 1\nos.g = A\n"
        "def h():\n    i = 1\nclass J:\n    k = 1\nif A:\n    L = 1\nelse:\n    M = 1\n"
        "try:\n    N = 1\nexcept OSError:\n    O = 1\nif __name__ == '__main__':\n    p = 1\n"
    )
    (tmp_path / "b.py").write_text("A = 2\nA = 3\nasync def h(): ...\n")
    found = homes(tmp_path)
    assert sorted(found) == ["A", "B", "C", "D", "F", "J", "L", "M", "N", "O", "h"]
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {
        "A": ["a.py", "b.py"],
        "h": ["a.py", "b.py"],
    }
