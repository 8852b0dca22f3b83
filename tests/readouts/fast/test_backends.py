import os
import subprocess
import sys
import threading

import pytest
import torch

import crest
from crest._base.extras import missing_extra
from crest.readouts.fast import backend, chosen_backend, serves


def test_a_choice_holds_until_the_next() -> None:
    before = chosen_backend()
    backend("torch")
    assert chosen_backend() == "torch"
    backend(before)
    assert chosen_backend() == before


def test_a_block_puts_the_choice_back_also_after_an_error() -> None:
    before = chosen_backend()
    with backend("torch"):
        with pytest.raises(ZeroDivisionError), backend("numba"):
            1 / int(chosen_backend() != "numba")
        assert chosen_backend() == "torch"
    assert chosen_backend() == before


def test_another_name_is_refused() -> None:
    before = chosen_backend()
    with pytest.raises(ValueError, match="name must be one of auto, numba, torch, got 'cuda'"):
        backend("cuda")
    assert chosen_backend() == before


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_is_served(dtype: torch.dtype) -> None:
    features = torch.zeros(2, 30, 4, dtype=dtype)
    with backend("torch"):
        assert not serves(features)
    for name in ("auto", "numba"):
        with backend(name):
            assert serves(features)
            assert not serves(features.to("meta"))
            assert not serves(features.to(torch.complex64))
            assert not torch.func.vmap(lambda row: torch.tensor(serves(row)))(features).any()
            with torch.autograd.forward_ad.dual_level():
                assert not serves(features)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_environment_chooses_and_numba_loads_on_first_use() -> None:
    code = (
        "import sys, crest, torch; from crest.readouts.fast import chosen_backend; readout = crest.CrestReadout();"
        "print(chosen_backend(), 'numba' in sys.modules, end=' ');"
        "readout(torch.randn(2, 30, 4)); print('numba' in sys.modules, 'torch._dynamo' in sys.modules)"
    )
    for name, used in (("torch", False), ("numba", True)):
        assert run(code, CREST_BACKEND=name).stdout.split() == [name, "False", str(used), "False"]
    result = run(code, CREST_BACKEND="fast")
    assert "CREST_BACKEND must be one of auto, numba, torch, got 'fast'" in result.stderr


def test_without_numba_plain_torch_serves_and_to_ask_for_it_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; import crest, torch\n"
        "print(tuple(crest.CrestReadout()(torch.randn(2, 30, 4)).shape))\n"
        "try:\n    crest.readouts.fast.backend('numba')\nexcept ImportError as error:\n    print(error)"
    )
    result = run(code, CREST_BACKEND="auto")
    assert result.stdout.splitlines() == [
        "(2, 4)",
        missing_extra("name 'numba'", "numba", "fast"),
    ], result.stderr


def test_it_is_no_part_of_a_readout() -> None:
    with backend("torch"):
        plain = crest.CrestReadout()
    with backend("numba"):
        compiled = crest.CrestReadout()
    assert repr(plain) == repr(compiled)
    assert plain.state_dict().keys() == compiled.state_dict().keys()


def test_a_block_holds_for_its_own_thread_and_leaves_nothing_behind() -> None:
    before, wrong = chosen_backend(), []
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        barrier.wait()
        for _ in range(2000):
            with backend(name):
                if chosen_backend() != name:
                    wrong.append(name)

    threads = [threading.Thread(target=work, args=[name]) for name in ("torch", "numba", "auto", "torch")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert chosen_backend() == before


def test_a_choice_without_a_block_is_that_of_every_thread_and_survives_blocks() -> None:
    before, seen = chosen_backend(), []
    backend("torch")
    with backend("numba"):
        thread = threading.Thread(target=lambda: seen.append(chosen_backend()))
        thread.start()
        thread.join()
    assert (seen, chosen_backend()) == (["torch"], "torch")
    backend(before)
    assert chosen_backend() == before
