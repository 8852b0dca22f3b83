"""Figure 5b: selecting transient steps against selecting stable ones."""

from crest.lab.evidence.compare import by_seed, mean_error, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import by_readout, shown_by_system
from crest.lab.evidence.names import named
from crest.lab.evidence.readouts import READOUTS_EXPERIMENT
from crest.lab.evidence.settings import FIVE, FORMS, HEADLINE_SYSTEMS, OTHER_READOUTS
from crest.lab.evidence.shown import Claim
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

_OPTIONS = {"direction": "stable"}
_STABLE = "CREST, stable"


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    """Records of every readout of the study; the stable selection last."""
    groups = by_readout(found, (*OTHER_READOUTS, *FORMS), system=system, readout_options={})
    return groups | {_STABLE: found.of(system=system, readout="crest", readout_options=_OPTIONS)}


def _claim(found: Found, system: str) -> Claim:
    text = f"Selecting stable steps is the worst configuration of the study on {named(system)}"
    claim = Claim(text=text, paper="worst")
    if not found.complete(system=system):
        return claim
    groups = _groups(found, system)
    errors = {name: mean_error(records) for name, records in groups.items()}
    order = sorted(errors, key=errors.__getitem__, reverse=True)
    place = order.index(_STABLE) + 1
    result = paired(by_seed(groups["crest"]), by_seed(groups[_STABLE]))
    return claim.judged(
        f"place {place} from the worst of {len(order)}: {errors[_STABLE]:.3f}, worst {named(order[0])} "
        f"{errors[order[0]]:.3f}; transient steps {percent(result.change, 1)} against stable ones",
        holds=place == 1,
        partly=place == 2 and result.lower == result.seeds,
        bar="the highest OOD error of all readouts; in part, the second highest",
        test=result,
        brief=f"place {place} from the worst of {len(order)}",
    )


DIRECTION_EXPERIMENT = Experiment(
    name="direction",
    evidence="Figure 5b",
    summary="Is it the transient steps that matter, or would stable ones do?",
    show=shown_by_system(
        "direction",
        groups=_groups,
        header=("system", "readout", "ID", "OOD", "CiE@1", "seeds"),
        caption="CREST, stable selects the steps of the smallest residual instead of the largest.",
        chart_caption="Errors of every readout of the study.",
        claim=_claim,
    ),
    runs=(
        *READOUTS_EXPERIMENT.runs,
        *grid([{"readout_options": _OPTIONS}], seed=FIVE, system=HEADLINE_SYSTEMS, readout="crest"),
    ),
)
