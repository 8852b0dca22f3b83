"""The user's own model and batches: what they are, where features, pooling and head are, and how a readout gets there.

`batch` and `batch_forms` read batches as people have them, `model` calls a model in one way, `interface` and `pooling` find where it
pools, `replacing` and `implant` put a readout there, and `capture` shows what goes in.
"""

from crest.strangers.replacing import replace_pooling, slot_for
from crest.strangers.slot import Layout, PoolingSlot

__all__ = ["Layout", "PoolingSlot", "replace_pooling", "slot_for"]
