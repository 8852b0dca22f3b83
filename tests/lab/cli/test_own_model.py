"""Somebody's model in a file, and weights that are its own, another's, or none."""

import dataclasses
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

import crest
from crest._repair.structure import Structure
from crest.lab.cli.own_model import own_model, takes_channels_first, valid_steps_for, with_weights

MODELS = """
from torch import nn

def make():
    return nn.Sequential(nn.Conv1d(1, 2, 3, padding=1), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2, 1))

made = make()

def nothing():
    return 3

something = 4

def broken():
    raise KeyError("oops")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "typo.py").write_text("def make(:\n")
    return tmp_path / "models.py"


def test_the_weights_of_a_repaired_model_build_it_as_it_was_repaired(place: Path, tmp_path: Path) -> None:
    model = own_model(f"{place}:make")
    x, y = torch.randn(40, 1, 60), torch.randn(40)
    quick = crest.ExchangeSettings(trajectories=8, block=4)
    found = crest.repair(
        model, [(x, y)], fit=lambda model, _: model, remedies=["AC coupling"], exchange=quick
    )
    built = Structure(front="AC coupling", channels_first=True).build(own_model(f"{place}:make"))
    dataclasses.replace(
        found, model=built, structure=Structure(front="AC coupling", channels_first=True)
    ).save(tmp_path)
    loaded = with_weights(model, tmp_path / "model.safetensors", unsafe_pickle=False)
    assert torch.equal(loaded(x), built.eval()(x))
    with pytest.raises(
        ValueError, match=r"^weights must be those of the model after its repair, .*crest.Repaired.load"
    ):
        with_weights(nn.Linear(2, 1), tmp_path / "model.safetensors", unsafe_pickle=False)


@pytest.mark.parametrize("function", ["make", "made"])
def test_a_function_makes_the_model_or_it_is_there_already(place: Path, function: str) -> None:
    model = own_model(f"{place}:{function}")
    assert isinstance(model, nn.Sequential)
    assert not model.training


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("models.py", r"^model must be file\.py:function"),
        ("gone.py:make", "^model must name a file that exists"),
        ("models.py:mad", r"^model must name a function of .* such as broken, make, nothing; got 'mad'"),
        ("models.py:something", "^model must name a function"),
        ("models.py:nothing", r"^model must name a function that returns a torch\.nn\.Module, got int"),
        (
            "models.py:broken",
            r"^model must be made without an error, got KeyError: 'oops' \(models\.py, line 15\)",
        ),
        ("typo.py:make", r"^model must be made without an error, got SyntaxError: .*\(typo\.py, line 1\);"),
        (
            "no_such_module:make",
            "^model must be made without an error, got ModuleNotFoundError: No module named",
        ),
    ],
)
def test_what_makes_no_model_is_told(
    place: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.chdir(place.parent)
    with pytest.raises(ValueError, match=message):
        own_model(source)


def test_a_pickle_is_refused_with_the_way_to_convert_it_and_loaded_where_asked_for(place: Path) -> None:
    trained, model = own_model(f"{place}:make"), own_model(f"{place}:make")
    torch.save(trained.state_dict(), place.with_name("w.pt"))
    with pytest.raises(ValueError, match=r"^weights must be \.safetensors, .*save_model.* --unsafe-pickle"):
        with_weights(model, place.with_name("w.pt"), unsafe_pickle=False)
    with_weights(model, place.with_name("w.pt"), unsafe_pickle=True)
    torch.testing.assert_close(model.state_dict(), trained.state_dict())


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("ran",))


def test_code_in_a_pickle_is_never_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save(Evil(), place.with_name("evil.pt"))
    with pytest.raises(ValueError, match=r"^weights must be a state dict of tensors"):
        with_weights(own_model(f"{place}:make"), place.with_name("evil.pt"), unsafe_pickle=True)
    assert "ran" not in capsys.readouterr().out


WHOLE = r"'w\.pt', which is not one \(a whole model\?\): save model\.state_dict\(\) where you trained it"
UNREAD = r"'w\.pt', which cannot be read \({}\): save model\.state_dict\(\) where you trained it"


@pytest.mark.filterwarnings("error:'torch.load' received", "ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize(
    ("saved", "words"),
    [
        ("model", WHOLE),
        ("script", UNREAD.format("RuntimeError: .*TorchScript.*")),
        ("cut", UNREAD.format("RuntimeError: .*")),
        ("text", UNREAD.format(".*")),
        ("tensor", r"Tensor in 'w\.pt': save model\.state_dict\(\) where you trained it"),
        (
            "checkpoint",
            r"a dict of epoch, model in 'w\.pt': save the state dict alone \(is it under 'model'\?\)",
        ),
    ],
)
def test_a_pickle_of_something_else_is_told_in_one_line_with_what_to_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    model, path = nn.Linear(2, 1), Path("w.pt")
    if saved == "script":
        torch.jit.script(model).save(str(path))
    elif saved == "text":
        path.write_text("hello")
    else:
        others = {"model": model, "tensor": torch.zeros(2)}
        torch.save(others.get(saved, {"epoch": 3, "model": model.state_dict()}), path)
    if saved == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=rf"^weights must be a state dict of tensors, got {words}") as told:
        with_weights(model, path, unsafe_pickle=True)
    assert "\n" not in str(told.value)


def test_weights_that_nobody_may_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(torch, "load", refused)
    (tmp_path / "w.pt").touch()
    with pytest.raises(
        ValueError, match=r"^weights must be a file that can be read, got .*: Permission denied$"
    ):
        with_weights(nn.Linear(2, 1), tmp_path / "w.pt", unsafe_pickle=True)


def test_weights_that_are_not_there_are_damaged_or_of_another_model_are_told(tmp_path: Path) -> None:
    model, other = nn.Linear(2, 1), tmp_path / "other.safetensors"
    with pytest.raises(ValueError, match=r"^weights must be a file that exists"):
        with_weights(model, other, unsafe_pickle=False)
    other.write_text("hello")
    with pytest.raises(ValueError, match=r"^weights must be a whole safetensors file"):
        with_weights(model, other, unsafe_pickle=False)
    safetensors.torch.save_file({"0.weight": torch.zeros(2)}, other)
    with pytest.raises(
        ValueError, match=r"^weights must be those of the model, got others in .*other\.safetensors"
    ):
        with_weights(model, other, unsafe_pickle=False)


def test_the_layout_is_the_one_in_which_the_model_answers() -> None:
    x = torch.zeros(4, 9, 1)
    convolution = nn.Sequential(nn.Conv1d(1, 2, 3), nn.Flatten())
    assert takes_channels_first(convolution, x)
    assert takes_channels_first(convolution.double(), x, said=True)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(9, 1))
    assert not takes_channels_first(linear, x)
    assert takes_channels_first(linear, x, said=True)


def test_an_answer_for_each_step_in_one_layout_does_not_keep_the_other_from_being_tried() -> None:
    class Squeezed(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).squeeze(1)

    assert takes_channels_first(Squeezed(nn.AdaptiveAvgPool1d(8), nn.Linear(8, 3)), torch.zeros(2, 64, 1))


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyError("state")


class Gives(nn.Module):
    def __init__(self, *given: object) -> None:
        super().__init__()
        self.given = given

    def forward(self, x: torch.Tensor) -> object:
        return self.given if len(self.given) > 1 else self.given[0]


@pytest.mark.parametrize(
    ("model", "said", "message"),
    [
        (
            nn.Conv1d(7, 1, 3),
            None,
            r"^model must take windows \(B, T, C\) = \(4, 9, 1\) or \(B, C, T\) = \(4, 1, 9\); it failed with RuntimeError: "
            r".* and RuntimeError: .*\. Check that --window is the length",
        ),
        (
            Raises(),
            None,
            r"^model must take windows .* or \(B, C, T\) = \(4, 1, 9\); it failed with KeyError: 'state'\. Check",
        ),
        (
            Raises(),
            True,
            r"^model must take windows \(B, C, T\) = \(4, 1, 9\); it failed with KeyError: 'state'\. Check",
        ),
        (
            Gives(torch.zeros(4), 1),
            None,
            r"^model must return its predictions .* in one tensor, got tuple: let its",
        ),
        (
            Gives(torch.zeros(4, 9, 2)),
            False,
            r"^model must return its predictions .*, got \(4, 9, 2\): let its",
        ),
    ],
)
def test_a_model_that_does_not_answer_is_told(model: nn.Module, said: bool | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        takes_channels_first(model, torch.zeros(4, 9, 1), said=said)


class ByLength(nn.Module):
    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return x[..., 0].sum(1) / lengths


class ByMask(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return x.sum((1, 2))


class NeedsMask(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (x * mask.unsqueeze(-1)).sum((1, 2))


def test_a_model_is_given_the_valid_steps_where_it_needs_them() -> None:
    uneven, even = torch.tensor([2, 3]), torch.tensor([3, 3])
    for model in (ByLength(), ByMask()):
        mask = valid_steps_for(model, uneven)
        assert mask is not None
        assert mask.tolist() == [[True, True, False], [True, True, True]]
    mask = valid_steps_for(ByLength(), even)
    assert mask is not None
    assert mask.all()
    assert not takes_channels_first(ByLength(), torch.zeros(2, 3, 1), mask)
    assert valid_steps_for(ByMask(), even) is None
    mask = valid_steps_for(NeedsMask(), even)
    assert mask is not None
    assert mask.all()
    assert valid_steps_for(nn.Flatten(), even) is None
    with pytest.raises(
        ValueError,
        match=r"^window must be given if recordings differ .* got 2 to 3 samples: .* 2 or less",
    ):
        valid_steps_for(nn.Flatten(), uneven)
