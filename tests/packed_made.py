"""Trajectories of different lengths, and recurrent networks that pack them, as people write them."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import crest

STEPS = 60


def ragged(count: int = 24, seed: int = 1000) -> tuple[Tensor, Tensor, Tensor]:
    """Signals (N, T, 2) with a knock, targets (N,) and lengths (N,), of which none is T in the first half."""
    numbers = torch.Generator().manual_seed(seed)
    level, target = torch.randn(2, count, generator=numbers)
    lengths = torch.randint(20, STEPS - 5, (count,), generator=numbers)
    lengths[-1] = STEPS
    x = level[:, None, None] + 0.1 * torch.randn(count, STEPS, 2, generator=numbers)
    starts = (torch.rand(count, generator=numbers) * (lengths - 8)).long()[:, None]
    inside = (torch.arange(STEPS) >= starts) & (torch.arange(STEPS) < starts + 6)
    x += (inside * target[:, None]).unsqueeze(2)
    x[torch.arange(STEPS) >= lengths[:, None]] = 0.0
    return x, target, lengths


class Packed(nn.Module):
    """Its head reads the last state; nothing is unpacked."""

    def __init__(
        self, layers: int = 1, enforce_sorted: bool = False, cell: type[nn.RNNBase] = nn.LSTM
    ) -> None:
        super().__init__()
        torch.manual_seed(1000)
        self.rnn, self.fc = cell(2, 6, layers, batch_first=True), nn.Linear(6, 1)
        self.enforce_sorted = enforce_sorted

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=self.enforce_sorted)
        _, state = self.rnn(packed)
        return self.fc(state[0][-1] if isinstance(state, tuple) else state[-1]).squeeze(1)


class Unpacked(nn.Module):
    """Features behind the unpacking end with the longest trajectory of a batch; a layer pools them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1000)
        self.rnn, self.norm = nn.GRU(2, 6, 2, batch_first=True), nn.LayerNorm(6)
        self.pool, self.fc = crest.MeanReadout(), nn.Linear(6, 1)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        steps = self.norm(pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0])
        return self.fc(self.pool(steps, torch.arange(steps.shape[1]) < lengths[:, None])).squeeze(1)


class Masked(nn.Module):
    """The same with a mask, which it turns into lengths by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Unpacked()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.inner(x, mask.sum(1))
