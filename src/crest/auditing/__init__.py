"""Audit: does a trained model read the events or the background, how sure is that, and what to do about it."""

from crest.auditing.audit import audit
from crest.auditing.result import Audit
from crest.auditing.verdict import AuditVerdict

__all__ = ["Audit", "AuditVerdict", "audit"]
