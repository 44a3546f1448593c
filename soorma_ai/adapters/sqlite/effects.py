"""The one transaction of a handling."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from soorma_ai.adapters.sqlite import budget, expectations, inbox, log, plans, registry, timers
from soorma_ai.domain.effects import AppendStep, Close, Effect, Expect, Publish, SavePlan, Schedule, Spend, Unschedule
from soorma_ai.domain.waits import ExpectationKind
from soorma_ai.ports import Work


def commit(db: sqlite3.Connection, work: Work, now: datetime) -> None:
    inbox.dispose(db, work.delivery, work.disposition, now)
    apply(db, work.effects, now)


def apply(db: sqlite3.Connection, effects: Sequence[Effect], now: datetime) -> None:
    for effect in effects:
        _apply(db, effect, now)


def _apply(db: sqlite3.Connection, effect: Effect, now: datetime) -> None:
    match effect:
        case Publish(event):
            log.publish(db, event)
        case SavePlan(plan, expected_version):
            plans.save(db, plan, expected_version)
        case AppendStep(step):
            plans.append(db, step)
        case Expect(expectation) if expectation.kind is ExpectationKind.OFFER:
            registry.park(db, expectation, now)
        case Expect(expectation):
            expectations.expect(db, expectation, now)
        case Close(expectation_id, status, at):
            expectations.close(db, expectation_id, status, at)
        case Spend(root_plan_id, actions, at_most):
            budget.spend_actions(db, root_plan_id, actions, at_most)
        case Schedule():
            timers.schedule(db, effect)
        case Unschedule(timer_id):
            timers.unschedule(db, timer_id)
        case _:
            assert_never(effect)
