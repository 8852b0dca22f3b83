"""One check for every public door: an argument of the wrong Python type is refused by its name.

A door's annotations say what it takes, so nothing is written twice: `door` reads them on the first call. Ranges and
shapes are for the rules of `crest._base.arguments` and `crest._base.tensors` behind it. beartype would say more, but
the product needs torch and NumPy only, and its errors are no ValueError in our words.
"""

import collections.abc
import functools
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from crest._base.arguments import require

Entrance = TypeVar("Entrance", bound=Callable[..., Any])

# What int64 and float64 can hold; beyond it torch and NumPy overflow somewhere inside.
_LARGEST = 2**63 - 1
# A list may be long: its first elements tell what it holds.
_LOOKED_AT = 64


class Kind(NamedTuple):
    """What an argument may be."""

    words: str
    """As they follow "must be"."""
    allows: Callable[[Any], bool]


def door(entrance: Entrance) -> Entrance:
    """The function, or the class, with a check of its arguments' types; both keep their signature.

    Raises:
        ValueError: At the call, for an argument that is nothing which its annotation allows.

    Example:
        >>> @door
        ... def repeated(text: str, times: int = 2) -> str:
        ...     return text * times
        >>> repeated("ab", times=None)
        Traceback (most recent call last):
        ValueError: times must be a number, got None
    """
    return door_leaving()(entrance)


def door_leaving(*own: str, **rules: str) -> Callable[[Entrance], Entrance]:
    """A `door` that leaves the arguments of these names to the function, which says more than their kind.

    Args:
        *own: the names.
        **rules: by name, in the words of `crest._base.arguments`, if nothing behind the door applies them.
    """

    def entered(entrance: Entrance) -> Entrance:
        if not inspect.isclass(entrance):
            return typing.cast(Entrance, _guarded(entrance, own, rules))
        # A class without a way in of its own has that of its ancestor.
        if "__init__" in vars(entrance):
            entrance.__init__ = _guarded(entrance.__init__, own, rules)  # type: ignore[method-assign]
        return entrance

    return entered


def _guarded(
    function: Callable[..., Any], own: tuple[str, ...], rules: Mapping[str, str]
) -> Callable[..., Any]:
    # Code that takes tensors has loaded torch by now; the theory does without. In a traced graph there is no door.
    torch = sys.modules.get("torch")
    tracing: Callable[[], bool] = torch.compiler.is_compiling if torch is not None else bool

    # On the first call, not here: annotations may name what is defined further down, or imported later.
    @functools.cache
    def expected() -> tuple[dict[str, Kind], list[str], str]:
        hints, by_sort = typing.get_type_hints(function), collections.defaultdict[Any, list[str]](list)
        for one in inspect.signature(function).parameters.values():
            by_sort[one.kind].append(one.name)
        # **options hold what another function takes.
        unchecked = {*own, "return", *by_sort[inspect.Parameter.VAR_KEYWORD]}
        kinds = {name: kind_of(hint) for name, hint in hints.items() if name not in unchecked}
        places = by_sort[inspect.Parameter.POSITIONAL_ONLY] + by_sort[inspect.Parameter.POSITIONAL_OR_KEYWORD]
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        return known, places, "".join(by_sort[inspect.Parameter.VAR_POSITIONAL])

    @functools.wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        if not tracing():
            kinds, places, rest = expected()
            if len(args) > len(places) and not rest:
                raise TypeError(_too_many(function, places, len(args)))
            for place, value in enumerate(args):
                _check(places[place] if place < len(places) else rest, value, kinds, rules)
            for name, value in kwargs.items():
                _check(name, value, kinds, rules)
        return function(*args, **kwargs)

    return entered


def _check(name: str, value: object, kinds: Mapping[str, Kind], rules: Mapping[str, str]) -> None:
    if name in kinds and not kinds[name].allows(value):
        text = repr(value) if isinstance(value, str | bytes | int | float | complex | None) else ""
        got = text if 0 < len(text) <= 60 else type(value).__name__
        raise ValueError(f"{name} must be {kinds[name].words}, got {got}")
    if name in rules:
        require(name, value, rules[name])
    if hasattr(value, "is_nested"):
        # Here, since the theory has doors and no torch.
        from crest._base.tensors import require_plain  # noqa: PLC0415

        require_plain(name, typing.cast(Any, value))


