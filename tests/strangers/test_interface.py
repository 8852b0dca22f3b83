"""Features and pooled vector of models as people write them."""

import pytest
import torch
from torch import Tensor, nn

from crest.strangers.batch import Batch
from crest.strangers.interface import InterfaceError, captured_interface, find_interface, watched
from crest.strangers.lengths import mask_from
from crest.strangers.model import StrangerModel
from packed_made import Masked, Packed, Unpacked

STEPS = 40


class Recurrent(nn.Module):
    def __init__(self, batch_first: bool = True) -> None:
        super().__init__()
        self.batch_first = batch_first
        self.lstm, self.fc = nn.LSTM(2, 6, batch_first=batch_first), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        steps, _ = self.lstm(x if self.batch_first else x.transpose(0, 1))
        return self.fc(steps[:, -1] if self.batch_first else steps[-1])


class Classified(nn.Module):
    """A Transformer with a class token and a head of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.token = nn.Linear(2, 8), nn.Parameter(torch.zeros(1, 1, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x)], 1)
        return self.head(self.encoder(steps)[:, 0])


class Squeezed(nn.Module):
    """A convolution with a gate of its own, whose linear layers read a pooled vector too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate = nn.Conv1d(2, 8, 5, stride=2, padding=2), nn.Linear(8, 8)
        self.second, self.fc = nn.Conv1d(8, 8, 3, padding=1), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        steps = self.first(x)
        steps = self.second(steps * self.gate(steps.mean(2)).sigmoid().unsqueeze(2))
        return self.fc(steps.amax(2))


class Attending(nn.Module):
    """Attention whose weights are the last output with a time axis."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.score, self.fc = nn.Conv1d(2, 8, 3), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        steps = self.encoder(x).mT
        return self.fc((self.score(steps).softmax(1) * steps).sum(1))


class Patches(nn.Module):
    """A class token over patches, with a norm between it and the head."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.embed, self.token = nn.Conv1d(2, 8, stride, stride=stride), nn.Parameter(torch.randn(1, 1, 8))
        self.encoder, self.norm, self.fc = nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x.mT).mT], 1)
        return self.fc(self.norm(self.encoder(steps)[:, 0]))


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.fc = nn.Conv1d(2, 8, 3), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(nn.functional.relu(self.c(x)).mean(2))


FIRST, LAST = torch.randn(3, 2, STEPS), torch.randn(3, STEPS, 2)


@pytest.mark.parametrize(
    ("model", "inputs", "wanted"),
    [
        (Recurrent(), LAST, ("lstm", "fc", (0, 1, 2), 40)),
        (Recurrent(batch_first=False), LAST, ("lstm", "fc", (1, 0, 2), 40)),
        (Classified(), LAST, ("encoder", "head.0", (0, 1, 2), 41)),
        (Squeezed(), FIRST, ("second", "fc", (0, 2, 1), 20)),
        (Attending(), FIRST, ("encoder", "fc", (0, 2, 1), 38)),
        (Patches(1), LAST, ("encoder", "norm", (0, 1, 2), 41)),
        (Patches(4), LAST, ("encoder", "norm", (0, 1, 2), 11)),
    ],
    ids=["lstm", "time first", "class token", "squeeze", "attention", "norm", "patches"],
)
def test_it_is_found(model: nn.Module, inputs: Tensor, wanted: tuple[object, ...]) -> None:
    found = find_interface(StrangerModel(model, channels_first=inputs is FIRST), Batch(inputs))
    assert (found.features, found.head, found.axes, found.steps) == wanted
    assert found.features in str(found)


def test_what_is_captured_is_what_the_head_reads() -> None:
    model = Squeezed()
    found = find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))
    stranger = StrangerModel(model)
    with stranger.quiet(), captured_interface(stranger, found) as last:
        answer = model(FIRST)
        features, pooled = last()
    assert features.shape == (3, 20, 8)
    assert torch.equal(features.amax(1), pooled)
    assert torch.equal(model.fc(pooled), answer)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_where_steps_and_channels_are_equally_many_the_inputs_decide() -> None:
    block = nn.Sequential(nn.Conv1d(2, 20, 5, stride=2, padding=2), nn.ReLU())
    model = nn.Sequential(block, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(20, 1))
    found = find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))
    assert (found.features, found.axes) == ("0", (0, 2, 1))


def test_an_activation_without_a_module_belongs_to_the_features() -> None:
    model = Functional()
    found = find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))
    assert (found.features, found.activation) == ("c", "relu")
    assert "behind relu" in str(found)
    stranger = StrangerModel(model)
    with stranger.quiet(), captured_interface(stranger, found) as last:
        model(FIRST)
        features, pooled = last()
    assert torch.allclose(found.active(features).mean(1), pooled, atol=1e-6)


