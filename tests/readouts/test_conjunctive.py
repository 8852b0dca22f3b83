import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_conjunctive_is_the_mean_of_attention_weighted_instance_predictions() -> None:
    readout = make_readout("conjunctive", 2)
    head = torch.nn.Linear(2, 1, bias=False)
    attention = readout.attention(FEATURES[0])
    torch.testing.assert_close(head(readout(FEATURES))[0], (attention * head(FEATURES[0])).mean(0))
