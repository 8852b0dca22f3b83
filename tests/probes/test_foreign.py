from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from torch import nn

import crest
from crest.probes.foreign import as_array, as_function, as_it_is, as_rows, error_words, names_of

QUICK = crest.ExchangeSettings(trajectories=16, block=4, bootstrap=20)
NUMBERS = np.random.default_rng(1000)
Y = NUMBERS.normal(size=48).astype(np.float32)
X = (NUMBERS.normal(size=(48, 1, 1)) + 0.1 * NUMBERS.normal(size=(48, 60, 1))).astype(np.float32)
X[:, 30:34, 0] += Y[:, None]
CLASSES = (Y > 0).astype(np.int64)
ANY_SIZE = ({0: torch.export.Dim.DYNAMIC},)


class Mean(nn.Module):
    """Reads the mean of signals (B, C, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x.mean((1, 2))


class Kerasish:
    """As Keras predicts: arrays in and out, with a progress bar unless told otherwise."""

    def predict(self, x: np.ndarray, verbose: str = "auto") -> np.ndarray:
        assert isinstance(x, np.ndarray)
        assert verbose == 0
        return x.mean((1, 2))[:, None]


def session(folder: Path, **options: Any) -> onnxruntime.InferenceSession:
    example = torch.zeros(4, 60, 1)
    torch.onnx.export(
        Mean(), (example,), folder / "mean.onnx", dynamo=True, verbose=False, input_names=["x"], **options
    )
    return onnxruntime.InferenceSession(folder / "mean.onnx")


def models(folder: Path) -> dict[str, Any]:
    example = torch.zeros(4, 60, 1)
    average = FunctionTransformer(lambda x: x.mean((1, 2))[:, None])
    return {
        "scripted": torch.jit.script(Mean()),
        "traced": torch.jit.trace(Mean(), example),
        "exported": torch.export.export(Mean(), (example,), dynamic_shapes=ANY_SIZE),
        "ONNX": session(folder, dynamic_shapes=ANY_SIZE),
        "predict": Kerasish(),
        "pipeline": make_pipeline(average, Ridge(1e-9)).fit(X, X.mean((1, 2))),
        "arrays": lambda x: x.astype(np.float64).mean((1, 2)),
    }


@pytest.mark.slow
def test_models_of_other_libraries_are_audited_as_the_module_is(tmp_path: Path) -> None:
    """The same function gets the same numbers, whatever holds it."""
    known = crest.audit(Mean(), (X, Y), channels_first=False, exchange=QUICK)
    assert known.verdict in {"background", "unclear"}
    for name, model in models(tmp_path).items():
        found = crest.audit(model, (X, Y), channels_first=False, exchange=QUICK)
        assert found.error == pytest.approx(known.error, rel=1e-3), name
        assert found.exchange.together.moved == pytest.approx(known.exchange.together.moved, rel=1e-2), name
        tested = crest.exchange_test(model, X, targets=Y, exchange=QUICK)
        assert tested.background == pytest.approx(known.exchange.background, abs=1e-2), name


def test_one_channel_is_a_table_for_who_takes_tables() -> None:
    model = as_function(make_pipeline(Ridge()).fit(X[..., 0], Y), "model")
    for signals in (X, X.transpose(0, 2, 1), X[..., 0]):
        np.testing.assert_allclose(model(torch.from_numpy(signals.copy())), model(torch.from_numpy(X)))
    two = torch.zeros(4, 60, 2)
    with pytest.raises(ValueError, match=r"^a model of tables takes signals of one channel"):
        as_rows(two)


def test_a_classifier_says_as_much_as_it_can() -> None:
    rows = torch.from_numpy(X)
    logistic = LogisticRegression().fit(X[..., 0], CLASSES)
    np.testing.assert_allclose(as_function(logistic)(rows), logistic.predict_proba(X[..., 0]))
    machine = SVC().fit(X[..., 0], CLASSES)
    decided = as_function(machine)(rows)
    assert (decided.argmax(1) == machine.predict(X[..., 0])).all()

    class OnlyPredict:
        classes_ = machine.classes_

        def predict(self, x: np.ndarray) -> np.ndarray:
            return machine.predict(x)

    assert (as_function(OnlyPredict())(rows).argmax(1) == machine.predict(X[..., 0])).all()
    labels = np.stack([CLASSES, X[:, 0, 0] > 0], 1).astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(X[..., 0], labels)
    assert as_function(forest)(rows).shape == (48, 2)
    np.testing.assert_allclose(as_function(forest)(rows)[:, 1], forest.predict_proba(X[..., 0])[1][:, 1])


def test_what_takes_one_size_of_batches_is_refused_with_the_line_to_write(tmp_path: Path) -> None:
    program = torch.export.export(Mean(), (torch.zeros(4, 60, 1),))
    with pytest.raises(
        ValueError, match=r"got an exported program for 4: write torch\.export\.export\(.*DYNAMIC"
    ):
        crest.audit(program, X)
    with pytest.raises(
        ValueError, match=r"^function must .* an ONNX session for 4: write torch\.onnx\.export\("
    ):
        crest.exchange_test(session(tmp_path), X)


def test_a_model_of_features_is_refused_with_the_line_to_write() -> None:
    features = X.reshape(48, 10, 6).mean(2)
    model = Ridge().fit(features, Y)
    wanted = r"crest needs the signals.*write lambda x: model\.predict\(features\(x\)\)$"
    with pytest.raises(
        ValueError, match=rf"^model must take the signals \(48, 60, 1\), got a Ridge; {'.*'}{wanted}"
    ) as told:
        crest.audit(model, (X, Y))
    assert isinstance(told.value.__cause__, ValueError)
    with pytest.raises(ValueError, match=rf"^function must take .*{wanted}"):
        crest.exchange_test(model, X)


def test_a_pipeline_of_three_axes_is_told_to_get_them() -> None:
    def features(x: np.ndarray) -> np.ndarray:
        return np.stack([x[:, :, 0].mean(1), x[:, :, 0].max(1)], 1)

    pipeline = make_pipeline(FunctionTransformer(features), Ridge()).fit(X, Y)
    with pytest.raises(ValueError, match=r"Does it take three axes\? Pass x\[\.\.\., None\]"):
        crest.audit(pipeline, (X[..., 0], Y), exchange=QUICK)


def test_a_list_of_predictions_is_refused_with_the_line_to_write() -> None:
    def listed(x: Any) -> list[float]:
        return [float(one) for one in x.mean((1, 2))]

    with pytest.raises(ValueError, match=r"got a list: return np\.asarray\(predictions\)$"):
        crest.audit(listed, (X, Y), exchange=QUICK)
    with pytest.raises(ValueError, match=r"got a list, which np\.asarray\(predictions\) makes an array"):
        crest.exchange_test(listed, X, exchange=QUICK)


def test_several_outputs_of_a_session_have_names() -> None:
    class Session:
        class Port:
            def __init__(self, name: str) -> None:
                self.name, self.type, self.shape = name, "tensor(double)", ["batch", 60, 1]

        def get_inputs(self) -> list[Any]:
            return [self.Port("x"), self.Port("mask")]

        def get_outputs(self) -> list[Any]:
            return [self.Port("label"), self.Port("probabilities")]

        def run(self, _: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            assert feed["x"].dtype == np.float64
            return [np.zeros(len(feed["x"])), feed["x"].mean((1, 2))]

    found = as_function(Session())(torch.from_numpy(X))
    assert list(found) == ["label", "probabilities"]
    by_name = crest.exchange_test(Session(), X, output="probabilities", exchange=QUICK)
    assert by_name.background == crest.exchange_test(Session(), X, output=1, exchange=QUICK).background > 0.5


def test_the_first_form_that_works_is_kept() -> None:
    seen = []

    def function(x: Any, mask: Any = None) -> Any:
        seen.append(type(x))
        return x.astype(float).mean((1, 2))

    model = as_function(function)
    model(torch.ones(2, 3, 1), mask=torch.ones(2, 3))
    model(torch.ones(2, 3, 1))
    assert seen == [torch.Tensor, np.ndarray, np.ndarray]
    with pytest.raises(ZeroDivisionError):
        as_function(lambda x: 1 / 0)(torch.ones(2, 3, 1))


def test_memory_that_is_used_up_is_no_reason_to_ask_again() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        raise MemoryError

    with pytest.raises(MemoryError):
        as_function(function)(torch.ones(2, 3, 1))
    assert len(calls) == 1


def test_what_holds_a_module_gives_it() -> None:
    """As what `crest.repair` returns."""
    model = nn.Linear(2, 1)
    assert as_function(SimpleNamespace(model=model)) is model


def test_what_cannot_be_called_is_named() -> None:
    with pytest.raises(ValueError, match=r"^function must be a torch module, .* got int: write lambda x"):
        as_function(3)
    with pytest.raises(ValueError, match=r"^model must be an instance, got the class Linear: call it"):
        as_function(nn.Linear, "model")
    module = nn.Linear(2, 1)
    assert as_function(module) is module


def test_words_and_forms() -> None:
    assert names_of({"a": 1}) == "dict with 'a'"
    assert error_words(KeyError("a")) == "KeyError: 'a'"
    assert as_it_is(3) == as_array(3) == as_rows(3) == 3


def test_classes_that_are_no_columns_are_refused_beside_class_numbers() -> None:
    """Columns follow the model's classes: class 1 of 1, 2, 3 is column 0."""
    classes = 1 + np.digitize(Y, [-0.5, 0.5])
    model = LogisticRegression(max_iter=500).fit(X[..., 0], classes)
    some = classes < 3
    for asked in (
        lambda: crest.audit(model, (X[some], classes[some]), exchange=QUICK),
        lambda: crest.Watch(model, (X[some], classes[some]), exchange=QUICK),
        lambda: crest.exchange_test(model, X[some], targets=classes[some], exchange=QUICK),
    ):
        with pytest.raises(
            ValueError, match=r"must have classes 0 to 2, .* got 1, 2, 3: train it on np.searchs"
        ):
            asked()
    columns = np.searchsorted(model.classes_, classes)
    right = pytest.approx(1 - model.score(X[..., 0], classes))
    wide = crest.ExchangeSettings(trajectories=48, block=4, bootstrap=20)
    told = crest.audit(lambda x: model.predict_proba(x[..., 0]), (X, columns), exchange=wide)
    assert told.error == right
    assert crest.audit(model, (X, np.eye(3)[columns]), exchange=wide).error == right
    assert crest.audit(model, X, exchange=QUICK).error is None
