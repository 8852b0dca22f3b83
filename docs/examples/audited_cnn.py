"""The model of docs/user/audit.md, as anybody might write it: python docs/examples/audited_cnn.py FOLDER.

A strided CNN with average pooling, trained on the recordings of docs/examples/make_recordings.py at low speed. Writes its
weights to FOLDER/model.safetensors, and the rows of the table that it was trained on to FOLDER/slow.csv.
"""

import sys
from pathlib import Path

import safetensors.torch
import torch
from torch import nn

from crest.recordings import load_recordings

WINDOW = 500
EPOCHS = 80


def make() -> nn.Module:
    """The untrained network, from windows (B, 1, 500) to (B, 1)."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(1, 16, 9, stride=2, padding=4),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Conv1d(16, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(16, 1),
    )


def main(folder: Path) -> None:
    """Train on the windows at low speed."""
    data = load_recordings(
        folder / "table.csv",
        folder / "signals",
        window=WINDOW,
        hop=125,
        sample_rate=1000,
        channels=["vibration"],
        label="severity",
        condition="speed",
    )
    slow = data.extra["condition"] == "slow"
    x, y = torch.from_numpy(data.x[slow]).mT.contiguous(), torch.from_numpy(data.y[slow]).float()
    model = make()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        optimiser.zero_grad()
        error = (model(x).squeeze(1) - y).square().mean()
        error.backward()
        optimiser.step()
    print(f"trained on {len(x)} windows, RMSE {error.item() ** 0.5:.3f} of labels that vary by {y.std():.3f}")
    safetensors.torch.save_file(model.state_dict(), folder / "model.safetensors")
    lines = (folder / "table.csv").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("fast")]
    (folder / "slow.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
