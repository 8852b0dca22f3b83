"""A network that nobody here designed: channels first, a mask of padding, a stride, two outputs."""

import torch
from torch import Tensor, nn


class Stranger(nn.Module):
    """Signals (B, C, T) and padding (B, T), True where a step is to be ignored -> answers (B, 1), weights (B, T').

    Batch normalisation and dropout make its answers in training mode those of the batch and of chance.
    """

    def __init__(self, channels: int = 2, width: int = 6, stride: int = 1) -> None:
        super().__init__()
        self.stride = stride
        self.convolution = nn.Conv1d(channels, width, kernel_size=5, stride=stride, padding=2)
        self.norm = nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(0.5)
        self.query = nn.Parameter(torch.randn(width))
        self.head = nn.Linear(width, 1)

    def hidden(self, signals: Tensor) -> Tensor:
        """Step features, channels first (B, D, T')."""
        return self.dropout(self.norm(self.convolution(signals)).relu())

    def pool(self, hidden: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pooled vector (B, D) and attention weights (B, T')."""
        scores = torch.einsum("bdt,d->bt", hidden, self.query)
        if padding is not None:
            scores = scores.masked_fill(padding[:, :: self.stride], -1e9)
        weights = scores.softmax(1)
        return torch.einsum("bdt,bt->bd", hidden, weights), weights

    def forward(self, signals: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        pooled, weights = self.pool(self.hidden(signals), padding)
        return self.head(pooled), weights

    def interface(self, inputs: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Features (B, T', D) and pooled vector (B, D) for inputs (B, T, C): what a user writes to ask a probe."""
        hidden = self.hidden(inputs.transpose(1, 2))
        return hidden.transpose(1, 2), self.pool(hidden, padding)[0]

    def answers(self, inputs: Tensor, padding: Tensor | None = None) -> Tensor:
        """Predictions (B, 1) for inputs (B, T, C)."""
        answer: Tensor = self(inputs.transpose(1, 2), padding)[0]
        return answer
