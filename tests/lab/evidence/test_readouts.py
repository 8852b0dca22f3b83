from crest.lab.evidence.names import named
from crest.lab.evidence.readouts import READOUTS_EXPERIMENT
from evidence_made import Numbers, duel, shown


def test_every_readout_is_compared_with_crest_on_the_same_seeds() -> None:
    rule = duel(crest=Numbers(ood=0.3))
    table = shown(
        READOUTS_EXPERIMENT, rule, without=lambda spec: spec.readout == "max" and spec.seed == 2
    ).tables[0]
    rows = {row[1]: row for row in table.rows if row[0] == "SG-Drive"}
    place = table.header.index("CREST against it")
    assert [rows[named(name)][place] for name in ("attention", "scored_attention", "mean")] == [
        "−50 %",
        "−25 %",
        "+0 %",
    ]
    assert (rows["max"][place], rows["CREST"][place]) == ("", "")
    assert rows["max"][-1] == "4/5"
