"""The public names of the package, and the pages of the reference that show them by task.

`{api}` on a page documents the names that stand below it. `{names}` makes a table of such names, or of all names of another page. A test
holds that every exported name is on one page. This file needs no Sphinx; `reference.py` does.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

API = re.compile(r"^```\{api\}\n((?:[\w.]+\n)+)```$", flags=re.MULTILINE)
"""A block of names that a page documents."""
TABLE = re.compile(r"^```\{names\}(?: (\S+\.md))?\n((?:[\w.]+\n)*)```$", flags=re.MULTILINE)
"""A table of names: those of another page, or those below."""
INSIDE = ("crest.lab", "crest.readouts.fast")
"""Packages whose exports serve other parts of crest: a page may show some of their names."""


class Name(NamedTuple):
    """A public name: where users find it, and where it is defined."""

    public: str
    """Such as `crest.lab.systems.GearSystem`."""
    home: str
    """Such as `crest.lab.systems.gear.GearSystem`."""
    kind: str
    """The directive of autodoc that documents it: autoclass, autofunction or autodata."""


def named(public: str) -> Name:
    """The name at an address such as `crest.audit`."""
    module, _, name = public.rpartition(".")
    found: Any = getattr(importlib.import_module(module), name)
    if inspect.isclass(found):
        return Name(public, f"{found.__module__}.{found.__qualname__}", "autoclass")
    if inspect.isroutine(found):
        plain = inspect.unwrap(found)
        return Name(public, f"{plain.__module__}.{plain.__qualname__}", "autofunction")
    return Name(public, f"{_home(module, name)}.{name}", "autodata")


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
    return [named(f"{package}.{name}") for name in names if not inspect.ismodule(getattr(module, name))]


@functools.cache
def packages(package: str = "crest") -> tuple[str, ...]:
    """A package and all packages inside it."""
    place = importlib.import_module(package)
    inside = [one.name for one in pkgutil.iter_modules(place.__path__) if one.ispkg]
    return (package, *(name for one in inside for name in packages(f"{package}.{one}")))


def public_packages() -> list[str]:
    """The packages whose exports are all public: no underscore, and not inside of what serves crest itself."""
    inside = tuple(f"{package}." for package in INSIDE)
    return [one for one in packages() if "._" not in one and not f"{one}.".startswith(inside)]


def documented_constant(name: Name) -> bool:
    """Whether a string below the constant says what it is."""
    module, _, own = name.home.rpartition(".")
    source = _source(module)
    return any(
        own in {target.id for target in _targets(node)}
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        for node, after in zip(source.body, source.body[1:], strict=False)
    )


def shown(page: str) -> list[Name]:
    """The names that the text of a page documents."""
    return [named(one) for block in API.findall(page) for one in block.split()]


def entries(names: Iterable[Name]) -> str:
    """The documentation of the names, for autodoc."""
    return _block(line for name in names for line in _entry(name))


def table(names: Iterable[Name]) -> str:
    """A row for each name with its first line and a link. A name in a private package is shown without its address."""
    rows = (f"   {'~' if '._' in name.public else ''}{_documented(name)}" for name in names)
    return _block([".. autosummary::", "   :nosignatures:", "", *rows])


def written(page: str, docs: Path) -> str:
    """The text of a page with its blocks filled in; `docs` is the folder that tables name pages in."""
    page = API.sub(lambda found: entries(named(one) for one in found[1].split()), page)

    def rows(found: re.Match[str]) -> str:
        of_page = shown((docs / found[1]).read_text(encoding="utf-8")) if found[1] else []
        return table([*of_page, *(named(one) for one in found[2].split())])

    return TABLE.sub(rows, page)


def _block(lines: Iterable[str]) -> str:
    return "\n".join(["```{eval-rst}", *lines, "```"])


def _documented(name: Name) -> str:
    """A constant keeps its docstring only where it is defined; classes and functions carry theirs."""
    return name.home if name.kind == "autodata" else name.public


def _entry(name: Name) -> Iterator[str]:
    yield f".. {name.kind}:: {_documented(name)}"
    yield from ["   :no-value:"] if name.kind == "autodata" else []
    if name.kind == "autoclass":
        yield "   :members:"
        yield from [] if value(name).__bases__ == (object,) else ["   :show-inheritance:"]
    yield ""


@functools.cache
def _source(module: str) -> ast.Module:
    return ast.parse(Path(inspect.getfile(importlib.import_module(module))).read_text(encoding="utf-8"))


def _home(module: str, name: str) -> str:
    """The module that assigns a constant, followed along the imports."""
    source = _source(module)
    if any(target.id == name for node in source.body for target in _targets(node)):
        return module
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _home(node.module, name)
    raise ValueError(f"name must be assigned in {module} or imported by it, got {name!r}")


def _targets(node: ast.stmt) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target for target in targets if isinstance(target, ast.Name)]
