"""Audit: does a trained model read the events or the background, how sure is that, and what to do about it.

`Watch` asks the same of a model while it trains. `crest._audit.callback.LightningWatch` needs lightning and is
therefore not imported here.
"""

from crest._audit.audit import audit
from crest._audit.result import Audit
from crest._audit.watch import Watch
from crest._audit.watch_row import WatchedEpoch
from crest.exchange.result import AuditVerdict

__all__ = ["Audit", "AuditVerdict", "Watch", "WatchedEpoch", "audit"]
