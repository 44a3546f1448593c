"""Arrival: events become inbox rows, met expectations, strays and wake-ups."""

from datetime import timedelta

import pytest
from contract.store_kit import (
    NOW,
    PAID_KEY,
    agent,
    awaiting_payment,
    event,
    expectation,
    fact,
    later,
    planner,
    question,
    reply,
    wait,
)
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import (
    Arrival,
    Expectation,
    ExpectationKind,
    ExpectationStatus,
    Stray,
    StrayReason,
)
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.registry import EventRole
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.arrival import (
    GIVEN_UP,
    EventTargets,
    Meaning,
    NamedRows,
    arrive,
    hear,
    ids_when_let_go,
    is_of_use,
    meaning_of,
    plan_named_by,
    plan_to_stop,
    refusal_of,
)
from soorma_ai.kernel.rules.arrival.effects import (
    LAST,
    Effect,
    Hasten,
    KeepEarly,
    Meet,
    Put,
    Replace,
    Resolve,
    SendReply,
    Stop,
    arrival_of,
)
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.rules.delivery.doubts import doubt_id
from soorma_ai.kernel.rules.waits.replies import id_when_let_go
from soorma_ai.kernel.rules.waits.wakeups import (
    ABANDONED,
    ANSWERED,
    CANCEL_REQUESTED,
    DEADLINE_REACHED,
    EXPIRED,
    WAKE_EVENTS,
)

ORDER = {"order_id": "o-1"}
TYPED: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
INDEX = Index([awaiting_payment()])
OPEN, MET, EXPIRED_, CLOSED = ExpectationStatus
ONCE = id_when_let_go("q-1")
TWICE = id_when_let_go(ONCE)
BY_REPLY = [ExpectationKind.REPLY, ExpectationKind.CHILD]


def arrival_effects(event: EventEnvelope, found: NamedRows | None = None, index: Index = INDEX) -> tuple[Effect, ...]:
    return arrive(hear(event, index), found or NamedRows(), event, NOW)


def meaning(event: EventEnvelope, expected: Expectation | None = None) -> Meaning:
    return meaning_of(event, hear(event, INDEX), expected)


def effects_with_waits(came: EventEnvelope, *waits: Expectation) -> tuple[Effect, ...]:
    return arrival_effects(came, NamedRows(waits=waits))


def wake(type: str = EXPIRED, *, plan_id: str | None = None, subject: str | None = None) -> EventEnvelope:
    return event("k-1", type, EventTopic.PLAN_EVENTS, plan_id=plan_id).model_copy(update={"subject": subject})


# Inboxes


def test_an_event_goes_to_its_takers_and_a_goal_goes_last_to_the_plan_it_begins() -> None:
    index = Index([agent("worker", "goal.given"), planner()])
    assert set(arrival_effects(event("g-1", "goal.given"), index=index)) == {
        Put("worker", "g-1"),
        Put("planner", plan_id_of("g-1", "planner"), LAST),
    }


def test_an_expected_event_goes_to_its_plan_and_to_other_subscribers_too() -> None:
    heard = EventTargets((Put("planner", "r-1"), Put("audit", "r-1")), expectation_id="q-1")
    effects = arrive(heard, NamedRows(expectation("q-1")), reply("r-1", "q-1"), NOW)
    assert effects == (Meet("q-1", "r-1"), Put("planner", "plan-1"), Put("audit", "r-1"))


# Replies


@pytest.mark.parametrize("kind", BY_REPLY)
def test_a_reply_meets_its_expectation_and_goes_to_the_requester(kind: ExpectationKind) -> None:
    effects = arrival_effects(reply("r-1", "q-1"), NamedRows(expectation("q-1", kind)))
    assert effects == (Meet("q-1", "r-1"), Put("planner", "plan-1"))


