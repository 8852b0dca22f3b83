import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_gated_attention_scores_with_its_layers() -> None:
    gated = make_readout("gated_attention", 2, hidden=3)
    hidden = torch.tanh(gated.content(FEATURES[0])) * torch.sigmoid(gated.gate(FEATURES[0]))
    torch.testing.assert_close(
        gated.step_weights(FEATURES)[0], torch.softmax(gated.score(hidden).squeeze(-1), 0)
    )
