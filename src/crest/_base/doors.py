"""One check for every public door: an argument of the wrong Python type is refused by its name.

A door's annotations say what it takes, so nothing is written twice. `door` reads them once, on the first call, and
asks of each argument whether it is of such a kind: a tensor, a number, text, a function. What a kind cannot say, such
as the range of a number or the shape of a tensor, is for the rules of `crest._base.arguments` and
`crest._base.tensors` behind it. Any number passes for a whole one here, since their sentences say more.

Needs NumPy only. In traced graphs (compiled, exported) a door is not there.
"""

import collections.abc
import functools
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from crest._base.arguments import require

Entrance = TypeVar("Entrance", bound=Callable[..., Any])

_NUMBERS = (int, float, np.integer, np.floating)
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
        >>> repeated("ab")
        'abab'
        >>> repeated("ab", times=None)
        Traceback (most recent call last):
        ValueError: times must be a number, got None
    """
    return _entered(entrance, (), {})


def door_leaving(*own: str, **rules: str) -> Callable[[Entrance], Entrance]:
    """A `door` that leaves some arguments to what is behind it, or applies rules to them.

    Args:
        *own: parameters of which the function itself says more than their kind.
        **rules: by parameter, in the words of `crest._base.arguments`, where nothing behind the door applies them.

    Example:
        >>> @door_leaving("text", times="be a whole number, 1 or more")
        ... def repeated(text: str, times: int = 2) -> str:
        ...     return text * times
        >>> repeated([1]), repeated("ab", 1)
        ([1, 1], 'ab')
        >>> repeated("ab", 0)
        Traceback (most recent call last):
        ValueError: times must be a whole number, 1 or more, got 0
    """
    return lambda entrance: _entered(entrance, own, rules)


def _entered(entrance: Entrance, own: Collection[str], rules: Mapping[str, str]) -> Entrance:
    if not inspect.isclass(entrance):
        return typing.cast(Entrance, _guarded(entrance, own, rules))
    # A class without a way in of its own has that of its ancestor.
    if "__init__" in vars(entrance):
        entrance.__init__ = _guarded(entrance.__init__, own, rules)  # type: ignore[method-assign]
    return entrance


def _guarded(
    function: Callable[..., Any], own: Collection[str], rules: Mapping[str, str]
) -> Callable[..., Any]:
    # Whoever takes tensors has loaded torch by now; the theory does without.
    torch = sys.modules.get("torch")
    tracing: Callable[[], bool] = torch.compiler.is_compiling if torch is not None else bool

    @functools.cache
    def asked() -> tuple[dict[str, Kind], tuple[str, ...], str]:
        kinds, positional, rest = _kinds(function)
        return {name: kind for name, kind in kinds.items() if name not in own}, positional, rest

    @functools.wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        if not tracing():
            kinds, positional, rest = asked()
            if len(args) > len(positional) and not rest:
                raise TypeError(_too_many(function, positional, len(args)))
            for place, value in enumerate(args):
                _check(positional[place] if place < len(positional) else rest, value, kinds, rules)
            for name, value in kwargs.items():
                _check(name, value, kinds, rules)
        return function(*args, **kwargs)

    return entered


def _too_many(function: Callable[..., Any], positional: tuple[str, ...], given: int) -> str:
    """The sentence of a TypeError about more arguments by place than there are places."""
    own = positional[:1] in (("self",), ("cls",))
    names = positional[1:] if own else positional
    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    words = f"{called}() takes {' and '.join(names) or 'nothing'} by place, got {given - own}; others need their names"
    return words + (". Inputs and targets are one: (x, y)" if names and names[-1].endswith("batches") else "")


def _check(name: str, value: object, kinds: Mapping[str, Kind], rules: Mapping[str, str]) -> None:
    if name in kinds and not kinds[name].allows(value):
        raise ValueError(f"{name} must be {kinds[name].words}, got {_shown(value)}")
    if name in rules:
        require(name, value, rules[name])


def _kinds(function: Callable[..., Any]) -> tuple[dict[str, Kind], tuple[str, ...], str]:
    """The kinds of a function's parameters by name, the names of those given by place, and that of `*args`."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    keyword = (
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    positional = tuple(one.name for one in parameters if one.kind not in keyword)
    rest = next((one.name for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL), "")
    # **options hold what somebody else takes.
    options = {one.name for one in parameters if one.kind is inspect.Parameter.VAR_KEYWORD}
    kinds = {name: kind_of(hint) for name, hint in hints.items() if name not in {"return", *options}}
    return {name: kind for name, kind in kinds.items() if kind is not None}, positional, rest


