"""What public recordings tell without a network: experts' features, and each nuisance alone."""

import statistics

from crest.lab.evidence.expert_features import EXPERT_FEATURES, NUISANCES_ALONE, read_by_forest
from crest.lab.evidence.field_runs import FIELD_SYSTEMS, MAIN_ENCODER, field_spec
from crest.lab.evidence.settings import FIVE
from crest.lab.runs.study import Study
from crest.lab.systems import make_system


def field_readers(*, systems: list[str], seeds: list[int]) -> list[dict[str, str | float]]:
    """Errors of a forest on each set of numbers, means over seeds, for each system."""
    told: list[dict[str, str | float]] = []
    for system in systems:
        readers = {
            **EXPERT_FEATURES[system],
            **{f"{name} alone": one for name, one in NUISANCES_ALONE.items()},
        }
        found = {name: [] for name in readers}  # type: dict[str, list[tuple[float, float]]]
        for seed in seeds:
            splits = make_system(system).splits(seed, field_spec(system, MAIN_ENCODER[system], seed).sizes)
            for name, features in readers.items():
                found[name].append(read_by_forest(splits, features, seed))
        told += [
            {
                "system": system,
                "reader": name,
                "id": statistics.fmean(one[0] for one in errors),
                "ood": statistics.fmean(one[1] for one in errors),
            }
            for name, errors in found.items()
        ]
    return told


FIELD_READERS = Study(
    name="field_readers",
    compute=field_readers,
    parameters={"systems": list(FIELD_SYSTEMS), "seeds": list(FIVE)},
)
