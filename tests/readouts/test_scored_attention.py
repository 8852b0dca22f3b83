import torch

from crest.readouts import make_readout

FEATURES = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [2.0, 7.0], [0.0, 1.0]]])


def test_scored_attention_scores_with_its_layers() -> None:
    scored = make_readout("scored_attention", 2, hidden=3)
    weights = torch.softmax(scored.scorer(FEATURES[0]).squeeze(-1), 0)
    torch.testing.assert_close(scored.step_weights(FEATURES)[0], weights)
