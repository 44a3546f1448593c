"""The one transaction of a handling."""

from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from soorma_ai.errors import LocalProtocolError, VersionConflict
from soorma_ai.kernel.domain import effects as asked
from soorma_ai.kernel.domain.effects import Hold, RetryAfter
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.kernel.domain.plan_state import HandlingEnd
from soorma_ai.kernel.ports import Settlement, Work
from soorma_ai.kernel.sql import apply as consequences
from soorma_ai.kernel.sql import registration
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.tables import batch, budget, expectations, inbox, memory, plans, steps, tasks, timers
from soorma_ai.kernel.sql.tables import events as log

# Effects on rows that commits of other trees and requests may change as well.
_BeyondATree = (
    asked.Postpone
    | StoreMemory
    | DropMemory
    | IncrementMemory
    | AppendMemory
    | OpenSession
    | asked.FeatureEffect
    | asked.Declare
)


def commit(db: Connection, work: Work, now: datetime) -> None:
    handled = [delivery.event for delivery in (work.delivery, *work.following)]
    has_following = inbox.dispose(db, work.delivery, work.disposition, now, work.outcome)
    owner = work.delivery.owner
    # An event in a line of its own is no plan's.
    if owner != work.delivery.event.id and not isinstance(work.disposition, RetryAfter | Hold):
        db.note(owner, HandlingEnd(tuple([event.id for event in handled])))
    batch.end(db, work.following, now)
    batch.note_in_hand(db, work.in_vain)
    for settlement in work.bill:
        budget.write_down(db, settlement)
    apply(db, work.effects, now, handled, work.bill)
    if has_following():
        inbox.move_up(db, work.delivery, work.disposition, now)


def send(
    db: Connection, events: Sequence[EventEnvelope], expect: Expectation | None, session: OpenSession | None
) -> None:
    if session is not None:
        db.must_be_alone()
        memory.open_session(db, session)
    new = {event.id for event in events if log.publish(db, event)}
    if expect is None:
        return
    if expect.id not in new and any(event.id == expect.id for event in events):
        if expectations.status_of(db, expect.id) is not None:
            return
        raise LocalProtocolError(
            f"{expect.subject!r} was sent under this key before, and nothing expects its reply any more: it was "
            "published without one, or its reply is no longer kept; give the request a key of its own"
        )
    expectations.open_first(db, expect)


def send_once(db: Connection, effects: Sequence[asked.Effect], now: datetime) -> bool:
    opened = next(effect.expectation for effect in effects if isinstance(effect, asked.Expect))
    if expectations.status_of(db, opened.id) is not None:
        return False
    apply(db, effects, now)
    return True


class _Batches:
    """Rows of a transaction for one statement of each kind, at the first effect of the kind."""

    def __init__(
        self, changes: Sequence[asked.Effect], handled: Sequence[EventEnvelope], bill: Sequence[Settlement]
    ) -> None:
        self._steps, self._spends, self._bill = list[Step](), list[asked.Spend](), bill
        self._at_hand = {event.id: event for event in handled}
        for effect in changes:
            match effect:
                case asked.AppendStep(step):
                    self._steps.append(step)
                case asked.Spend():
                    self._spends.append(effect)
                case asked.Publish(event):
                    self._at_hand[event.id] = event
                case _:
                    pass

    @property
    def spends_actions(self) -> bool:
        return bool(self._spends)

    def append_steps(self, db: Connection) -> None:
        appended, self._steps = self._steps, []
        steps.append(db, appended, self._at_hand)

    def charge(self, db: Connection) -> None:
        bill, spends, self._bill, self._spends = self._bill, self._spends, (), []
        budget.charge(db, bill, spends)


def apply(
    db: Connection,
    changes: Sequence[asked.Effect],
    now: datetime,
    handled: Sequence[EventEnvelope] = (),
    bill: Sequence[Settlement] = (),
) -> None:
    """Apply effects in order; `handled` are the events that they are about, `bill` is settled with them."""
    batches = _Batches(changes, handled, bill)
    if not batches.spends_actions:
        batches.charge(db)
    for effect in changes:
        _apply(db, effect, now, batches)


def _apply(db: Connection, effect: asked.Effect, now: datetime, batches: _Batches) -> None:
    match effect:
        case asked.Publish(event):
            log.publish(db, event)
        case asked.SavePlan(plan, expected_version):
            consequences.save(db, plan, expected_version)
        case asked.AppendStep():
            batches.append_steps(db)
        case asked.Expect(expectation):
            consequences.expect(db, expectation, now)
        case asked.Close(expectation_id, status, at, first):
            if not consequences.close(db, expectation_id, status, at) and first:
                raise VersionConflict(f"expectation {expectation_id} is closed already; look again")
        case asked.Spend():
            batches.charge(db)
        case asked.Schedule():
            timers.schedule(db, effect)
        case asked.Unschedule(timer_id):
            timers.unschedule(db, timer_id)
        case asked.SaveValue():
            plans.save_value(db, effect)
        case asked.DropValue():
            plans.drop_value(db, effect)
        case asked.SaveTask():
            tasks.save(db, effect)
        case asked.SaveSubTask():
            tasks.save_sub_task(db, effect)
        case asked.EndTask(agent, task_id):
            tasks.end(db, agent, task_id)
        case _:
            db.must_be_alone()
            _apply_alone(db, effect, now)


def _apply_alone(db: Connection, effect: _BeyondATree, now: datetime) -> None:
    match effect:
        case asked.Postpone():
            consequences.postpone(db, effect)
        case StoreMemory() | DropMemory() | IncrementMemory() | AppendMemory():
            memory.change(db, effect)
        case OpenSession():
            memory.open_session(db, effect)
        case asked.FeatureEffect():
            db.features.apply(db, effect)
        case asked.Declare(agent, definition):
            registration.declare(db, agent, definition, now)
        case _:
            assert_never(effect)
