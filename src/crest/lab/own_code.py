"""Functions in the user's own code, in a Python file or a module: found, named by their content, and run.

To name such a function is to run its file. Errors in it become one sentence, with the line that raised them.
"""

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_DIGITS = 16
_PACKAGE = Path(__file__).parents[1]
_contents: dict[str, str] = {}
"""The content with which each module was loaded here: a worker that lives on must see that a file was edited."""


class OwnCode(NamedTuple):
    """Where a function is written."""

    place: Path
    """The Python file."""
    module: str
    """The module's dotted name; for a file by itself, the file's name."""
    function: str

    @property
    def name(self) -> str:
        """As the user writes it: file.py:function or package.module:function."""
        return f"{self.module}:{self.function}"

    def content(self) -> str:
        """Names what is in the file; what it imports has no part in that."""
        return hashlib.sha256(self.place.read_bytes()).hexdigest()[:_DIGITS]


def own_code(argument: str, source: str, folder: Path) -> OwnCode:
    """Where the function at file.py:function or package.module:function is written.

    Args:
        argument: how errors call it.
        source: the file, or the module, and the function.
        folder: where relative paths begin and modules are looked for, before the usual places.

    Example:
        >>> own_code("encoder", "json.decoder:JSONDecoder", Path()).place.name
        'decoder.py'
    """
    place, colon, name = source.rpartition(":")
    if not colon or not place or not name:
        raise ValueError(f"{argument} must be file.py:function or module:function, got {source!r}")
    if place.endswith(".py"):
        path = folder / place
        if not path.is_file():
            raise ValueError(f"{argument} must name a file that exists, got {place!r}")
        return OwnCode(path.resolve(), path.name, name)
    found = _below(folder, place.split(".")) or in_one_sentence(
        f"{argument} must be made without an error", lambda: _found(place)
    )
    return OwnCode(found.resolve(), place, name)


def own_function(argument: str, code: OwnCode) -> Callable[..., Any]:
    """The function itself, whose file is run for it, once in a process unless it is edited.

    Example:
        >>> own_function("encoder", own_code("encoder", "json:dumps", Path()))(1)
        '1'
    """
    module = in_one_sentence(f"{argument} must be made without an error", lambda: _module(code))
    function = getattr(module, code.function, None)
    if not callable(function):
        own = [
            one
            for one, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", None) == module.__name__
        ]
        there = ", ".join(sorted(own)[:20])
        raise ValueError(
            f"{argument} must name a function of {code.module}, such as {there or 'none'}; got {code.function!r}"
        )
    return function  # type: ignore[no-any-return]


def in_one_sentence(rule: str, work: Callable[[], Any]) -> Any:
    """What the user's own code gives; if it fails, a ValueError with the rule, its error and the line.

    Example:
        >>> in_one_sentence("model must be made without an error", lambda: 1 / 0)
        Traceback (most recent call last):
        ValueError: model must be made without an error, got ZeroDivisionError: division by zero; --debug shows more
    """
    try:
        return work()
    except Exception as error:
        # Of a file that Python cannot read or find, the message says where, and the last line is Python's own. Of a function that
        # takes other arguments, it is a line of this package.
        line = traceback.extract_tb(error.__traceback__)[-1]
        known = (
            isinstance(error, SyntaxError)
            or line.filename.startswith("<")
            or Path(line.filename).is_relative_to(_PACKAGE)
        )
        where = "" if known else f" ({Path(line.filename).name}, line {line.lineno})"
        raise ValueError(f"{rule}, got {type(error).__name__}: {error}{where}; --debug shows more") from error


def _below(folder: Path, names: Sequence[str]) -> Path | None:
    """The file of a module, by the names that lead to it from a folder."""
    here = folder.joinpath(*names)
    # The dots come from the user's text. Two of them in a row would be a name without letters.
    files = (here.with_suffix(".py"), here / "__init__.py") if all(names) else ()
    return next((path for path in files if path.is_file()), None)


def _found(module: str) -> Path:
    """The file of a module that Python would import; nothing is imported for it.

    `importlib.util.find_spec` imports the packages above a module. So only the first name is looked up by it, and the
    others lead through folders.
    """
    first, *names = module.split(".")
    spec = importlib.util.find_spec(first)
    folders = list(spec.submodule_search_locations or ()) if spec is not None and names else []
    places = (_below(Path(folder), names) for folder in folders)
    found = next((place for place in places if place is not None), None)
    if spec is None or (names and found is None):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    if found is None and (spec.origin is None or not spec.has_location):
        raise ImportError(f"module {module!r} is not a Python file")
    return found or Path(str(spec.origin))


def _module(code: OwnCode) -> Any:
    content = code.content()
    if code.module.endswith(".py"):
        # A name of its own: a file called random.py must not stand in the place of Python's.
        name = f"own_code_{hashlib.sha256(str(code.place).encode()).hexdigest()[:8]}_{content}"
        return sys.modules.get(name) or _of_file(name, code.place)
    steps = code.module.count(".") + (code.place.name == "__init__.py")
    _look_in(code.place.parents[steps])
    module = importlib.import_module(code.module)
    if Path(module.__file__ or "").resolve() != code.place.resolve():
        raise ImportError(
            f"module {code.module!r} is {module.__file__} in this process, and not {code.place}: give the file itself, "
            f"{code.place.name}:{code.function}"
        )
    if _contents.setdefault(code.module, content) != content:
        module = importlib.reload(module)
        _contents[code.module] = content
    return module


def _of_file(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As a script would: its neighbours can be imported.
    _look_in(path.parent)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _look_in(folder: Path) -> None:
    # Behind all others: a file called random.py or statistics.py must not stand in the place of Python's.
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
