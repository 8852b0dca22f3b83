from crest.lab.encoders import ENCODERS
from crest.lab.evidence.names import ENCODER_NAMES, READOUT_NAMES, SYSTEM_NAMES, named
from crest.lab.systems import RECORDED, SYSTEMS
from crest.readouts import READOUTS, REFERENCES


def test_every_system_has_a_name_and_only_keys_have_one() -> None:
    assert set(SYSTEM_NAMES) == {*SYSTEMS, *RECORDED}
    assert set(ENCODER_NAMES) == set(ENCODERS)
    assert set(READOUT_NAMES) <= {*READOUTS, *REFERENCES}


def test_names_tell_readouts_and_systems_apart() -> None:
    names = [named(key) for key in (*READOUTS, *REFERENCES, *SYSTEMS)]
    assert len(set(names)) == len(names)
    assert named("gear") == "SG-Drive"
    assert named("scored_attention") == "attention (MLP)"
    assert named("anything else") == "anything else"
