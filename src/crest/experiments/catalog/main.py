"""Table 1: CREST against both forms of attention on the two simulators."""

from crest.experiments.experiment import Experiment, grid

MAIN = Experiment(
    name="main",
    evidence="Table 1",
    summary="Does CREST lower the OOD error and restore event credit against converged attention?",
    runs=grid(
        seed=range(10),
        system=["gear", "impact"],
        readout=["attention", "scored_attention", "crest"],
    ),
)
