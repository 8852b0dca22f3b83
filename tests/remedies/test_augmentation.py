import collections
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset, default_collate

import crest
from crest.remedies import Augmentation, Collation

Example = collections.namedtuple("Example", "x y")


def examples(count: int = 8) -> list[tuple[Tensor, int]]:
    return [(torch.full((5, 1), float(row)), row) for row in range(count)]


def as_dicts(batch: list[tuple[Tensor, int]]) -> dict[str, Tensor]:
    """A collate function of somebody's own; module level, so that a worker can have it."""
    x, y = default_collate(batch)
    return {"signal": x, "label": y, "mask": torch.ones(x.shape[:2], dtype=torch.bool)}


def layer(**options: Any) -> crest.ExchangeBackground:
    return crest.ExchangeBackground("level", probability=1.0, **options)


def is_exchanged(x: Tensor) -> bool:
    """Every row has a level of the eight, and none its own."""
    levels = x[:, 0, 0].round()
    return bool((levels != torch.arange(8.0)).all() and set(levels.tolist()) <= set(range(8)))


def test_a_batch_of_signals_and_labels() -> None:
    x, y = layer().collate()(examples())
    assert is_exchanged(x)
    assert y.tolist() == list(range(8))


def test_a_tensor_and_a_named_tuple_and_a_tuple() -> None:
    assert is_exchanged(layer().collate()([x for x, _ in examples()]))
    named = layer().collate()([Example(*one) for one in examples()])
    assert isinstance(named, Example)
    assert is_exchanged(named.x)
    assert named.y.tolist() == list(range(8))
    plain = layer().collate(lambda batch: tuple(default_collate(batch)))(examples())
    assert isinstance(plain, tuple)
    assert is_exchanged(plain[0])


def test_a_dict_with_a_key_and_a_mask() -> None:
    batch = layer().collate(as_dicts, key="signal", mask="mask")(examples())
    assert is_exchanged(batch["signal"])
    assert batch["label"].tolist() == list(range(8))
    assert list(batch) == ["signal", "label", "mask"]


def test_the_mask_is_used() -> None:
    def with_mask(batch: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor, Tensor]:
        x, y = default_collate(batch)
        mask = torch.ones(x.shape[:2], dtype=torch.bool)
        mask[:, 3:] = False
        return x, y, mask

    x, _, _ = layer().collate(with_mask, mask=2)(examples())
    assert is_exchanged(x)
    assert torch.equal(x[:, 3:, 0], torch.arange(8.0).unsqueeze(1).expand(8, 2))


def test_evaluation_mode_leaves_the_batch() -> None:
    x, _ = layer().eval().collate()(examples())
    assert torch.equal(x[:, 0, 0], torch.arange(8.0))


def test_every_augmentation_collates() -> None:
    x, y = crest.JitterLevel(probability=1.0).collate()(examples())
    assert (x[:, 0, 0] != torch.arange(8.0)).all()
    assert y.tolist() == list(range(8))


def test_it_can_be_pickled() -> None:
    generator = torch.Generator().manual_seed(1000)
    collate = layer(generator=generator).collate(as_dicts, key="signal")
    copy = pickle.loads(pickle.dumps(collate))
    assert isinstance(copy, Collation)
    assert collate.augmentation.generator is generator
    assert copy.augmentation.generator is None
    torch.manual_seed(1000)
    torch.testing.assert_close(copy(examples())["signal"], collate(examples())["signal"], rtol=0, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(("context", "count"), [("fork", 3), ("spawn", 1)])
def test_worker_processes_exchange_too(context: str, count: int) -> None:
    if context not in torch.multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {context}")
    # The one generator must not be what the workers draw with: each epoch would repeat the last.
    collate = layer(generator=torch.Generator().manual_seed(1000)).collate()
    data = TensorDataset(torch.arange(8.0).reshape(8, 1, 1).expand(8, 5, 1).clone(), torch.arange(8))

    def epochs() -> list[Tensor]:
        loader = DataLoader(
            data,
            batch_size=8,
            num_workers=1,
            collate_fn=collate,
            multiprocessing_context=context,
            generator=torch.Generator().manual_seed(1000),
        )
        seen = []
        for _ in range(count):
            ((x, y),) = loader
            assert is_exchanged(x)
            assert y.tolist() == list(range(8))
            seen.append(x)
        return seen

    first = epochs()
    if context == "fork":
        assert all(torch.equal(one, other) for one, other in zip(first, epochs(), strict=True))
        assert not (torch.equal(first[0], first[1]) and torch.equal(first[1], first[2]))


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"^key must be one of the batch's keys, signal, label, mask; got 'x'"
    ):
        layer().collate(as_dicts)(examples())
    with pytest.raises(ValueError, match=r"^mask must name a part of the batch, got 'mask'"):
        layer().collate(mask="mask")(examples())
    with pytest.raises(ValueError, match=r"^mask must name a part of the batch, got 5"):
        layer().collate(mask=5)(examples())
    with pytest.raises(
        ValueError, match=r"^collate_fn must give a tensor, a tuple, a list or a dict, got str"
    ):
        layer().collate(lambda batch: "x")(examples())


@pytest.mark.unchecked
def test_arguments_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"^probability must lie in \[0, 1\], got 2"):
        crest.ExchangeBackground(probability=2)
    with pytest.raises(ValueError, match=r"^channels_first must be True or False"):
        crest.JitterLevel(channels_first=None)
    with pytest.raises(ValueError, match=r"^x must have shape \(B, C, T\)"):
        crest.JitterLevel(channels_first=True)(torch.zeros(3, 4))


def test_a_base_is_not_an_augmentation() -> None:
    with pytest.raises(TypeError, match=r"abstract"):
        Augmentation()
