import pytest

from crest.lab.runs.grid import grid


def test_a_grid_is_every_combination_with_the_last_axis_fastest() -> None:
    runs = grid(
        [{"readout": "mean"}, {"readout": "crest", "readout_options": {"budget": 0.1}}],
        system=["gear", "impact"],
        seed=range(1000, 1003),
        observe_every=2,
    )
    assert [(spec.readout, spec.system, spec.seed) for spec in runs] == [
        (readout, system, seed)
        for readout in ("mean", "crest")
        for system in ("gear", "impact")
        for seed in (1000, 1001, 1002)
    ]
    assert all(spec.observe_every == 2 for spec in runs)
    assert runs[-1].readout_options == {"budget": 0.1}
    assert runs[0].readout_options == {}


def test_variants_multiply_with_each_other() -> None:
    runs = grid(
        [{"readout": "mean"}, {"readout": "max"}],
        [{"encoder": "gru"}, {"encoder": "local"}],
        system="gear",
        seed=1000,
    )
    assert [(spec.readout, spec.encoder) for spec in runs] == [
        ("mean", "gru"), ("mean", "local"), ("max", "gru"), ("max", "local"),
    ]  # fmt: skip


def test_a_field_whose_value_is_a_tuple_goes_into_a_variant() -> None:
    """An axis would take the tuple apart."""
    (spec,) = grid([{"measures": ("deletion", "traces")}], readout="mean", system="gear", seed=1000)
    assert spec.measures == ("deletion", "traces")


def test_an_empty_axis_is_an_empty_grid() -> None:
    assert grid(readout="mean", system="gear", seed=[]) == ()


def test_a_grid_refuses_what_a_spec_refuses() -> None:
    with pytest.raises(ValueError, match=r"readout must be one of mean, .*, got 'men'"):
        grid(readout=["men"], system="gear", seed=1000)