def test_a_clients_reply_is_sent_to_the_client_each_time_and_to_no_agent() -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT)
    met = replace(expected, status=MET, met_by="r-1")
    assert arrival_effects(reply("r-1", "q-1"), NamedRows(expected)) == (
        Meet("q-1", "r-1"),
        SendReply("q-1", reply("r-1", "q-1")),
    )
    assert arrival_effects(reply("r-1", "q-1"), NamedRows(met)) == (SendReply("q-1", reply("r-1", "q-1")),)


@pytest.mark.parametrize("kind", BY_REPLY)
@pytest.mark.parametrize(
    ("source", "was_handed", "counts"),
    [("worker", True, True), ("worker", False, False), (CLIENT, False, False), (SYSTEM, False, True)],
)
def test_a_reply_counts_only_from_an_agent_with_the_request_or_from_the_platform(
    kind: ExpectationKind, source: str, was_handed: bool, counts: bool
) -> None:
    came, expected = reply("r-1", "q-1", source=source), expectation("q-1", kind)
    assert meaning(came, expected) is Meaning.REPLY
    effects = arrival_effects(came, NamedRows(expected, was_handed=was_handed))
    assert (effects == (Stray("r-1", "work.done", "unasked", "q-1"),)) is not counts
    assert (Meet("q-1", "r-1") in effects) is counts


@pytest.mark.parametrize("source", ["worker", SYSTEM])
@pytest.mark.parametrize(
    ("answers", "counts"),
    [("q-1", True), (ONCE, True), (TWICE, True), (None, True), ("q-2", False), (id_when_let_go(TWICE), False)],
)
def test_a_reply_counts_for_its_request_and_no_other_of_the_same_key(
    source: str, answers: str | None, counts: bool
) -> None:
    came = reply("r-1", "q-1", source=source).model_copy(update={"answers": answers})
    let_go = ids_when_let_go("q-1", {"q-1", ONCE, TWICE}.__contains__)
    assert let_go == (ONCE, TWICE)
    assert (
        Meet("q-1", "r-1") in arrival_effects(came, NamedRows(expectation("q-1"), let_go, was_handed=True))
    ) is counts


@pytest.mark.parametrize(
    ("before", "now", "source", "replaces"),
    [
        (False, True, "till", True),
        (False, False, "till", False),
        (True, True, "till", False),
        (True, False, "till", False),
        (False, True, "another", False),
    ],
)
def test_a_success_replaces_an_earlier_failure_of_the_same_agent_for_a_client(
    before: bool, now: bool, source: str, replaces: bool
) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, status=MET, met_by="r-1")
    told, came = (
        reply(f"r-{n}", "q-1", data={"success": worked}).model_copy(update={"source": by})
        for n, worked, by in ((1, before, "till"), (2, now, source))
    )
    effects = arrival_effects(came, NamedRows(expected, was_handed=True, replied=told))
    surplus = Stray("r-2", "work.done", "surplus", "q-1")
    assert effects == ((Replace("q-1", "r-1", "r-2"), SendReply("q-1", came)) if replaces else (surplus,))


@pytest.mark.parametrize(
    ("status", "met_by", "reason"),
    [(MET, "other", "surplus"), (CLOSED, None, "late"), (EXPIRED_, "k-1", "late"), (MET, "r-1", None)],
)
def test_a_reply_to_a_closed_expectation_is_surplus_or_late_unless_it_closed_it(
    status: ExpectationStatus, met_by: str | None, reason: StrayReason | None
) -> None:
    effects = arrival_effects(reply("r-1", "q-1"), NamedRows(expectation("q-1", status=status, met_by=met_by)))
    stray = Stray("r-1", "work.done", reason or "late", "q-1")
    assert effects == ((stray,) if reason else (Put("planner", "plan-1"),))


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (reply("r-1", "q-1", tenant="other"), expectation("q-1")),
        (reply("r-1", "q-1").model_copy(update={"type": "work.refused"}), expectation("q-1")),
        (reply("r-1", "q-1").model_copy(update={"topic": EventTopic.BUSINESS_FACTS}), expectation("q-1")),
        *((reply("r-1", "q-1"), expectation("q-1", kind)) for kind in set(ExpectationKind) - {*BY_REPLY, "client"}),
        (reply("r-1", "q-2"), None),
    ],
)
def test_only_an_expected_event_type_of_the_same_tenant_meets_an_expectation(
    came: EventEnvelope, expected: Expectation | None
) -> None:
    assert meaning(came, expected) is Meaning.MAY_BE_AWAITED
    assert arrival_effects(came, NamedRows(expected)) == ()
    others = expectation("q-1", event_type="work.refused", others=("work.done",))
    assert Meet("q-1", "r-1") in arrival_effects(reply("r-1", "q-1"), NamedRows(others)), (
        "another expected type meets it, too"
    )


