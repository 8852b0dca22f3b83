import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crest.lab.own_code import in_one_sentence, own_code, own_function


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_file_is_run_once_and_again_when_it_was_edited(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("VALUE = 5\n")
    text = "import neighbour\nruns = [neighbour.VALUE]\ndef make():\n    runs.append(1)\n    return runs\n"
    # A name that Python has a module of, which must stay.
    (tmp_path / "json.py").write_text(text)
    code = own_code("encoder", "json.py:make", tmp_path)
    assert (code.name, code.place) == ("json.py:make", (tmp_path / "json.py").resolve())
    assert own_function("encoder", code)() == [5, 1]
    assert own_function("encoder", code)() == [5, 1, 1]
    assert sys.modules["json"].__file__ != str(code.place)
    before = code.content()
    (tmp_path / "json.py").write_text(text.replace("[neighbour", "[2, neighbour"))
    assert code.content() != before
    assert own_function("encoder", code)() == [2, 5, 1]


def test_a_module_is_found_from_the_folder_and_loaded_anew_when_it_was_edited(tmp_path: Path) -> None:
    package = tmp_path / "own_package_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("VALUE = 1\n")
    (package / "made.py").write_text("from .parts import VALUE\ndef make():\n    return VALUE\n")
    code = own_code("encoder", "own_package_of_a_test.made:make", tmp_path)
    assert code.place == package / "made.py"
    # A worker knows the file alone, and has another folder.
    assert str(tmp_path) not in sys.path
    assert own_function("encoder", code)() == 1
    # Longer, so that Python's own cache of compiled files sees it within the same second.
    (package / "made.py").write_text("def make():\n    return 'edited since then'\n")
    assert own_function("encoder", code)() == "edited since then"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("made", r"^encoders must be file\.py:function or module:function, got 'made'"),
        ("gone.py:make", r"^encoders must name a file that exists, got 'gone\.py'"),
        ("gone.module:make", r"^encoders must be made without an error, got ModuleNotFoundError: No module"),
        (
            "sys:exit",
            "^encoders must be made without an error, got ImportError: module 'sys' is not a Python file",
        ),
        ("made.py:nothing", r"^encoders must name a function of made\.py, such as make; got 'nothing'"),
        ("broken.py:make", r"^encoders must be made .* got ZeroDivisionError: .* \(broken\.py, line 2\)"),
    ],
)
def test_what_cannot_be_found_is_told(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "made.py").write_text("def make(): ...\n")
    (tmp_path / "broken.py").write_text("\n1 / 0\n")
    with pytest.raises(ValueError, match=message):
        own_function("encoders", own_code("encoders", source, tmp_path))


def test_errors_of_somebodys_code_are_one_sentence() -> None:
    assert in_one_sentence("it must work", lambda: 3) == 3
    with pytest.raises(ValueError, match=r"^it must work, got KeyError: 'a' \(test_own_code\.py, line \d+\)"):
        in_one_sentence("it must work", lambda: {}["a"])


def test_a_function_that_takes_other_arguments_is_not_told_with_a_line_of_ours(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text("def make(channels): ...\n")
    make = own_function("encoder", own_code("encoder", "wide.py:make", tmp_path))
    with pytest.raises(ValueError, match=r"missing 1 required positional argument: 'channels'; --debug"):
        in_one_sentence("it must work", make)


def test_a_module_of_the_same_name_in_another_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    for folder, value in (("one", 1), ("other", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nets_of_a_test.py").write_text(f"def make():\n    return {value}\n")
    first = own_code("encoder", "nets_of_a_test:make", tmp_path / "one")
    assert own_function("encoder", first)() == 1
    second = own_code("encoder", "nets_of_a_test:make", tmp_path / "other")
    assert second.place == (tmp_path / "other" / "nets_of_a_test.py").resolve()
    with pytest.raises(ValueError, match=r"give the file itself, nets_of_a_test\.py:make"):
        own_function("encoder", second)
    by_file = own_code("encoder", "nets_of_a_test.py:make", tmp_path / "other")
    assert own_function("encoder", by_file)() == 2


def test_naming_a_module_runs_nothing_of_its_package(tmp_path: Path) -> None:
    package = tmp_path / "silent_package_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it was run')\n")
    (package / "made.py").write_text("def make():\n    return 1\n")
    code = own_code("encoder", "silent_package_of_a_test.made:make", tmp_path)
    assert code.place == (package / "made.py").resolve()
    assert package.name not in sys.modules


def test_naming_an_installed_module_runs_nothing_of_the_packages_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "far_package_of_a_test" / "inner"
    inner.mkdir(parents=True)
    for package in (inner, inner.parent):
        (package / "__init__.py").write_text("raise RuntimeError('it was run')\n")
    (inner / "made.py").write_text("def make():\n    return 1\n")
    # A folder without __init__.py is a package too.
    (tmp_path / "bare_of_a_test" / "deep").mkdir(parents=True)
    (tmp_path / "bare_of_a_test" / "deep" / "made.py").write_text("def make():\n    return 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    code = own_code("encoder", "far_package_of_a_test.inner.made:make", elsewhere)
    assert code.place == (inner / "made.py").resolve()
    assert own_code("encoder", "far_package_of_a_test.inner:make", elsewhere).place.name == "__init__.py"
    assert not {name for name in sys.modules if name.startswith("far_package")}
    assert own_function("encoder", own_code("encoder", "bare_of_a_test.deep.made:make", elsewhere))() == 2
    for gone in (
        "far_package_of_a_test.gone:make",
        "far_package_of_a_test..made:make",
        "far_package_of_a_test.:make",
    ):
        with pytest.raises(ValueError, match="No module named 'far_package_of_a_test"):
            own_code("encoder", gone, elsewhere)
