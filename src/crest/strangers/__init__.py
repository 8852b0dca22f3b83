"""Put a readout in the place of a model's pooling layer: which layers pool, how each is called, and the exchange itself."""

from crest.strangers.replacing import replace_pooling, slot_for
from crest.strangers.slot import Layout, PoolingSlot

__all__ = ["Layout", "PoolingSlot", "replace_pooling", "slot_for"]
