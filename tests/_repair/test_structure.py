import pytest
import torch
from torch import nn

from crest._repair.structure import Structure
from crest.remedies import WithFront
from knocks_made import knocks, network


def test_a_build_is_applied_in_place_and_keeps_the_mode() -> None:
    model = network()
    built = Structure(front="high-pass", channels_first=True, pooling="2", budget=0.1).build(model)
    assert isinstance(built, WithFront)
    assert built.model is model
    assert model[2].readout.budget == 0.1
    assert built.front.kind == "slow"
    assert built.front.channels_first
    assert built.training
    assert not Structure(front="AC coupling").build(network().eval()).training
    assert Structure().build(model) is model


@pytest.mark.parametrize(
    "structure",
    [
        Structure(),
        Structure(front="high-pass", channels_first=True),
        Structure(pooling="a.b", layout="channels_first", keepdim=False, budget=0.1),
    ],
)
def test_a_build_is_read_as_it_was_written(structure: Structure) -> None:
    assert Structure.read(structure.written()) == structure


@pytest.mark.unchecked
@pytest.mark.slow
def test_repaired_builds_export() -> None:
    x, _ = knocks(6, tie=0.5, seed=1000)
    filtered = Structure(front="AC coupling", channels_first=True).build(network().eval())
    any_size = {0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC}
    program = torch.export.export(filtered, (x,), dynamic_shapes=[any_size])
    shorter = x[:4, :, :120]
    torch.testing.assert_close(program.module()(shorter), filtered(shorter), rtol=1e-4, atol=1e-5)
    # For any batch and length too, which tests/readouts/test_tracing.py shows.
    both = Structure(front="AC coupling", channels_first=True, pooling="2", budget=0.1).build(
        network().eval()
    )
    torch.testing.assert_close(torch.export.export(both, (x,)).module()(x), both(x), rtol=1e-4, atol=1e-5)


def test_a_front_of_ones_own_is_found_by_its_name() -> None:
    own, structure = nn.AvgPool1d(3, 1, 1), Structure(front="loudness", channels_first=True)
    assert structure.build(network(), {"loudness": own}).front is own
    with pytest.raises(
        ValueError, match=r"^fronts must have 'loudness', the layer of your own .* got smooth$"
    ):
        structure.build(network(), {"smooth": own})
