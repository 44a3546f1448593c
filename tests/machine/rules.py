"""The possible happenings of a platform, in any order; all invariants are checked after every step.

A new happening is a new `@rule`; a new invariant is a new check in `invariants`.
"""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from machine.invariants import Known, find_faults, find_unfinished
from machine.shop import Shop
from machine.stores import kind_of_store
from machine.world import GOAL, PLAN_LASTS, REPLIED, ROUTE
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, WAKE_EVENTS

ORDERS = 3
PICK = st.integers(0, 30)
SPANS = st.sampled_from([timedelta(seconds=s) for s in (0.5, 5, 31, 31, 6 * 60, 11 * 60, 40 * 60)])
SHORT = st.sampled_from([timedelta(seconds=s) for s in (0, 0, 5, 31, 6 * 60)])
KINDS = ["charge", "wait", "wrap", "print", *sorted(ROUTE), "charge", "wait"]
ROUTES = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)
AWAY = st.sampled_from([(), ("stock",), ("courier", "payments"), ("buyer", "packer", "clerk"), ("orders",)])
ANSWERS = st.sampled_from(["yes", "no", "edit", "invalid edit", "no payload", "contradiction"])
FORGED = st.sampled_from([*sorted(WAKE_EVENTS), "approval.granted", "payment.charge.requested.completed"])


