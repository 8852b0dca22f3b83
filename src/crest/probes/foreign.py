"""Models of other libraries as functions of tensors: scikit-learn, Keras, ONNX sessions, exported programs, functions of arrays."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from crest.probes.tables import FEATURES_TO_MODEL

_KERAS = {"keras", "tf_keras", "tensorflow"}
_PRECISIONS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
# Who has no memory left is told so, and is not asked again.
MEMORY_ERRORS = (MemoryError, torch.OutOfMemoryError)


_HINT = (
    "If it is a model of features, crest needs the signals and a function from them to predictions: write "
    f"{FEATURES_TO_MODEL}"
)

_AXES_HINT = "Does it take three axes? Pass x[..., None] for (B, T, C), or x[:, None] for (B, C, T)"


class ForeignFunction:
    """A function that is given what it takes: tensors, or arrays, or arrays without the axis of a single channel.

    Which of these is found out in the first call: the first form that it does not fail on is kept. If it fails on all, its first
    error is raised.

    Example:
        >>> function = ForeignFunction(lambda x: x.astype(float).mean((1, 2)), [as_it_is, as_array])
        >>> function(torch.ones(2, 3, 1))
        array([1., 1.])
    """

    def __init__(
        self, function: Callable[..., Any], forms: Sequence[Callable[[Any], Any]], *, refused: str = ""
    ) -> None:
        self.function = function
        self.forms = list(forms)
        self.refused = refused
        """What to say of it if it fails on all forms; nothing leaves it at its own error."""
        # By this name `inspect.signature` finds what the function takes, such as a mask.
        self.__wrapped__ = function
        self.classes: Any = None
        """What the columns of its predictions stand for, if it tells."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What the function returns."""
        errors: list[Exception] = []
        for form in self.forms:
            try:
                found = self.function(*map(form, given), **{name: form(one) for name, one in named.items()})
            except MEMORY_ERRORS:
                raise
            except Exception as error:
                errors.append(error)
            else:
                self.forms, self.refused = [form], ""
                return found
        if self.refused:
            got = " ".join(str(tuple(one.shape)) for one in given if isinstance(one, Tensor))
            why = error_words(errors[0])
            # One that indexes three axes takes signals, and no features.
            flat = isinstance(errors[0], IndexError) and any(
                isinstance(one, Tensor) and one.ndim == 2 for one in given
            )
            hint = _AXES_HINT if flat else _HINT
            raise ValueError(f"{self.refused.format(got=got)}; it failed with {why}. {hint}") from errors[0]
        raise errors[0]


def as_it_is(value: Any) -> Any:
    """The value."""
    return value


