"""One order from its goal to its end: a tool, a gate before another tool, a question; and its final state."""

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from machine.audit import Audit
from machine.invariants import FINAL, Known, find_faults
from machine.shop import Shop, Wrap, as_they_are
from machine.world import GOAL, agents
from soorma_ai import Platform
from soorma_ai.errors import TransientError

T = TypeVar("T")

DATA = {"order": 1, "route": ["reserve", "charge", "wait"]}
PAUSE = timedelta(seconds=0.5)
A_LEASE = timedelta(seconds=31)
TRIES = 20
PATIENCE = timedelta(minutes=20)


@dataclass(frozen=True)
class End:
    """The state that must be the same after any disturbance; no moments."""

    plan: str
    steps: tuple[str, ...]
    events: frozenset[str]
    journal: tuple[str, ...]
    effects: str
    actions: int


@dataclass(frozen=True)
class Run:
    """`wrong` are broken invariants; `asked` is the count of the model's most frequent question."""

    end: End
    wrong: tuple[str, ...]
    asked: int
    took: timedelta


def pursue(path: Path, wrap: Wrap = as_they_are) -> Run:
    """Pursue one order; people and clients without a reply repeat their call, under the same key."""
    shop = Shop(path, wrap=wrap)
    try:
        began = shop.clock.now()
        _insist(shop, lambda platform: platform.start(*agents(shop.world)))
        plan = _insist(shop, lambda platform: platform.submit(GOAL, DATA, idempotency_key="the order"))
        known = Known(shop.world, {plan.plan_id: plan.goal_id})
        while not _is_over(shop.audit) and shop.clock.now() - began < PATIENCE:
            _go_on(shop)
        wrong = find_faults(shop.audit, known)
        asked = max(shop.world.asked.values(), default=0)
        return Run(_end(shop), tuple(wrong), asked, shop.clock.now() - began)
    finally:
        shop.close()


def _go_on(shop: Shop) -> None:
    """Answer open questions; else a short pause, and without progress the length of a lease."""
    shop.settle()
    waits = shop.audit.open_waits()
    for wait_id in waits:
        kind = shop.audit.column("SELECT kind FROM expectation WHERE id = ?", wait_id)[0]
        payload = {"approved": True} if kind == "gate" else {"order": 1, "slot": "noon"}
        _insist(shop, lambda platform, w=wait_id, p=payload: platform.answer(w, p, answer_id=f"ann {w}"))
    if waits or _is_over(shop.audit):
        return
    before = len(shop.audit.events())
    shop.advance(PAUSE)
    if len(shop.audit.events()) == before:
        shop.advance(A_LEASE)


def _insist(shop: Shop, call: Callable[[Platform], Coroutine[Any, Any, T]]) -> T:
    for _ in range(TRIES):
        try:
            said = shop.do(call(shop.platform))
        except TransientError:
            continue
        assert said is not None or not shop.store.is_dead
        return said  # type: ignore[return-value]
    raise AssertionError(f"{TRIES} tries were not enough")


def _is_over(audit: Audit) -> bool:
    plans = audit.plans()
    return bool(plans) and all(plan["status"] in FINAL for plan in plans)


def _end(shop: Shop) -> End:
    audit = shop.audit
    plan = next(iter(audit.plans()), {"status": "not begun", "result": None, "reason": None})
    return End(
        plan=_text([plan["status"], plan.get("result"), plan.get("reason")]),
        steps=tuple(
            _text([step["kind"], step.get("name"), step.get("data"), step.get("note"), step["event_id"]])
            for step in audit.bodies("SELECT body FROM step ORDER BY ordinal")
        ),
        events=frozenset(
            _text([event["id"], event["type"], {k: v for k, v in event.get("data", {}).items() if k != "deadline"}])
            for event in audit.events()
        ),
        journal=tuple(
            sorted(
                _text([entry["key"], entry["value"], entry["verdict"]])
                for entry in audit.bodies("SELECT body FROM journal")
            )
        ),
        effects=_text(shop.world.effects),
        actions=sum(audit.column("SELECT actions FROM budget WHERE root_plan_id NOT LIKE 'events:%'")),
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