# Outside events


def test_an_outside_event_meets_its_oldest_fitting_wait_and_strays_from_the_others() -> None:
    paid = fact("f-1", ORDER)
    effects = effects_with_waits(paid, wait("typed", ask=question(TYPED)), wait("a"), wait("b"), wait("c"))
    assert effects == (
        Stray("f-1", "order.paid", "invalid", "typed"),
        Stray("f-1", "order.paid", "ambiguous", "b"),
        Stray("f-1", "order.paid", "ambiguous", "c"),
        Meet("a", "f-1"),
        Put("planner", "plan-1"),
    )


def test_an_event_off_the_schema_leaves_the_wait_open_and_alternatives_have_no_schema() -> None:
    off = fact("f-1", {**ORDER, "amount": "much"})
    assert effects_with_waits(off, wait("w-1", ask=question(TYPED))) == (Stray("f-1", "order.paid", "invalid", "w-1"),)
    other = fact("f-1", ORDER).model_copy(update={"type": "order.dropped"})
    asked = wait("w-1", ask=question(TYPED), others=("order.dropped",))
    assert Meet("w-1", "f-1") in arrive(EventTargets(keys=("any",)), NamedRows(waits=(asked,)), other, NOW)


@pytest.mark.parametrize(("source", "meets"), [("bank", True), ("anybody", False), (CLIENT, False)])
def test_only_a_producer_meets_a_wait_and_no_event_meets_two(source: str, meets: bool) -> None:
    came = fact("f-1", ORDER, source=source)
    assert (
        Meet("w-1", "f-1") in effects_with_waits(came, wait("w-1", producers=("bank", "till"), ask=question()))
    ) is meets
    for_people = wait("w-1", producers=("bank", "till"), ask=question(approvers=("boss",)))
    assert Meet("w-1", "f-1") not in effects_with_waits(came, for_people)
    assert arrival_effects(came, NamedRows(has_met_wait=True, waits=(wait("w-2"),))) == (), (
        "the event met another wait before"
    )


@pytest.mark.parametrize("has_met", [True, False])
@pytest.mark.parametrize("waits", [(), (wait("w-1"),)], ids=["no wait", "a wait"])
@pytest.mark.parametrize("awaited", [True, False])
def test_an_event_without_use_for_a_wait_has_no_effect(
    has_met: bool, waits: tuple[Expectation, ...], awaited: bool
) -> None:
    heard, came = EventTargets(keys=("any",), is_awaited=awaited), fact("f-1", ORDER)
    effects = arrive(heard, NamedRows(has_met_wait=has_met, waits=waits), came, NOW)
    assert is_of_use(heard, waits) or effects == ()


@pytest.mark.parametrize("topic", EventTopic)
def test_requests_and_plan_events_meet_no_wait_and_other_topics_are_not_compared(topic: EventTopic) -> None:
    came = fact("f-1", ORDER, plan_id="plan-1").model_copy(update={"topic": topic})
    meets = topic not in (EventTopic.ACTION_REQUESTS, EventTopic.PLAN_EVENTS)
    assert meaning(came) is (Meaning.MAY_BE_AWAITED if meets else Meaning.NOTHING)
    assert (Meet("w-1", "f-1") in effects_with_waits(came, wait("w-1"))) is meets


# Early events


