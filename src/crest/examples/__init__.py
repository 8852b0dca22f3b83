"""Made recordings and a small network, to try every tool before your own data are at hand; torch and NumPy only.

On the test bench a cue goes with the label. In the plant it does not, so a model that follows the cue fails there:

    train, bench, plant = crest.examples.machines()
    model = crest.examples.network()
    crest.examples.fit_network(model, train.batches())
    print(crest.audit(model, bench.batches()))
"""

from crest.examples.machines import MACHINE_CUES, MachineParts, MachineRecordings, machines
from crest.examples.training import fit_network, network

__all__ = ["MACHINE_CUES", "MachineParts", "MachineRecordings", "fit_network", "machines", "network"]