def as_array(value: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


def as_rows(value: Any) -> Any:
    """Signals of one channel, (B, T, 1) or (B, 1, T), as an array (B, T); a ValueError for several channels.

    Example:
        >>> as_rows(torch.zeros(4, 1, 50)).shape
        (4, 50)
    """
    found = as_array(value)
    if not isinstance(found, np.ndarray) or found.ndim != 3:
        return found
    if 1 not in found.shape[1:]:
        raise ValueError(f"a model of tables takes signals of one channel, got {found.shape}")
    return found.reshape(len(found), -1)


def as_function(model: Any, argument: str = "function") -> Callable[..., Any]:
    """A torch module as it is, anything else that predicts as a function of tensors; a ValueError for what does not.

    An exported program gives its module, and so does what `crest.repair` returns. An object with `predict` is asked through `predict_proba`, `decision_function` or
    `predict`, the first that it has. An ONNX session gets its first input, and gives its output, or several by name.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> mean = DummyRegressor().fit([[0.0], [0.0]], [1.0, 3.0])
        >>> as_function(mean)(torch.zeros(3, 50, 1))
        array([2., 2., 2.])
    """
    if isinstance(model, nn.Module | ForeignFunction):
        return model
    if isinstance(model, type):
        raise ValueError(
            f"{argument} must be an instance, got the class {model.__name__}: call it to make one"
        )
    # By name: to ask for the class would load the exporter.
    if type(model).__name__ == "ExportedProgram":
        _require_any_size(model, argument)
        module: nn.Module = model.module()
        return module
    if all(callable(getattr(model, name, None)) for name in ("run", "get_inputs", "get_outputs")):
        return ForeignFunction(_asking_session(model, argument), [as_array, as_rows])
    keras = any(kind.__module__.partition(".")[0] in _KERAS for kind in type(model).__mro__)
    if callable(getattr(model, "predict", None)) and (keras or not callable(model)):
        refused = f"{argument} must take the signals {{got}}, got a {type(model).__name__}"
        found = ForeignFunction(_predicting(model, keras), [as_array, as_rows], refused=refused)
        found.classes = getattr(model, "classes_", None)
        return found
    inner = getattr(model, "model", None)
    if isinstance(inner, nn.Module) and not callable(model):
        return inner
    if callable(model):
        return ForeignFunction(model, [as_it_is, as_array])
    raise ValueError(
        f"{argument} must be a torch module, a function, or an object with predict, got {type(model).__name__}: "
        "write lambda x: ..., which takes signals (B, T, C) and gives predictions (B,) or (B, K)"
    )


def require_numbered_classes(function: object, targets: Tensor, argument: str = "function") -> None:
    """Raise a ValueError for class numbers if the model's classes are other numbers than 0, 1, ...: its columns are not these.

    Args:
        function: from `as_function`.
        targets: of its predictions; one-hot rows have the model's columns.
        argument: what messages call the model.
    """
    classes = getattr(function, "classes", None) if isinstance(function, ForeignFunction) else None
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.dtype.kind not in "iuf":
        return
    one_each = targets.ndim == 1 or targets.shape[1:] == (1,)
    if one_each and not np.array_equal(classes, np.arange(len(classes))):
        shown = ", ".join(map(str, classes[:5].tolist())) + (", ..." if len(classes) > 5 else "")
        raise ValueError(
            f"{argument} must have classes 0 to {len(classes) - 1}, as targets are taken for columns of its predictions, got {shown}: "
            "train it on np.searchsorted(model.classes_, y), or pass lambda x: model.predict_proba(x[..., 0]), and pass the "
            "targets as np.searchsorted(model.classes_, targets)"
        )


def _require_any_size(program: Any, argument: str) -> None:
    """Raise a ValueError for an exported program that takes batches of one size only."""
    own = set(program.graph_signature.user_inputs)
    first = next(
        (node for node in program.graph.nodes if node.op == "placeholder" and node.name in own), None
    )
    size = None if first is None else first.meta["val"].shape[0]
    if isinstance(size, int):
        raise ValueError(
            f"{argument} must take batches of any size, got an exported program for {size}: write "
            "torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))"
        )


def _predicting(model: Any, keras: bool) -> Callable[[Any], Any]:
    """The method by which an object with `predict` says most."""
    classes = getattr(model, "classes_", None)

    def probabilities(x: Any) -> Any:
        found = model.predict_proba(x)
        # Several labels of scikit-learn: a table of two classes for each.
        if isinstance(found, list) and all(np.ndim(one) == 2 and one.shape[1] == 2 for one in found):
            return np.stack([one[:, 1] for one in found], 1)
        return found

    def decisions(x: Any) -> Any:
        found = np.asarray(model.decision_function(x))
        two = found.ndim == 1 and classes is not None and len(classes) == 2
        return np.stack([-found, found], 1) if two else found

    def classified(x: Any) -> Any:
        # Only the class is known: all that speaks for it is 1.
        return (np.asarray(model.predict(x))[:, None] == np.asarray(classes)).astype(np.float64)

    if not keras and callable(getattr(model, "predict_proba", None)):
        return probabilities
    if not keras and callable(getattr(model, "decision_function", None)):
        return decisions
    if isinstance(classes, np.ndarray) and classes.ndim == 1:
        return classified
    try:
        quiet = "verbose" in inspect.signature(model.predict).parameters
    except (TypeError, ValueError):
        quiet = False
    # Keras draws a progress bar for every call.
    return (lambda x: model.predict(x, verbose=0)) if quiet else _method(model)


def _method(model: Any) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = model.predict
    return found


def _asking_session(session: Any, argument: str) -> Callable[..., Any]:
    """From arrays to what an ONNX session gives: one output, or several by name."""
    inputs, names = session.get_inputs(), [one.name for one in session.get_outputs()]
    if isinstance(inputs[0].shape[0], int):
        raise ValueError(
            f"{argument} must take batches of any size, got an ONNX session for {inputs[0].shape[0]}: write "
            "torch.onnx.export(..., dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), dynamo=True)"
        )

    def asked(x: Any, mask: Any = None) -> Any:
        given = [x] if mask is None else [x, mask]
        feed = {
            one.name: np.ascontiguousarray(part, dtype=_PRECISIONS.get(one.type))
            for one, part in zip(inputs, given, strict=False)
        }
        found = session.run(None, feed)
        return found[0] if len(found) == 1 else dict(zip(names, found, strict=True))

    return asked


def error_words(error: BaseException) -> str:
    """What a model raised, on one line and without its last full stop.

    Example:
        >>> error_words(ValueError("Input X contains NaN.   Ridge does not."))
        'ValueError: Input X contains NaN. Ridge does not'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"


def names_of(found: object) -> str:
    """What a model returned in the place of a tensor, for a message.

    Example:
        >>> names_of({"logits": 1, "hidden": 2}), names_of((1, 2)), names_of(None)
        ("dict with 'logits', 'hidden'", 'tuple of 2', 'NoneType')
    """
    if isinstance(found, Mapping):
        return f"{type(found).__name__} with {', '.join(map(repr, found))}"
    count = f" of {len(found)}" if isinstance(found, tuple | list) else ""
    return f"{type(found).__name__}{count}"
