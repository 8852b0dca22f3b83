"""What the recurrent encoder computes; what every encoder must obey is in tests/contracts."""

import torch

from crest.lab.encoders import GruEncoder


def test_the_features_are_the_states_of_its_layer_from_zero() -> None:
    encoder = GruEncoder(2, 4)
    x = torch.randn(3, 7, 2)
    state = torch.zeros(3, 4)
    cell = torch.nn.GRUCell(2, 4)
    for name, value in encoder.layer.state_dict().items():
        cell.get_parameter(name.removesuffix("_l0")).data.copy_(value)
    with torch.no_grad():
        for step in range(7):
            state = cell(x[:, step], state)
            torch.testing.assert_close(encoder(x)[:, step], state)
