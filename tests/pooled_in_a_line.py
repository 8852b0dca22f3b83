"""Networks that pool in a line of their `forward`, as people write them; those with a mask or lengths pool valid steps alone."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

WIDTH = 6


class Strided(nn.Module):
    """A strided CNN with an activation as a function, and `f.mean(-1)`."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, WIDTH, 5, stride=2, padding=2)
        self.second, self.head = nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        f = nn.functional.relu(self.second(self.first(x).relu()))
        return self.head(f.mean(-1)).squeeze(1)


class Overwriting(Strided):
    """The same, with an activation that works in place: what the last convolution gave is gone when the head is called."""

    def forward(self, x: Tensor) -> Tensor:
        f = nn.functional.relu(self.second(self.first(x).relu()), inplace=True)
        return self.head(f.mean(-1)).squeeze(1)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.inner(x)).relu()


class Residual(nn.Module):
    """A residual CNN with `f.amax(-1)` and a normalisation in front of the head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.block = nn.Conv1d(1, WIDTH, 5), Block()
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.block(self.stem(x)).amax(-1)))


class State(nn.Module):
    """The last state of an LSTM, `h_n[-1]`."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        _, (h_n, _) = self.lstm(x.mT)
        return self.head(h_n[-1])


class LastStep(nn.Module):
    """A GRU, and `h[:, -1]`."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(1, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.gru(x.mT)
        return self.head(h[:, -1])


class Classified(nn.Module):
    """A Transformer over patches, with a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.token = nn.Conv1d(1, WIDTH, 5, stride=5), nn.Parameter(torch.randn(1, 1, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=True)
        self.encoder, self.head = (
            nn.TransformerEncoder(layer, 1, enable_nested_tensor=False),
            nn.Linear(WIDTH, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x).mT], 1)
        return self.head(self.encoder(steps)[:, 0])


class MaskedMean(nn.Module):
    """A strided CNN on signals (B, T, C), and a mean over as many steps as the lengths say."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Conv1d(2, WIDTH, 5, stride=2, padding=2), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        f = self.encoder(x.mT).relu()
        there = torch.arange(f.shape[2], device=x.device) < (lengths.unsqueeze(1) + 1) // 2
        return self.head((f * there.unsqueeze(1)).sum(2) / there.sum(1, keepdim=True)).squeeze(1)


class PackedState(nn.Module):
    """The last state of a packed GRU, of a batch padded to its longest trajectory."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(2, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return self.head(self.gru(packed)[1][-1]).squeeze(1)


class MaskedLast(nn.Module):
    """A GRU that is given a mask, and the last valid step."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(2, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        steps = self.gru(x)[0]
        last = (mask.sum(1) - 1 if mask is not None else torch.full((len(x),), x.shape[1] - 1)).long()
        return self.head(steps[torch.arange(len(x)), last]).squeeze(1)


PLAIN: dict[str, type[nn.Module]] = {
    "mean of a strided CNN": Strided,
    "activation in place": Overwriting,
    "maximum of a residual CNN": Residual,
    "state of an LSTM": State,
    "last step": LastStep,
    "class token": Classified,
}
"""They take (B, 1, T)."""
WITH_LENGTHS: dict[str, type[nn.Module]] = {
    "masked mean": MaskedMean, "packed state": PackedState, "masked last step": MaskedLast
}  # fmt: skip
"""They take (B, T, 2), and lengths or a mask."""


def made(kind: type[nn.Module]) -> nn.Module:
    """One of them, always with the same weights, in evaluation mode."""
    torch.manual_seed(1000)
    return kind().eval()
