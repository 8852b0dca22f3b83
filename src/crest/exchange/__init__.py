"""The exchange test: what a prediction follows when parts of the signals are swapped, and the rule that chooses by it."""

from crest.exchange.candidates import Candidate, Choice
from crest.exchange.conditions import leave_one_condition_out
from crest.exchange.measurement import exchange_test
from crest.exchange.result import Exchange
from crest.exchange.rule import choose
from crest.exchange.settings import ExchangeSettings

__all__ = [
    "Candidate",
    "Choice",
    "Exchange",
    "ExchangeSettings",
    "choose",
    "exchange_test",
    "leave_one_condition_out",
]
