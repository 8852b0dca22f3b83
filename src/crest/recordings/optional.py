"""Packages that only some files need."""

import importlib
from types import ModuleType


def optional_module(name: str, why: str) -> ModuleType:
    """The module; where it is missing, raises an ImportError that says what to install.

    Example:
        >>> optional_module("no_such_package.part", "this example")
        Traceback (most recent call last):
        ImportError: this example needs no_such_package: pip install no_such_package
    """
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{why} needs {package}: pip install {package}") from error
