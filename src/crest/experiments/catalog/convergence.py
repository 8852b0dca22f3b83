"""Are the schedules long enough? Errors over training, on a development seed."""

from crest.experiments.experiment import Experiment, grid

CONVERGENCE = Experiment(
    name="convergence",
    evidence="docs/choices.md, schedules",
    summary="Has every readout converged by the end of its encoder's schedule?",
    runs=grid(
        seed=1000,
        system=["gear", "impact"],
        encoder=["pointwise", "local", "gru", "attention"],
        readout=["mean", "attention", "scored_attention", "crest"],
        observe_every=4,
    ),
)
