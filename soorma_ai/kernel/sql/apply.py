"""Consequences of an arrival: facts are read, a rule of `rules.arrival` decides, and the result is applied."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

from soorma_ai.kernel.domain.effects import Postpone, SavePlan, Schedule, Unschedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Stray
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.rules.arrival import effects as decided
from soorma_ai.kernel.rules.arrival import endings, matching
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.tables import (
    early,
    expectations,
    inbox,
    plans,
    puts,
    receivers,
    registry,
    tasks,
    timers,
    untaken,
)
from soorma_ai.kernel.sql.tables import events as log

# Effects on rows that commits of other trees and requests may change as well.
_BeyondATree = decided.Replace | decided.Stop | decided.Forbid | decided.Resolve | decided.Hasten


def apply(
    db: Connection, effects: Iterable[decided.Effect], now: datetime, about: StoredEvent | None = None
) -> list[decided.Effect]:
    """Return the effects that changed something. `about` is the event in hand, with its place in the log."""
    wanted, copies, done = [*effects], 0, list[decided.Effect]()
    for effect in wanted:  # loops without calls: they run at every arrival
        match effect:
            case decided.Put():
                copies += 1
            case _:
                pass
    for effect in wanted:
        if _apply(db, effect, now, about, copies):
            done.append(effect)
    return done


def _apply(db: Connection, effect: decided.Effect, now: datetime, about: StoredEvent | None, copies: int) -> bool:
    match effect:
        case decided.Put(timer=timer):
            assert about is not None, f"there is no event in hand for {effect}"
            is_new = puts.put(db, about, effect, now, copies=copies)
            if is_new and timer is not None:
                timers.schedule(db, timer)
            return is_new
        case decided.KeepEarly() | decided.ForgetEarly() | decided.KeepUntaken() | decided.DropUntaken():
            db.must_be_alone()
            assert about is not None, f"there is no event in hand for {effect}"
            return _apply_about(db, effect, now, about)
        case decided.Open(expectation):
            expectations.insert(db, expectation)
        case decided.Meet(expectation_id, met_by):
            return close(db, expectation_id, ExpectationStatus.MET, now, met_by=met_by)
        case Stray():
            return _tell_stray(db, effect, now)
        case Schedule():
            timers.schedule(db, effect)
        case Unschedule(timer_id):
            return timers.unschedule(db, timer_id)
        case SavePlan(plan, expected_version):
            save(db, plan, expected_version)
        case decided.Wake(event):
            log.publish_once(db, event)
        case decided.SendReply():
            pass
        case _:
            db.must_be_alone()
            return _apply_alone(db, effect, now)
    return True


def _apply_alone(db: Connection, effect: _BeyondATree, now: datetime) -> bool:
    match effect:
        case decided.Replace(expectation_id, was, met_by):
            return expectations.replace_met(db, expectation_id, was, met_by)
        case decided.Stop(plan_id, reason):
            return stop(db, plan_id, reason, now)
        case decided.Forbid(plan_id, reason):
            plans.forbid(db, plan_id, reason)
        case decided.Resolve(agent, owner):
            inbox.resolve(db, agent, owner)
        case decided.Hasten(agent, owner):
            inbox.hasten(db, agent, owner)
        case _:
            assert_never(effect)
    return True


def _apply_about(db: Connection, effect: decided.AboutTheEvent, now: datetime, about: StoredEvent) -> bool:
    match effect:
        case decided.KeepEarly(stray):
            if not _tell_stray(db, stray, now):
                return False
            early.keep(db, about.seq, effect, now)
        case decided.ForgetEarly():
            early.forget(db, about.seq)
        case decided.KeepUntaken():
            untaken.keep(db, about.seq, effect)
        case decided.DropUntaken(timer_id):
            untaken.drop(db, about.seq)
            timers.unschedule(db, timer_id)
        case _:
            assert_never(effect)
    return True


def expect(db: Connection, expectation: Expectation, now: datetime) -> None:
    """Open it, or record its meeting event at once."""
    if expectation.kind is ExpectationKind.OFFER:
        live = registry.live_events(db, expectation.tenant_id, now)
        apply(db, matching.park(expectation, live, now), now)
        return
    first = matching.first_to_meet(expectation, early.find_early(db, expectation, now))
    if first is None:
        expectations.insert(db, expectation)
        return
    was_handed = inbox.has(db, expectation.agent, first.seq)
    effects = matching.open_met(expectation, first.event, now, was_handed=was_handed)
    apply(db, effects, now, StoredEvent(first.seq, first.event))


def close(
    db: Connection,
    expectation_id: str,
    status: ExpectationStatus,
    now: datetime,
    *,
    met_by: str | None = None,
    answer: Answer | None = None,
) -> bool:
    """Return False if it was closed before, or never opened."""
    kind = expectations.close(db, expectation_id, status, now, met_by=met_by, answer=answer)
    if kind is None:
        return False
    if endings.gives_up_child(kind, status):
        closed = expectations.find(db, expectation_id)
        if closed is not None:
            apply(db, endings.abandon(closed, now), now)
    return True


def save(db: Connection, plan: PlanRecord, expected_version: int | None) -> None:
    """Save as `domain.effects.SavePlan` says."""
    if expected_version is None:
        forbidden, parent = plans.cancellation(db, plan.plan_id), plans.status(db, plan.parent_plan_id)
        endings.check_beginning(plan, forbidden, parent)
        plans.insert(db, plan)
        return
    plans.update(db, plan, expected_version)
    if endings.takes_children_along(plan):
        apply(db, endings.stop_children(plans.live_children(db, plan)), plan.updated_at)


def postpone(db: Connection, effect: Postpone) -> None:
    """Move the ends with a cap by the plan; see `domain.effects.Postpone`."""
    for child in plans.live_of_tree(db, effect.root_plan_id):
        apply(db, endings.postpone_plan(child, effect), effect.before)
    for task in tasks.of_tree(db, effect.root_plan_id):
        for saved in endings.postpone_task(task, effect):
            tasks.save(db, saved)
    for one in expectations.open_of_tree(db, effect.root_plan_id):
        if endings.is_postponed(one.deadline, effect):
            expectations.move(db, one.id, effect.later)
            timers.put_off(db, one.id, effect.before, effect.later)
            untaken.put_off(db, one.id, effect.later)


def stop(db: Connection, plan_id: str, reason: str, now: datetime) -> bool:
    """Return False when the plan has ended. Raise NotFound."""
    found = plans.plan(db, plan_id) or receivers.goal_of(db, plan_id)
    if isinstance(found, tuple):
        # Of a goal that is on its way nothing is there that a row could be found to belong to.
        db.act_for(found[1].tenant_id)
    effects = endings.stop(plan_id, found, reason, now)
    if effects is None:
        return False
    apply(db, effects, now)
    return True


def resume(db: Connection, plan_id: str, now: datetime) -> bool:
    """Return False for a plan without a delivery held for an operator."""
    plan = plans.plan(db, plan_id)
    if plan is None or plan.status.is_final or not inbox.is_held(db, plan.agent, plan_id):
        return False
    return len(apply(db, endings.resume(plan, now), now)) > 0


def answer(db: Connection, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
    if not close(db, wait_id, ExpectationStatus.MET, now, met_by=wake.id, answer=answer):
        return False
    log.publish_once(db, wake)
    return True


def offer_changed(db: Connection, tenants: Sequence[str | None], now: datetime) -> None:
    if tenants:
        parked = expectations.without_offer(db)
        apply(db, matching.look_again(parked, tenants, now), now)


def _tell_stray(db: Connection, stray: Stray, now: datetime) -> bool:
    """Return False if it was told before."""
    done = db.execute(
        "INSERT INTO stray (event_id, reason, expectation_id, event_type, at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (stray.event_id, stray.reason, stray.expectation_id or "", stray.event_type, epoch(now)),
    )
    return done.rowcount == 1