def kind_of(hint: Any) -> Kind | None:
    """What an annotation allows; None where that is anything.

    Example:
        >>> kind_of(float | str | None).words
        'a number, text or None'
    """
    # jaxtyping's types of tensors: shapes are for the rules behind the door, which know how to say it.
    hint = getattr(hint, "array_type", hint)
    # What an alias made by `type` stands for; NumPy's NDArray is one on newer Pythons.
    hint = getattr(hint, "__value__", hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _either([kind_of(part) for part in parts])
    if origin is Literal:
        return _literal(parts)
    found: Any = hint if origin is None else origin
    if found in _SIMPLE:
        return _SIMPLE[found]
    if not isinstance(found, type) or found in (object, Any):
        return None
    return _instance(found, parts)


def _instance(found: type, parts: tuple[Any, ...]) -> Kind:
    """Objects of a class; of a container, those whose elements are of its parts."""
    if issubclass(found, np.generic):
        return Kind("a number", _is_number)
    if issubclass(found, collections.abc.Mapping):
        return _container("a mapping", found, parts[1:])
    if found is tuple and parts and ... not in parts:
        return _places(parts)
    if found in (tuple, list, collections.abc.Sequence):
        # A list does where a tuple is asked for.
        return _container("a list", collections.abc.Sequence, parts[:1])
    if issubclass(found, collections.abc.Iterable) and found.__module__ == "collections.abc":
        return _container("a list", found, parts[:1])
    return Kind(_named(found), lambda value: isinstance(value, found))


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        return -_LARGEST <= value <= _LARGEST
    return isinstance(value, _NUMBERS)


_SIMPLE: dict[Any, Kind] = {
    type(None): Kind("None", lambda value: value is None),
    bool: Kind("True or False", lambda value: isinstance(value, bool)),
    int: Kind("a number", _is_number),
    float: Kind("a number", _is_number),
    str: Kind("text", lambda value: isinstance(value, str)),
    np.ndarray: Kind("an array", lambda value: isinstance(value, np.ndarray)),
    collections.abc.Callable: Kind("callable", callable),
}


def _named(found: type) -> str:
    if found.__module__.startswith("torch") and found.__name__ == "Tensor":
        return "a torch tensor"
    return f"{'an' if found.__name__[0] in 'AEIOU' else 'a'} {found.__name__}"


def _either(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    words = list(dict.fromkeys(kind.words for kind in known))
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    return Kind(said, lambda value: any(kind.allows(value) for kind in known))


def _literal(choices: tuple[Any, ...]) -> Kind:
    """Of the type of the choices: which of them are there is told by the rule behind the door."""
    kinds = tuple({type(choice) for choice in choices})
    said = repr(choices[0]) if len(choices) == 1 else f"one of {', '.join(map(str, choices))}"
    return Kind(said, lambda value: isinstance(value, kinds))


def _container(words: str, found: type, parts: tuple[Any, ...]) -> Kind:
    kind = kind_of(parts[0]) if parts else None

    def allows(value: Any) -> bool:
        # A tensor without axes calls itself iterable.
        if isinstance(value, str | bytes) or not isinstance(value, found) or getattr(value, "ndim", 1) == 0:
            return False
        # An iterator can be asked only once, and that is for whoever is behind the door.
        if kind is None or not isinstance(value, collections.abc.Mapping | list | tuple):
            return True
        inside = value.values() if isinstance(value, collections.abc.Mapping) else value
        return all(kind.allows(one) for one in itertools.islice(inside, _LOOKED_AT))

    return Kind(words if kind is None else f"{words} (each {kind.words})", allows)


def _places(parts: tuple[Any, ...]) -> Kind:
    """A tuple of fixed length, with a kind for each place."""
    kinds = [kind_of(part) for part in parts]

    def allows(value: Any) -> bool:
        if not isinstance(value, list | tuple) or len(value) != len(kinds):
            return False
        return all(kind is None or kind.allows(one) for kind, one in zip(kinds, value, strict=True))

    return Kind(f"a list of {len(kinds)}", allows)


def _shown(value: object) -> str:
    """The value where it is short, else its type."""
    text = repr(value) if isinstance(value, str | bytes | int | float | complex | None) else ""
    return text if 0 < len(text) <= 60 else type(value).__name__