class Machine(RuleBasedStateMachine):
    make_store: Any = kind_of_store()

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.shop = Shop(Path(self._folder.name) / "machine.db", self.make_store)
        self.known = Known(self.shop.world)
        self.count = 0
        self.is_broken = False

    @initialize(route=ROUTES)
    def begin(self, route: list[str]) -> None:
        self.shop.start()
        self._submit(1, route)

    @rule(order=st.integers(2, ORDERS), route=ROUTES)
    def submit(self, order: int, route: list[str]) -> None:
        self._submit(order, route)

    @rule()
    def deliver(self) -> None:
        self.shop.settle()

    @rule(count=st.integers(1, 40))
    def deliver_a_little(self, count: int) -> None:
        self.shop.steps(count)

    @rule(pick=PICK, count=st.integers(1, 12))
    def duplicate(self, pick: int, count: int) -> None:
        """Sent events come again, in reverse, however old."""
        sent = self.shop.audit.column(
            "SELECT body FROM event WHERE seq NOT IN (SELECT event_seq FROM outbox) ORDER BY seq DESC"
        )
        again = (sent * 2)[pick % len(sent) :][:count] if sent else []
        self.shop.do(self.shop.bus.publish([StoredEvent(0, EventEnvelope.from_json(body)) for body in again]))

    @rule(commits=st.integers(0, 15), keeps_last=st.booleans(), at_work=st.booleans())
    def doom(self, commits: int, keeps_last: bool, at_work: bool) -> None:
        """The process will die at one of its next commits, perhaps only during a later step."""
        self.shop.store.die_after(commits, keeps_last=keeps_last)
        if at_work:
            self.shop.settle()

    @rule(steps=st.integers(0, 40), down=SHORT, away=AWAY)
    def crash(self, steps: int, down: timedelta, away: tuple[str, ...]) -> None:
        self.shop.steps(steps)
        self.shop.crash(down, away)

    @rule(away=AWAY)
    def restart(self, away: tuple[str, ...]) -> None:
        """Agents leave, or return."""
        if not self.shop.store.is_dead:
            self.shop.restart(away=away)

    @rule(span=SPANS)
    def advance(self, span: timedelta) -> None:
        self.shop.advance(span)

    @rule(seconds=st.sampled_from([31, 60, 120]))
    def starve(self, seconds: int) -> None:
        self.shop.starve(timedelta(seconds=seconds))

    @rule(pick=PICK, said=st.sampled_from(["yes", "yes", "no", "edit"]))
    def answer_an_open_question(self, pick: int, said: str) -> None:
        """Two people answer at the same moment."""
        self.shop.settle()
        waits = self.shop.audit.open_waits()
        if waits:
            self._answer(waits[pick % len(waits)], said, 2)

    @precondition(lambda self: self.shop.audit.waits())
    @rule(pick=PICK, said=ANSWERS)
    def answer_any_question(self, pick: int, said: str) -> None:
        """Answer a question again, or long after its end."""
        waits = self.shop.audit.waits()
        self._answer(waits[pick % len(waits)], said, 1)

    @rule(pick=PICK, is_redriven=st.booleans())
    def decide_about_a_dead_letter(self, pick: int, is_redriven: bool) -> None:
        letters = self.shop.do(self.shop.platform.dead_letters()) or []
        if letters:
            letter = letters[pick % len(letters)]
            if letter.hindrance is None and is_redriven:
                self.shop.do(self.shop.platform.redrive(letter.letter_id))
            else:
                self.shop.do(self.shop.platform.discard(letter.letter_id))

    @rule(order=st.integers(1, ORDERS), slot=st.sampled_from(["morning", 5]))
    def come_from_outside(self, order: int, slot: str | int) -> None:
        """Publish an event, perhaps before its expectation, or before the order exists."""
        self.count += 1
        key = f"outside {self.count}"
        data = {"order": order, "slot": slot}
        self.shop.do(self.shop.platform.publish("business-facts", REPLIED, data, idempotency_key=key))

    @precondition(lambda self: self.known.submitted)
    @rule(pick=PICK, type=FORGED, by_us=st.booleans(), topic=st.sampled_from(["plan-events", "action-results"]))
    def forge(self, pick: int, type: str, by_us: bool, topic: str) -> None:
        plans = sorted(self.known.submitted)
        waits = self.shop.audit.waits() or ["none"]
        events = self.shop.audit.column("SELECT id FROM event ORDER BY seq")
        wait = waits[pick % len(waits)]
        self._publish_forged(
            source=SYSTEM if by_us and type != DEADLINE_REACHED else "burglar",
            type=type,
            topic=topic,
            data={"approved": True, "decision": "approve", "wait_id": wait},
            subject=wait,
            plan_id=plans[pick % len(plans)],
            correlation_id=wait,
            causation_id=events[pick % len(events)],
        )

    @rule()
    def forge_a_request(self) -> None:
        """Publish a request without any check."""
        self._publish_forged(
            source="burglar", type="payment.charge.requested", topic="action-requests", data={"amount": "all"}
        )

    @precondition(lambda self: self.known.submitted)
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        begun = self.shop.audit.column("SELECT plan_id FROM plan ORDER BY seq")
        arrived = self.shop.audit.column("SELECT owner FROM inbox WHERE priority = 1 ORDER BY seq")
        plans = sorted({*begun, *arrived})
        if plans:
            self.shop.do(self.shop.platform.cancel(plans[pick % len(plans)]))

    @invariant()
    def everything_holds(self) -> None:
        if self.shop.store.is_dead:
            self.shop.crash()
        self._must_be([] if self.is_broken else find_faults(self.shop.audit, self.known))

    def teardown(self) -> None:
        try:
            if not self.is_broken:
                self._let_all_end()
        finally:
            self.shop.close()
            self._folder.cleanup()

    def _let_all_end(self) -> None:
        self.shop.crash()
        self.shop.settle()
        for _ in range(3):
            self.shop.advance(PLAN_LASTS / 2)
        self._must_be(find_faults(self.shop.audit, self.known) + find_unfinished(self.shop.audit, self.known))

    def _must_be(self, wrong: list[str]) -> None:
        self.is_broken = bool(wrong)
        assert not wrong, "\n".join(wrong)

    def _submit(self, order: int, route: list[str]) -> None:
        """Submit a goal. The same order again is the same goal, whatever its route."""
        key = f"order {order}"
        known = [goal for goal in self.shop.audit.events() if goal["type"] == GOAL and goal["data"]["order"] == order]
        data = known[0]["data"] if known else {"order": order, "route": route}
        plan = self.shop.do(self.shop.platform.submit(GOAL, data, idempotency_key=key))
        if plan is not None:
            self.known.submitted[plan.plan_id] = plan.goal_id

    def _answer(self, wait_id: str, said: str, people: int) -> None:
        self.count += 1
        payload, decision = _answer_of(
            self.shop.audit.bodies("SELECT body FROM expectation WHERE id = ?", wait_id), said
        )
        names = [f"{who} {self.count}" for who in range(people)]

        async def at_once() -> list[Any]:
            answer = self.shop.platform.answer
            return await asyncio.gather(*(answer(wait_id, payload, decision=decision, answer_id=a) for a in names))

        for name, outcome in zip(names, self.shop.do(at_once()) or [], strict=False):
            if outcome == "accepted":
                self.known.accepted.setdefault(wait_id, set()).add(name)

    def _publish_forged(self, **fields: Any) -> None:
        self.count += 1
        event = EventEnvelope(id=f"forged {self.count}", time=self.shop.clock.now(), **fields)
        self.known.forged.add(event.id)
        self.shop.do(self.shop.store.queue.arrive([event], event.time))


def histories(machine: type[Machine], which: int, how: settings) -> None:
    """Try the number of histories of `how`, chosen by the number `which` alone. Raise the failure of the first bad
    one."""
    chosen = seed(which)(type(machine.__name__, (machine,), {}))
    every = settings(how, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
    run_state_machine_as_test(chosen, settings=every)


def _answer_of(kind: str, said: str) -> tuple[dict[str, Any], str | None]:
    """Return payload and decision: fit for a gate, a doubt or a question in words, or fit for none."""
    match kind, said:
        case "doubt", "yes" | "edit":
            return {"outcome": "not_done"}, None
        case "doubt", "no":
            return {"outcome": "done", "result": {"done_by": "hand"}}, None
        case "gate", "yes":
            return {"approved": True}, "approve"
        case _, "yes":
            return {"order": 1, "slot": "noon"}, "respond"
        case _, "no":
            return {"approved": False, "order": 1, "slot": "never"}, "reject"
        case _, "edit":
            return {"data": {"order": 1, "amount": 7}}, "edit"
        case _, "invalid edit":
            return {"data": {"order": 1, "amount": "seven"}}, "edit"
        case _, "contradiction":
            return {"approved": False, "order": 1, "slot": "noon"}, "approve"
        case _:
            return {}, None
