"""Watch a model while it trains: what its answer follows, epoch by epoch, for any loop and any logger.

`crest.watching.callback.LightningWatch` needs lightning and is therefore not imported here.
"""

from crest.watching.row import WatchedEpoch
from crest.watching.watch import Watch

__all__ = ["Watch", "WatchedEpoch"]