def _too_many(function: Callable[..., Any], places: list[str], given: int) -> str:
    """The sentence for more arguments by place than there are places."""
    own = places[:1] in (["self"], ["cls"])
    called, names = function.__qualname__.removesuffix(".__init__").rpartition(".")[2], places[own:]
    words = f"{called}() takes {' and '.join(names) or 'nothing'} by place, got {given - own}; others need their names"
    return words + (". Inputs and targets are one: (x, y)" if names and names[-1].endswith("batches") else "")


def kind_of(hint: Any) -> Kind | None:
    """What an annotation allows; None if that is anything.

    Example:
        >>> kind_of(float | str | None).words
        'a number, text or None'
    """
    # jaxtyping has the tensor in `array_type`; an alias made by `type`, as NumPy's NDArray may be, has `__value__`.
    hint = getattr(hint, "array_type", hint)
    hint = getattr(hint, "__value__", hint)
    found, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if found in (typing.Union, types.UnionType):
        return _either([kind_of(part) for part in parts])
    if found is Literal:
        # Only the type of the choices: the rule behind the door lists them.
        said = repr(parts[0]) if len(parts) == 1 else f"one of {', '.join(map(str, parts))}"
        return Kind(said, lambda value: isinstance(value, tuple(map(type, parts))))
    if isinstance(found, type) and issubclass(found, np.generic):
        found = float
    if found in _SIMPLE:
        return _SIMPLE[found]
    if not isinstance(found, type) or found in (object, Any):
        return None
    if found in (tuple, list, dict) or (
        found.__module__ == "collections.abc" and issubclass(found, collections.abc.Iterable)
    ):
        return _container(found, parts)
    name = "torch tensor" if found.__module__ == "torch" and found.__name__ == "Tensor" else found.__name__
    return Kind(f"{'an' if name[0] in 'AEIOU' else 'a'} {name}", lambda value: isinstance(value, found))


def _is_number(value: object) -> bool:
    # Any number passes for a whole one: the rule behind the door says more.
    if isinstance(value, int):
        return -_LARGEST <= value <= _LARGEST
    return isinstance(value, float | np.integer | np.floating)


_SIMPLE: dict[Any, Kind] = {
    type(None): Kind("None", lambda value: value is None),
    bool: Kind("True or False", lambda value: isinstance(value, bool)),
    int: Kind("a number", _is_number),
    float: Kind("a number", _is_number),
    str: Kind("text", lambda value: isinstance(value, str)),
    np.ndarray: Kind("an array", lambda value: isinstance(value, np.ndarray)),
    Callable: Kind("callable", callable),
}


def _either(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    words = list(dict.fromkeys(kind.words for kind in known))
    said = " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
    return (
        Kind(said, lambda value: any(kind.allows(value) for kind in known))
        if len(known) == len(kinds)
        else None
    )


def _container(found: type, parts: tuple[Any, ...]) -> Kind:
    """A list or mapping with elements of one kind; for a tuple of fixed length, one kind for each place."""
    mapping = issubclass(found, Mapping)
    # A list does where a tuple is asked for.
    found = collections.abc.Sequence if found in (tuple, list) else found
    kinds = [kind_of(part) for part in parts[mapping:] if part is not ...]
    fixed = len(kinds) > 1

    def allows(value: Any) -> bool:
        # A tensor without axes calls itself iterable.
        if isinstance(value, str | bytes) or not isinstance(value, found) or getattr(value, "ndim", 1) == 0:
            return False
        # An iterator can be read only once, and that is for the function behind the door.
        if not kinds or not isinstance(value, Mapping | list | tuple):
            return True
        if fixed:
            return len(value) == len(kinds) and all(
                kind is None or kind.allows(one) for kind, one in zip(kinds, value, strict=True)
            )
        inside = value.values() if isinstance(value, Mapping) else value
        return kinds[0] is None or all(map(kinds[0].allows, itertools.islice(inside, _LOOKED_AT)))

    said = f" of {len(kinds)}" if fixed else f" (each {kinds[0].words})" if kinds and kinds[0] else ""
    return Kind(("a mapping" if mapping else "a list") + said, allows)