@pytest.mark.parametrize("activation", [nn.Identity(), nn.ReLU()])
def test_an_even_kernel_makes_no_class_token(activation: nn.Module) -> None:
    model = nn.Sequential(
        nn.Conv1d(2, 8, 4, padding=2), activation, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1)
    )
    found = find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))
    assert (found.steps, found.token) == (STEPS + 1, False)
    assert find_interface(StrangerModel(Classified()), Batch(LAST)).token


def test_names_decide_where_they_are_given() -> None:
    model = Squeezed()
    found = find_interface(
        StrangerModel(model, channels_first=True), Batch(FIRST), features="first", head="gate"
    )
    assert (found.features, found.head) == ("first", "gate")


def test_where_nothing_is_found_the_way_out_is_told() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(2 * STEPS, 1))
    with pytest.raises(InterfaceError, match=r"features must name a module .* 3-D outputs are those of none"):
        find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))
    model = nn.Sequential(nn.Conv1d(2, 1, 3), nn.AdaptiveAvgPool1d(1))
    with pytest.raises(InterfaceError, match=r"head must name .* no linear layer"):
        find_interface(StrangerModel(model, channels_first=True), Batch(FIRST))


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (Packed(), ("rnn", "fc")),
        (Packed(2, cell=nn.GRU), ("rnn", "fc")),
        (Unpacked(), ("norm", "fc")),
        (Masked(), ("inner.norm", "inner.fc")),
    ],
    ids=["lstm", "gru of two layers", "unpacked", "mask"],
)
def test_packed_sequences_show_their_features(model: nn.Module, wanted: tuple[str, str]) -> None:
    lengths = torch.tensor([20, STEPS, 7])
    mask = mask_from(lengths, LAST)
    found = find_interface(StrangerModel(model), Batch(LAST, None, mask))
    assert (found.features, found.head) == wanted
    assert (found.axes, found.steps) == ((0, 1, 2), STEPS)
    stranger = StrangerModel(model)
    with stranger.quiet(), captured_interface(stranger, found) as last:
        stranger(LAST, mask)
        features, pooled = last()
    if wanted[0] == "rnn":
        assert torch.equal(features[torch.arange(3), lengths - 1], pooled)


class MaskedTransformer(nn.Module):
    """A class token, and a mask of padding for torch's encoder, which works on nested tensors then."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.token = nn.Linear(2, 8), nn.Parameter(torch.randn(1, 1, 8))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        self.fc = nn.Linear(8, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        steps = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x)], 1)
        padding = torch.cat([torch.zeros(len(x), 1, dtype=torch.bool), ~mask], 1)
        return self.fc(self.encoder(steps, src_key_padding_mask=padding)[:, 0])


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_transformer_with_padding_is_looked_into() -> None:
    model = MaskedTransformer()
    mask = mask_from(torch.tensor([20, STEPS, 7]), LAST)
    found = find_interface(StrangerModel(model), Batch(LAST, None, mask))
    assert (found.features, found.head, found.steps) == ("encoder", "fc", STEPS + 1)


def test_what_is_wrong_with_a_named_module_is_said() -> None:
    model = Recurrent()
    model.unused = nn.Linear(6, 6)
    for name, why in (
        ("fc", "whose output has no time axis"),
        ("unused", "which the model does not call"),
    ):
        with pytest.raises(InterfaceError, match=f"got '{name}', {why}"):
            find_interface(StrangerModel(model), Batch(LAST), features=name)
    narrow = Classified()
    narrow.embed, narrow.token = nn.Linear(2, 6), nn.Parameter(torch.zeros(1, 1, 6))
    narrow.encoder = nn.Linear(6, 8)
    with pytest.raises(InterfaceError, match=r"got 'embed', which gives \(2, 40, 6\)"):
        find_interface(StrangerModel(narrow), Batch(LAST), features="embed")


def test_what_a_module_was_given_is_a_copy() -> None:
    """The next line may write over it."""

    class Clears(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(1, 2), nn.Linear(2, 1)

        def forward(self, x: Tensor) -> Tensor:
            hidden = self.first(x)
            answer: Tensor = self.second(hidden)
            hidden.zero_()
            return answer

    model = Clears()
    with torch.no_grad(), watched(model) as calls:
        model(torch.ones(1, 3, 1))
    given = calls[1].inputs
    assert given is not None
    assert given.abs().sum() > 0
