import torch

from crest.readouts import make_readout

FEATURES = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [2.0, 7.0], [0.0, 1.0]]])


def test_gated_attention_scores_with_its_layers() -> None:
    gated = make_readout("gated_attention", 2, hidden=3)
    hidden = torch.tanh(gated.content(FEATURES[0])) * torch.sigmoid(gated.gate(FEATURES[0]))
    torch.testing.assert_close(
        gated.step_weights(FEATURES)[0], torch.softmax(gated.score(hidden).squeeze(-1), 0)
    )
