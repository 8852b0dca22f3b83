"""The public names of a room of the package, and the reference that follows from them.

`{room} crest.readouts` on a page documents what the package exports in `__all__`, then what its modules define beside.
So the reference follows the code by itself: nobody keeps a list. This file needs no Sphinx; `reference.py` does.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Name(NamedTuple):
    """A public name: where users find it, and where it is defined."""

    public: str
    """Such as `crest.lab.systems.GearSystem`."""
    home: str
    """Such as `crest.lab.systems.gear.GearSystem`."""
    kind: str
    """The directive of autodoc that documents it: autoclass, autofunction or autodata."""


def value(name: Name) -> Any:
    """What a name stands for."""
    module, _, attribute = name.public.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def exported(package: str) -> list[Name]:
    """The names that a package exports, in their order: `__all__`, and what its own `__dir__` lists."""
    module = importlib.import_module(package)
    names = dict.fromkeys(getattr(module, "__all__", ()))
    if "__dir__" in vars(module):
        # `crest` leaves names whose packages may be missing out of `__all__`.
        names |= dict.fromkeys(name for name in dir(module) if not name.startswith("_"))
    return [_name(package, name) for name in names if not inspect.ismodule(getattr(module, name))]


def defined(module: str) -> list[Name]:
    """The public names that a module defines itself: classes, functions, and constants with a docstring."""
    source = ast.parse(Path(inspect.getfile(importlib.import_module(module))).read_text(encoding="utf-8"))
    documented = {
        target.id
        for node, after in zip(source.body, source.body[1:], strict=False)
        for target in _targets(node)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }
    parts = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    written = [node.name for node in source.body if isinstance(node, parts)]
    names = [*written, *(name for name in _assigned(source) if name in documented)]
    return [_name(module, name) for name in names if not name.startswith("_")]


def modules(package: str) -> list[str]:
    """The public modules directly inside a package; a package inside it is a room of its own."""
    place = importlib.import_module(package)
    found = pkgutil.iter_modules(place.__path__) if hasattr(place, "__path__") else []
    return [f"{package}.{one.name}" for one in found if not one.ispkg and not one.name.startswith("_")]


@functools.cache
def packages(package: str = "crest") -> tuple[str, ...]:
    """A package and all packages inside it."""
    place = importlib.import_module(package)
    inside = [one.name for one in pkgutil.iter_modules(place.__path__) if one.ispkg]
    return (package, *(name for one in inside for name in packages(f"{package}.{one}")))


def is_module(dotted: str) -> bool:
    """Whether this is the name of a module or package, and not of something in one."""
    parent = dotted.rpartition(".")[0]
    return dotted in packages() or (parent in packages() and dotted in modules(parent))


def room(home: str) -> str:
    """The package that a name is defined in, which is where it is documented."""
    return max((one for one in packages() if home.startswith(f"{one}.")), key=len)


def page(package: str) -> Iterator[str]:
    """The reference of a room, as lines of Markdown: first what it exports, then its modules."""
    told = [name for name in exported(package) if room(name.home) == package]
    yield from _block([*_module(package), *_entries(told)])
    homes = {name.home for name in told}
    for module in modules(package):
        names = [name for name in defined(module) if name.home not in homes]
        if names:
            yield from ["", f"## {module}", ""]
            yield from _block([*_module(module), *_entries(names)])


def summary(package: str) -> Iterator[str]:
    """A table of what a package exports, each name with its first line and a link."""
    names = [f"   {_documented(name)}" for name in exported(package)]
    yield from _block([".. autosummary::", "   :nosignatures:", "", *names])


def _block(lines: Sequence[str]) -> list[str]:
    return ["```{eval-rst}", *lines, "```"]


def _module(module: str) -> list[str]:
    # Not in the index: `crest.probes.credit` is a function there, and a module as well.
    return [f".. automodule:: {module}", "   :no-members:", "   :no-index:", ""]


def _documented(name: Name) -> str:
    """A constant keeps its docstring only where it is defined; classes and functions carry theirs."""
    return name.home if name.kind == "autodata" else name.public


def _entries(names: list[Name]) -> Iterator[str]:
    for name in names:
        yield f".. {name.kind}:: {_documented(name)}"
        yield from ["   :no-value:"] if name.kind == "autodata" else []
        if name.kind == "autoclass":
            yield "   :members:"
            yield from [] if value(name).__bases__ == (object,) else ["   :show-inheritance:"]
        yield ""


def _name(module: str, name: str) -> Name:
    found: Any = getattr(importlib.import_module(module), name)
    if inspect.isclass(found):
        return Name(f"{module}.{name}", f"{found.__module__}.{found.__qualname__}", "autoclass")
    if inspect.isroutine(found):
        plain = inspect.unwrap(found)
        return Name(f"{module}.{name}", f"{plain.__module__}.{plain.__qualname__}", "autofunction")
    return Name(f"{module}.{name}", f"{_home(module, name)}.{name}", "autodata")


@functools.cache
def _home(module: str, name: str) -> str:
    """The module that assigns a constant, followed along the imports."""
    place = importlib.import_module(module)
    source = ast.parse(Path(inspect.getfile(place)).read_text(encoding="utf-8"))
    if name in _assigned(source):
        return module
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _home(node.module, name)
    raise ValueError(f"name must be assigned in {module} or imported by it, got {name!r}")


def _assigned(source: ast.Module) -> list[str]:
    return [target.id for node in source.body for target in _targets(node)]


def _targets(node: ast.stmt) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.Name)]
