import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_scored_attention_scores_with_its_layers() -> None:
    scored = make_readout("scored_attention", 2, hidden=3)
    weights = torch.softmax(scored.scorer(FEATURES[0]).squeeze(-1), 0)
    torch.testing.assert_close(scored.step_weights(FEATURES)[0], weights)
