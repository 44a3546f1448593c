"""Removal of old data, in batches with room for other writers between them."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from typing_extensions import TypedDict, Unpack

from soorma_ai.errors import ConfigError, LocalProtocolError, TransientError
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import must_be_text
from soorma_ai.kernel.ports import Forgotten, Pruned
from soorma_ai.kernel.rules.authority import Act, Owner, Right, check
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import note, warn

USUAL_AGE = timedelta(days=30)
LEAST_AGE = timedelta(hours=24)
FINAL = tuple(status for status in PlanStatus if status.is_final)
BATCH = 250
PRUNE_EVERY = timedelta(hours=1)
PAUSE = timedelta(milliseconds=200)

PRUNE, FORGET = Right("prune", Act.MANAGE), Right("forget", Act.MANAGE)


class PruneRun(TypedDict, total=False):
    """Options of one run of removal."""

    after: str | None
    """Place behind which it goes on."""
    dry_run: bool
    """True to count, and remove nothing."""
    batches: int | None
    """Most batches; None for all."""


async def prune(
    services: Services,
    person: Person,
    older_than: timedelta,
    statuses: Sequence[PlanStatus | str],
    **run: Unpack[PruneRun],
) -> Pruned:
    """Remove all batches, or this number, of the person's tenant. Raise LocalProtocolError for an invalid request, and
    Forbidden."""
    check(person, PRUNE, Owner(person.tenant_id), "")
    wanted, now = _final(statuses), services.clock.now()
    old, total = AgeConditions(person.tenant_id, _moment(now, older_than), wanted, now), Pruned(after=run.get("after"))
    dry_run, batches = run.get("dry_run", False), run.get("batches")
    while True:
        batch = await services.store.part(UPKEEP).prune(old, BATCH, after=total.after, dry_run=dry_run)
        total = add(total, batch)
        batches = None if batches is None else batches - 1
        if batch.after is None or batches == 0:
            return total
        await asyncio.sleep(0)  # a store may read on the spot, and this process has other things to do


async def forget(services: Services, person: Person, user_id: str, *, batches: int | None = None) -> Forgotten:
    """Remove all data of a user, in all batches, or this number. Raise Forbidden, and LocalProtocolError for an empty
    user."""
    must_be_text("user_id", user_id)
    check(person, FORGET, Owner(person.tenant_id), "")
    upkeep, tenant_id = services.store.part(UPKEEP), person.tenant_id
    total = Forgotten(keys=await upkeep.begin_forgetting(tenant_id, user_id, services.clock.now()))
    while not total.is_done and batches != 0:
        total = add_forgotten(total, await upkeep.forget(BATCH, tenant_id, user_id))
        batches = None if batches is None else batches - 1
        await asyncio.sleep(0)
    return total


def add_forgotten(total: Forgotten, more: Forgotten) -> Forgotten:
    return Forgotten(
        total.plans + more.plans,
        total.events + more.events,
        total.memos + more.memos,
        total.keys + more.keys,
        is_done=more.is_done,
    )


def add(total: Pruned, more: Pruned) -> Pruned:
    return Pruned(total.plans + more.plans, total.events + more.events, total.kept + more.kept, after=more.after)


async def keep_pruning(services: Services, older_than: timedelta) -> None:
    """Remove data older than that, of every tenant, once in a while, and never more than a batch at a time."""
    while True:
        try:
            total = Pruned()
            for tenant_id in await services.store.part(UPKEEP).tenants():
                total = add(total, await _prune_gently(services, tenant_id, older_than))
            if total.plans or total.events:
                note("pruned", plans=total.plans, events=total.events, older_than=older_than)
        except TransientError as error:
            warn("prune_failed", reason=error)
        await services.clock.sleep(PRUNE_EVERY.total_seconds())


async def _prune_gently(services: Services, tenant_id: str, older_than: timedelta) -> Pruned:
    """Let others write for as long between two batches as many of them take together."""
    total = Pruned()
    while True:
        batch = await prune(services, Person(tenant_id), older_than, FINAL, after=total.after, batches=1)
        total = add(total, batch)
        if batch.after is None:
            return total
        await services.clock.sleep(PAUSE.total_seconds())


def must_be_kept_long_enough(older_than: object) -> timedelta:
    """Raise ConfigError for anything but a span of a day or more."""
    try:
        _moment(datetime.max.replace(tzinfo=UTC), older_than)
    except LocalProtocolError as error:
        raise ConfigError(f"Platform(retention=...): {error}") from error
    assert isinstance(older_than, timedelta)
    return older_than


def _moment(now: datetime, older_than: object) -> datetime:
    if not isinstance(older_than, timedelta):
        raise LocalProtocolError(f"older_than={older_than!r} is no span; give a timedelta, such as timedelta(days=30)")
    if older_than < LEAST_AGE:
        raise LocalProtocolError(
            f"older_than={older_than} is too short: replies, and events that came early, are kept for 24 hours; "
            "give that or more"
        )
    try:
        return now - older_than
    except OverflowError as error:
        raise LocalProtocolError(f"older_than={older_than} is before all time; give less") from error


def _final(statuses: Sequence[PlanStatus | str]) -> tuple[PlanStatus, ...]:
    unknown = [str(status) for status in statuses if status not in FINAL]
    if unknown or not statuses:
        found = ", ".join(map(repr, unknown)) or "nothing"
        raise LocalProtocolError(f"statuses={found}: a plan that is over is {', '.join(FINAL)}; give some of them")
    return tuple(PlanStatus(status) for status in statuses)