def test_an_event_before_its_wait_is_kept_for_a_day_under_its_keys() -> None:
    stray = Stray("f-1", "order.paid", "early", None)
    assert effects_with_waits(fact("f-1", ORDER)) == (
        KeepEarly(stray, "default", (PAID_KEY,), NOW + timedelta(hours=24)),
    )


@pytest.mark.parametrize(
    ("came", "index"),
    [
        (fact("f-1", {"unrelated": 1}), INDEX),
        (fact("f-1", ORDER), Index([agent("taker", events=((EventRole.TAKES, awaiting_payment().events[0][1]),))])),
        (fact("f-1", ORDER), Index([replace(awaiting_payment(), tenant_id="other")])),
        (fact("f-1", ORDER).model_copy(update={"type": "order.sent"}), INDEX),
    ],
    ids=["no key", "no agent awaits or makes it", "another tenant's", "another type"],
)
def test_an_event_beyond_every_possible_wait_is_not_kept(came: EventEnvelope, index: Index) -> None:
    assert arrival_effects(came, index=index) == ()


def test_a_reply_to_a_met_expectation_is_surplus_and_not_early() -> None:
    met = expectation("q-1", event_type="order.paid", event_topic=EventTopic.BUSINESS_FACTS, status=MET, met_by="x")
    came = fact("f-1", ORDER, source=SYSTEM).model_copy(update={"correlation_id": "q-1"})
    assert meaning(came, met) is Meaning.REPLY
    assert arrival_effects(came, NamedRows(met)) == (Stray("f-1", "order.paid", "surplus", "q-1"),)


# Wake-ups, only a hint to look at stored rows


@pytest.mark.parametrize("type", sorted(WAKE_EVENTS - {ABANDONED}))
def test_a_wake_up_goes_to_the_agent_of_its_plan(type: str) -> None:
    assert arrival_effects(wake(type, plan_id="plan-1"), NamedRows(planner=("planner", "default"))) == (
        Put("planner", "plan-1"),
    )


@pytest.mark.parametrize("type", [CANCEL_REQUESTED, DEADLINE_REACHED])
def test_a_cancel_or_deadline_of_the_platform_overtakes_postponed_deliveries(type: str) -> None:
    ours = wake(type, plan_id="plan-1").model_copy(update={"source": SYSTEM})
    found = NamedRows(planner=("planner", "default"))
    assert arrival_effects(ours, found) == (Hasten("planner", "plan-1"), Put("planner", "plan-1"))
    assert arrival_effects(wake(type, plan_id="plan-1"), found) == (Put("planner", "plan-1"),)


@pytest.mark.parametrize(
    ("came", "planner_of"),
    [
        (wake(plan_id="plan-1").model_copy(update={"tenant_id": "other"}), ("planner", "default")),
        (wake(plan_id="plan-2"), None),
        (wake(), None),
        (wake(plan_id="plan-1").model_copy(update={"topic": EventTopic.TASK_EVENTS}), ("planner", "default")),
        (wake("plan.started", plan_id="plan-1"), ("planner", "default")),
    ],
    ids=["tenant", "plan", "no plan", "topic", "type"],
)
def test_a_wake_up_of_another_tenant_topic_or_type_wakes_no_plan(
    came: EventEnvelope, planner_of: tuple[str, str] | None
) -> None:
    assert arrival_effects(came, NamedRows(planner=planner_of)) == ()


OF_TASK = expectation("w-1", ExpectationKind.WAIT, plan_id=None, task_id="t-1")


@pytest.mark.parametrize(
    ("closed", "wakes"),
    [
        (replace(OF_TASK, status=MET), True),
        (replace(OF_TASK, status=EXPIRED_), True),
        (OF_TASK, False),
        (replace(OF_TASK, status=MET, tenant_id="other"), False),
        (replace(OF_TASK, status=MET, task_id=None), False),
        (None, False),
    ],
    ids=["met", "expired", "still open", "tenant", "no task", "unknown"],
)
def test_a_task_wakes_after_its_expectation_closes(closed: Expectation | None, wakes: bool) -> None:
    came = wake(ANSWERED, subject="w-1")
    assert arrival_effects(came, NamedRows(closed)) == ((Put("planner", "t-1"),) if wakes else ())


