"""Packages that only some files need."""

import importlib
from types import ModuleType

from crest._base.extras import missing_extra


def optional_module(name: str, why: str) -> ModuleType:
    """The module; if it is missing, an ImportError says which extra has it.

    Example:
        >>> optional_module("no_such_package.part", "this example")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ImportError: this example needs no_such_package. Install the extra recordings: ...
    """
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(missing_extra(why, package, "recordings")) from error
