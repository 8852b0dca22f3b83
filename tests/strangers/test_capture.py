import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers import PoolingSlot
from crest.strangers.capture import captured
from packed_made import Unpacked, ragged


class Net(nn.Module):
    """A model that hands its mask on by name."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(2, 4)
        self.pool = crest.MeanReadout()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor, scale: float = 1.0, mask: Tensor | None = None) -> Tensor:
        return self.head(self.pool(scale * self.encoder(x), mask=mask))


def slot(**options: object) -> PoolingSlot:
    return PoolingSlot(crest.CrestReadout(), **options)


def seen(
    model: nn.Module, batches: list, pooling: str = "pool", head: str = "head", **options: object
) -> list:
    return list(captured(model, batches, pooling=pooling, head=head, slot=slot(**options)))


def test_features_masks_and_answers_are_what_the_layers_saw() -> None:
    model = Net()
    x, y, mask = torch.randn(3, 5, 2), torch.randn(3, 3), torch.arange(5) < torch.tensor([[5], [3], [1]])
    first, second = seen(model, [(x, y), [x, y, mask]])
    torch.testing.assert_close(first.features, model.encoder(x))
    assert first.mask is None
    assert torch.equal(first.targets, y)
    torch.testing.assert_close(second.answers, model(x, mask=mask))
    assert torch.equal(second.mask, mask)
    assert second.direct
    assert not first.features.requires_grad


def test_the_model_is_as_it_was_afterwards_also_when_the_reader_stops_early() -> None:
    model = Net().train()
    stream = captured(
        model, [(torch.randn(2, 5, 2), torch.zeros(2, 3))] * 3, pooling="pool", head="head", slot=slot()
    )
    next(stream)
    assert not model.training
    stream.close()
    assert model.training
    assert torch.is_grad_enabled()
    assert not model.pool._forward_hooks
    assert not model.head._forward_hooks


def test_channels_first_features_are_turned() -> None:
    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1))
    x = torch.randn(3, 2, 9)
    (one,) = seen(model, [(x, torch.zeros(3))], "1", "3", layout="channels_first", keepdim=True)
    torch.testing.assert_close(one.features, model[0](x).transpose(1, 2).detach())


def test_a_changed_answer_is_noticed() -> None:
    model = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.Linear(4, 1), nn.Sigmoid())
    (one,) = seen(model, [(torch.randn(3, 5, 2), torch.zeros(3))], "1", "2")
    assert not one.direct


class Twice(Net):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + super().forward(x)


class WithOptions(Net):
    def __init__(self) -> None:
        super().__init__()
        self.pool = _Options()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pool(self.encoder(x), temperature=2.0))


class _Options(nn.Module):
    def forward(self, features: Tensor, temperature: float) -> Tensor:
        return features.mean(1)


X, Y = torch.zeros(2, 5, 2), torch.zeros(2, 3)


def test_models_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^pooling must name a layer that the model calls once, got 'pool': 2 calls"
    ):
        seen(Twice(), [(X, Y)])
    with pytest.raises(ValueError, match=r"takes features and maybe a mask, got 'pool'.* and temperature"):
        seen(WithOptions(), [(X, Y)])
    between = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.LayerNorm(4), nn.Linear(4, 1))
    with pytest.raises(ValueError, match=r"^head must read the pooled vector as it is"):
        seen(between, [(torch.randn(2, 5, 2), Y)], "1", "3")
    with pytest.raises(ValueError, match=r"takes 3-D features, got 'head', called with \(2, 4\)"):
        seen(Net(), [(X, Y)], "head", "head")
    with pytest.raises(
        ValueError, match=r"^layout and keepdim must fit the layer 'pool', which made \(2, 4\) of"
    ):
        seen(Net(), [(X, Y)], layout="channels_first")


def test_a_mask_that_does_not_reach_the_pooling_is_refused() -> None:
    class Deaf(Net):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            return super().forward(x)

    with pytest.raises(ValueError, match=r"^batches have a mask, but the model does not hand one to 'pool'"):
        seen(Deaf(), [(X, Y, torch.ones(2, 5, dtype=torch.bool))])


def test_batches_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^batches must hold \(inputs, targets\), .*, got no targets"):
        seen(Net(), [(X,)])
    with pytest.raises(ValueError, match=r"got no targets"):
        seen(Net(), [X])
    with pytest.raises(ValueError, match=r"^targets of batches must be a tensor or an array, got set"):
        seen(Net(), [(X, {1.0, 2.0})])
    assert seen(Net(), [(X, [1.0, 2.0])])[0].targets.tolist() == [1.0, 2.0]


def test_lengths_reach_a_model_that_takes_them() -> None:
    x, y, lengths = ragged()
    (one,) = seen(Unpacked(), [(x, y, lengths)], head="fc")
    assert one.mask is not None
    assert one.mask.sum(1).tolist() == lengths.tolist()


def test_lengths_are_read_along_the_axis_of_time() -> None:
    class First(Net):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Conv1d(9, 4, 1)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return self.head(self.pool(self.encoder(x).mT, mask))

    lengths = torch.tensor([3, 4])
    (one,) = seen(First(), [(torch.randn(2, 9, 5), Y, lengths)])
    assert one.mask.shape == (2, 5)
    assert one.mask.sum(1).tolist() == [3, 4]