@pytest.mark.parametrize(
    ("resting", "goes_on"), [(("e-1", 3), True), (("e-1", 4), False), (("e-2", 3), False), (None, False)]
)
def test_only_the_question_about_the_present_doubt_resolves_it(resting: tuple[str, int] | None, goes_on: bool) -> None:
    asked = replace(OF_TASK, id=doubt_id("planner", "e-1", 3), kind=ExpectationKind.DOUBT, status=MET)
    came = wake(ANSWERED, subject=asked.id)
    assert meaning(came, asked) is Meaning.ENDS_DOUBT
    assert arrival_effects(came, NamedRows(asked, resting=resting)) == ((Resolve("planner", "t-1"),) if goes_on else ())


@pytest.mark.parametrize(
    ("kind", "status", "stops"),
    [
        (ExpectationKind.CHILD, CLOSED, True),
        (ExpectationKind.CHILD, EXPIRED_, True),
        (ExpectationKind.REPLY, CLOSED, True),
        (ExpectationKind.REPLY, EXPIRED_, False),
        (ExpectationKind.CHILD, MET, False),
        (ExpectationKind.CHILD, OPEN, False),
    ],
)
def test_the_taker_of_an_abandoned_request_is_stopped(
    kind: ExpectationKind, status: ExpectationStatus, stops: bool
) -> None:
    given_up = expectation("q-1", kind, status=status)
    came = wake(ABANDONED, plan_id="plan-1", subject="q-1")
    found = NamedRows(given_up, pursuing=("child-1",), working=(("worker", "q-1"), ("other", ONCE)))
    assert meaning(came, given_up) is (Meaning.GIVES_UP if stops else Meaning.NOTHING)
    assert arrival_effects(came, found) == (
        (Stop("child-1", GIVEN_UP), Put("worker", "q-1"), Put("other", ONCE)) if stops else ()
    )
    assert arrival_effects(came.model_copy(update={"tenant_id": "other"}), found) == (), "an event of another tenant"


REPLIED = reply("r-1", "q-1")


def test_an_arrival_lists_inboxes_replies_strays_and_resolved_plans() -> None:
    early, late = Stray("f-1", "a", "early", None), Stray("f-2", "b", "late", "q-1")
    done = (
        Put("one", "x"),
        Resolve("two", "y"),
        SendReply("q-1", REPLIED),
        late,
        KeepEarly(early, "default", (), later(1)),
        Meet("w", "f"),
    )
    found = arrival_of(done, frozenset({"one"}), {"plan-1"})
    assert found == Arrival(frozenset({"one"}), {"q-1": REPLIED}, (late, early), frozenset({"plan-1"}))


def test_an_outside_event_names_its_plan_by_reply_key_and_a_client_by_plan_id() -> None:
    outside = event("e-1", "paid", source=CLIENT, plan_id="p-1")
    assert plan_named_by(outside) == "p-1"
    assert plan_named_by(outside.model_copy(update={"correlation_id": "p-2"})) == "p-2"
    assert plan_named_by(outside.model_copy(update={"source": "bank"})) is None


def test_only_a_request_is_refused_to_its_requester() -> None:
    request = event("e-1", "pay", correlation_id="key")
    refused = refusal_of(request, "off its schema", NOW)
    assert refused is not None and (refused.type, refused.correlation_id) == ("pay.completed", "key")
    assert refusal_of(event("e-2", "paid", EventTopic.BUSINESS_FACTS), "off its schema", NOW) is None


def test_only_the_platforms_cancel_event_stops_plans() -> None:
    stop = event("e-1", CANCEL_REQUESTED, source=SYSTEM, plan_id="p-1")
    others = (stop.model_copy(update={"source": "bank"}), event("e-2", "paid", source=SYSTEM, plan_id="p-2"))
    assert [plan_to_stop(one) for one in (stop, *others)] == ["p-1", None, None]
