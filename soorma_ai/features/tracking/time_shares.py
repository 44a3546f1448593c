"""Shares of a plan's time: waiting for people is counted apart from the time of models and agents."""

from collections.abc import Collection
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, ExpectationKind
from soorma_ai.kernel.domain.plans import PlanDetails
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.rules.plans.waiting import Span, join_spans, length_of


class Shares(Record, frozen=True):
    """Shares that add up to `total`. A moment of several is counted as people's, else the model's, else the agents'."""

    total: timedelta
    people: timedelta
    model: timedelta
    agents: timedelta
    between: timedelta


def shares_of(plans: Collection[PlanDetails], begin: datetime, end: datetime) -> Shares:
    """Return the shares of the time of a plan. `plans` are this one and all that it led to."""
    expectations = [expectation for plan in plans for expectation in plan.expectations]
    people = [(e.opened_at, e.closed_at or end) for e in expectations if e.kind in FOR_PEOPLE]
    agents = [(e.opened_at, e.closed_at or end) for e in expectations if e.kind is ExpectationKind.REPLY]
    model = [(entry.at - entry.latency, entry.at) for plan in plans for entry in plan.decisions]
    covered: list[Span] = []
    lengths: list[timedelta] = []
    for spans in (people, model, agents):
        before = length_of(covered)
        clipped = ((max(first, begin), min(last, end)) for first, last in spans)
        covered = join_spans([*covered, *((first, last) for first, last in clipped if first < last)])
        lengths.append(length_of(covered) - before)
    total = end - begin
    return Shares(total, *lengths, between=total - length_of(covered))
