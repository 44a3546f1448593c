"""One suite of the calls of outside programs, for each way to reach a platform."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from client_kit import delivery
from kit import payments, planner, sleeps, stock, the_wait, until, wait_for_end
from msgspec.structs import force_setattr
from pydantic import BaseModel

from soorma_ai import (
    Approval,
    DeadlineExceeded,
    Forbidden,
    Held,
    LocalProtocolError,
    NotFound,
    Overloaded,
    PlanCancelled,
    PlanFailed,
    Platform,
    PlatformClient,
    RemoteProtocolError,
    SoormaError,
    Tool,
    Worker,
)
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.tasks import DelegationSpec
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12000)
DONE = complete({"reserved": True})
ORDER = {"order_id": "A1"}
BY_MANAGER = Approval(approvers=("manager",))
NOBODY = "0" * 36
A_DAY = 24 * 3600


async def finished_plan(platform: Platform, client: PlatformClient, **named: Any) -> str:
    """Return the id of a plan with a completed request."""
    await platform.start(planner([RESERVE, DONE]), stock())
    plan = await client.submit("order.received", ORDER, **named)
    await plan.result(timeout=10)
    return plan.plan_id


async def waiting_plan(platform: Platform, client: PlatformClient) -> str:
    """Return the id of a plan that waits for an approval."""
    await platform.start(planner([CHARGE, DONE]), payments(BY_MANAGER))
    plan = await client.submit("order.received", ORDER)
    await sleeps(platform, plan.plan_id)
    return plan.plan_id


async def test_a_goal_is_submitted_and_its_result_waited_for(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([RESERVE, DONE]), stock())
    plan = await client.submit("order.received", ORDER, planner="orders", session_id="talk")
    assert await plan.result(timeout=10) == {"reserved": True}
    (record,) = await platform.plans()
    assert (plan.plan_id, plan.goal_id, "talk") == (record.plan_id, record.goal_id, record.lineage.session_id)


class Order(BaseModel):
    order_id: str


class Reserved(BaseModel):
    reserved: bool


async def test_models_are_given_and_taken(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([RESERVE, DONE]), stock())
    plan = await client.submit("order.received", Order(order_id="A1"))
    assert await plan.result(timeout=10, as_=Reserved) == Reserved(reserved=True)
    with pytest.raises(RemoteProtocolError, match=f"the result of plan {plan.plan_id} does not fit Order"):
        await plan.result(as_=Order)
    reply = await client.request("inventory.reserve.requested", Order(order_id="A1"), timeout=10)
    assert reply["success"] is True


async def test_a_timeout_for_a_result_names_the_need_of_the_plan(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([CHARGE, DONE]))
    plan = await client.submit("order.received", ORDER)
    await sleeps(platform, plan.plan_id)
    with pytest.raises(DeadlineExceeded, match="it is paused; it is parked: no live agent offers any event"):
        await plan.result(timeout=0)
    assert await plan.describe() == "it is paused; it is parked: no live agent offers any event"
    await client.cancel(plan.plan_id)
    await wait_for_end(platform, plan.plan_id)
    assert await plan.describe() == "it is cancelled"


async def test_a_timeout_for_a_question_names_the_need_of_the_plan(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([CHARGE, DONE]))
    plan = await client.submit("order.received", ORDER)
    await sleeps(platform, plan.plan_id)
    for timeout in (0, 0.1, timedelta(milliseconds=100)):
        with pytest.raises(
            DeadlineExceeded, match=f"{plan.plan_id} has no question after .* s; it is paused; it is parked"
        ):
            await plan.next_wait(timeout=timeout)
    with pytest.raises(LocalProtocolError, match="timeout="):
        await plan.next_wait(timeout=-1)


async def test_the_same_key_is_the_same_plan_and_no_key_another(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([DONE] * 5), stock())
    made = [await client.submit("order.received", ORDER, idempotency_key="click") for _ in range(3)]
    others = [await client.submit("order.received", ORDER) for _ in range(2)]
    assert len({plan.plan_id for plan in made}) == 1
    assert len({plan.plan_id for plan in (*made, *others)}) == 3


@pytest.mark.parametrize(
    ("goal", "data", "kind", "said"),
    [
        ("order.lost", ORDER, NotFound, "known goals: order.received"),
        ("order.received", {"when": object()}, LocalProtocolError, "must be JSON"),
        ("order.received", {"x": float("nan")}, LocalProtocolError, "must be JSON"),
        ("order.received", {"x": "\ud800"}, LocalProtocolError, "cannot be kept|must be JSON"),
    ],
)
async def test_an_unknown_or_invalid_goal_is_refused(
    platform: Platform, client: PlatformClient, goal: str, data: Any, kind: type[SoormaError], said: str
) -> None:
    await platform.start(planner([DONE]), stock())
    with pytest.raises(kind, match=said) as raised:
        await client.submit(goal, data)
    assert type(raised.value) is kind


async def test_other_data_under_a_key_is_refused(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([DONE] * 2), stock())
    await client.submit("order.received", ORDER, idempotency_key="click")
    with pytest.raises(LocalProtocolError):
        await client.submit("order.received", {"order_id": "B2"}, idempotency_key="click")


async def test_a_request_under_the_key_of_a_publish_is_a_conflict_and_waits_for_nothing(
    platform: Platform, client: PlatformClient
) -> None:
    await platform.start(planner([DONE]), stock())
    await client.publish("action-requests", "inventory.reserve.requested", ORDER, idempotency_key="click")
    with pytest.raises(LocalProtocolError, match=r"sent under this key before.* give the request a key of its own"):
        await client.request("inventory.reserve.requested", ORDER, idempotency_key="click", timeout=60)
    reply = await client.request("inventory.reserve.requested", ORDER, idempotency_key="another", timeout=30)
    again = await client.request("inventory.reserve.requested", ORDER, idempotency_key="another", timeout=30)
    assert reply == again and reply["success"] is True
    await client.publish("action-requests", "inventory.reserve.requested", ORDER, idempotency_key="another")


async def test_a_failed_plan_raises_its_reason(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([RESERVE, RESERVE], max_actions=1), stock())
    plan = await client.submit("order.received", ORDER)
    with pytest.raises(PlanFailed, match="limit_exceeded") as failed:
        await plan.result(timeout=10)
    assert (failed.value.plan_id, type(failed.value)) == (plan.plan_id, PlanFailed)
    assert failed.value.code == "limit_exceeded"
    assert failed.value.reason == (await platform.plan(plan.plan_id)).reason


async def test_a_plan_is_cancelled_once_and_its_result_raises_plan_cancelled(
    platform: Platform, client: PlatformClient
) -> None:
    plan_id = await waiting_plan(platform, client)
    assert await client.cancel(plan_id, "changed our mind") is True
    await wait_for_end(platform, plan_id)
    assert await client.cancel(plan_id) is False
    with pytest.raises(PlanCancelled) as cancelled:
        await (await client.follow(plan_id)).result(timeout=10)
    assert "changed our mind" in cancelled.value.reason


async def test_a_result_not_there_in_time_is_a_deadline_error(platform: Platform, client: PlatformClient) -> None:
    plan = await client.follow(await waiting_plan(platform, client))
    for timeout in (0, 0.2):
        with pytest.raises(DeadlineExceeded, match=plan.plan_id):
            await plan.result(timeout=timeout)
    with pytest.raises(LocalProtocolError, match="timeout=-1"):
        await plan.result(timeout=-1)


async def test_an_agent_is_asked_and_its_reply_waited_for(platform: Platform, client: PlatformClient) -> None:
    await platform.start(stock())
    reply = await client.request("inventory.reserve.requested", ORDER, timeout=10, idempotency_key="A1")
    assert (reply["success"], reply["result"]) == (True, {"reserved": "A1"})
    assert await client.request("inventory.reserve.requested", ORDER, timeout=10, idempotency_key="A1") == reply
    failure: Any = await client.request("inventory.reserve.requested", {"order_id": "none-left"}, timeout=10)
    assert (failure["success"], failure["error"]["code"]) == (False, "out_of_stock")


async def test_a_request_is_asked_now_and_its_reply_fetched_later(platform: Platform, client: PlatformClient) -> None:
    await platform.start(stock())
    request_id = await client.ask("inventory.reserve.requested", ORDER)
    assert (await client.reply(request_id, timeout=10))["result"] == {"reserved": "A1"}


@pytest.mark.parametrize(
    ("event_type", "data", "kind", "said"),
    [
        ("inventory.lost", ORDER, NotFound, "known requests: inventory.reserve.requested"),
        ("inventory.reserve.requested", {}, LocalProtocolError, "is off its schema"),
        ("inventory.reserve.requested", {"order_id": {1, 2}}, LocalProtocolError, "must be JSON"),
    ],
)
async def test_a_request_without_a_possible_handler_is_refused(
    platform: Platform, client: PlatformClient, event_type: str, data: Any, kind: type[SoormaError], said: str
) -> None:
    await platform.start(stock())
    with pytest.raises(kind, match=said):
        await client.request(event_type, data, timeout=10)
    with pytest.raises(kind, match=said):
        await client.ask(event_type, data)


async def test_a_reply_not_there_in_time_is_a_deadline_error(platform: Platform, client: PlatformClient) -> None:
    silent = Tool("silent")
    is_over = asyncio.Event()

    @silent.on_invoke("silence.requested")
    async def wait_long(request: Any, context: Any) -> dict[str, Any]:
        await is_over.wait()
        return {}

    await platform.start(silent)
    with pytest.raises(DeadlineExceeded, match=r"silence.requested.* within 0.3 s"):
        await client.request("silence.requested", {}, timeout=0.3)
    request_id = await client.ask("silence.requested", {})
    with pytest.raises(DeadlineExceeded):
        await client.reply(request_id, timeout=0)
    is_over.set()


async def test_a_request_with_an_approval_is_held_and_answered_later(
    platform: Platform, client: PlatformClient
) -> None:
    await platform.start(delivery(BY_MANAGER))
    with pytest.raises(Held, match=r"goods\.deliver\.requested") as held:
        await client.request("goods.deliver.requested", {}, timeout=10, idempotency_key="A1")
    with pytest.raises(Held) as again:
        await client.ask("goods.deliver.requested", {}, idempotency_key="A1")
    assert (again.value.wait_id, again.value.request_id) == (held.value.wait_id, held.value.request_id)
    assert await client.answer(held.value.wait_id, {"approved": True}) == "accepted"
    assert (await client.reply(held.value.request_id, timeout=10))["result"] == {"delivered": True}


async def test_an_approver_may_approve_with_the_request(platform: Platform, client: PlatformClient) -> None:
    await platform.start(delivery(BY_MANAGER))
    reply = await client.request("goods.deliver.requested", {}, timeout=10, approve=True)
    assert reply["result"] == {"delivered": True}


async def test_a_publication_and_a_goal_are_held_too(platform: Platform, client: PlatformClient) -> None:
    await platform.start(delivery(BY_MANAGER))
    with pytest.raises(Held) as held:
        await client.publish("action-requests", "goods.deliver.requested", {})
    assert (await client.wait(held.value.wait_id)).proposed_event == "goods.deliver.requested"


async def test_an_event_is_published_once_by_its_key(platform: Platform, client: PlatformClient) -> None:
    made = [await client.publish("business-facts", "order.lost", ORDER, idempotency_key="lost") for _ in range(2)]
    made.append(await client.publish("business-facts", "order.lost", ORDER))
    assert len(set(made)) == 2
    page = await client.events()
    assert [row.event.id for row in page.events] == [made[0], made[2]]


@pytest.mark.parametrize(
    ("topic", "event_type", "said"),
    [("gossip", "order.lost", "is no topic"), ("notification-events", "notification.human_input", "only the platform")],
)
async def test_a_forbidden_publication_is_refused(
    client: PlatformClient, topic: str, event_type: str, said: str
) -> None:
    with pytest.raises(LocalProtocolError, match=said):
        await client.publish(topic, event_type, {})


async def test_a_question_is_listed_shown_and_answered_once(platform: Platform, client: PlatformClient) -> None:
    plan = await client.follow(await waiting_plan(platform, client))
    (question,) = await client.waits()
    assert question == await client.wait(question.wait_id) == await plan.next_wait() == await the_wait(platform)
    invalid = await client.answer(question.wait_id, {"approved": "perhaps"}, decision="approve")
    assert invalid == "invalid" and invalid.detail
    accepted = await client.answer(question.wait_id, {"approved": True}, note="go", answer_id="one")
    assert accepted == "accepted"
    assert await client.answer(question.wait_id, {"approved": True}, note="go", answer_id="one") == "accepted"
    second = await client.answer(question.wait_id, {"approved": True})
    assert second == "duplicate" and second.detail
    assert await plan.result(timeout=10) == {"reserved": True}
    assert await plan.next_wait() is None


async def test_a_question_is_found_by_the_beginning_of_its_id_open_or_closed(
    platform: Platform, client: PlatformClient
) -> None:
    await waiting_plan(platform, client)
    question = await the_wait(platform)
    assert await client.find_waits(question.wait_id[:-4]) == [question]
    assert await client.find_waits("nothing") == []
    await client.answer(question.wait_id, {"approved": True})
    assert [one.wait_id for one in await client.find_waits(question.wait_id[:-4])] == [question.wait_id]
    another = "1" if question.wait_id.startswith("0") else "0"
    assert await client.find_waits(another) == await client.waits(), "open ones alone, as long as there are any"


async def test_an_event_is_found_by_the_beginning_of_its_id(platform: Platform, client: PlatformClient) -> None:
    event_id = await client.publish("business-facts", "order.lost", {"order_id": "A1"})
    (found,) = await client.find_events(event_id[:-2])
    assert (found.id, found.type, found.data) == (event_id, "order.lost", {"order_id": "A1"})
    stranger = platform.as_user(tenant_id="other", user_id="local")
    assert await stranger.find_events(event_id) == await client.find_events("nothing") == []


async def test_a_client_names_its_person(client: PlatformClient) -> None:
    person = await client.whoami()
    assert (person.tenant_id, person.user_id, person.roles) == ("default", "local", {"operator", "manager"})


async def test_a_question_is_claimed_assigned_shown_to_a_substitute_and_linked(
    platform: Platform, client: PlatformClient
) -> None:
    await waiting_plan(platform, client)
    [question] = await client.waits()
    inbox, people = client.inbox, platform.services.store.part(PEOPLE)
    claim = await inbox.claim(question.wait_id)
    assert await inbox.claim(question.wait_id) == claim == (await client.wait(question.wait_id)).claim
    bob = platform.as_user(tenant_id="default", user_id="bob", roles={"manager"})
    with pytest.raises(LocalProtocolError, match="local is the assignee until"):
        await bob.inbox.claim(question.wait_id)
    with pytest.raises(LocalProtocolError, match="are not known here"):
        await inbox.hand_over(question.wait_id, "bob")
    await bob.inbox.look(question.wait_id, await inbox.notices(question.wait_id))
    assert await inbox.colleagues(question.wait_id) == ["bob"]
    handed = await inbox.hand_over(question.wait_id, "bob")
    assert (handed.user_id, handed.given_by) == ("bob", "local")
    assert (await inbox.release(question.wait_id), await bob.inbox.release(question.wait_id)) == (False, True)
    assert [one.user_id for one in await inbox.notices(question.wait_id)] == ["bob"]
    away = await inbox.away(platform.services.clock.now() + timedelta(days=1), "zoe")
    assert [away] == await inbox.absences() == await people.absences("default", platform.services.clock.now())
    zoe = platform.as_user(tenant_id="default", user_id="zoe")
    assert [one.wait_id for one in await zoe.waits()] == [question.wait_id]
    assert await zoe.inbox.stands_in_for() == ["local"]
    assert (await inbox.back(), await inbox.back()) == (True, False)
    assert await zoe.waits() == []
    made = (await inbox.make_link("question", question.wait_id)).made
    assert (await inbox.links(question.wait_id), made.link.roles) == ([made], {"manager"})
    assert await inbox.revoke_link("question", question.wait_id)
    with pytest.raises(Forbidden):
        await inbox.make_link("inbox", user_id="zoe")


async def test_an_answer_to_an_ended_plan_is_superseded(platform: Platform, client: PlatformClient) -> None:
    plan_id = await waiting_plan(platform, client)
    (question,) = await client.waits()
    await client.cancel(plan_id)
    await wait_for_end(platform, plan_id)
    assert await client.answer(question.wait_id, {"approved": True}) == "superseded"


async def test_an_invalid_answer_is_refused(platform: Platform, client: PlatformClient) -> None:
    await waiting_plan(platform, client)
    (question,) = await client.waits()
    with pytest.raises(LocalProtocolError):
        await client.answer(question.wait_id, {"approved": {1}})
    with pytest.raises(LocalProtocolError):
        await client.answer(question.wait_id, {"approved": True}, decision="perhaps")


async def test_plans_are_listed_the_newest_first(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([DONE] * 5), stock())
    made: list[str] = []
    for number in range(5):
        plan = await client.submit("order.received", ORDER, session_id="even" if number % 2 == 0 else "odd")
        await plan.result(timeout=10)
        made.append(plan.plan_id)
    assert [plan.plan_id for plan in await client.plans()] == made[::-1]
    assert [plan.plan_id for plan in await client.plans(limit=2)] == made[:2:-1]
    assert [plan.plan_id for plan in await client.plans(session_id="odd")] == [made[3], made[1]]
    assert await client.plans(status="active") == []
    assert await client.plans(status="completed", limit=9) == await platform.plans()
    assert [one.plan_id for one in await client.tracker.session_plans("odd")] == [made[3], made[1]]
    with pytest.raises(LocalProtocolError):
        await client.plans(status="lost")


async def test_everything_about_a_plan_is_read_as_it_was_stored(platform: Platform, client: PlatformClient) -> None:
    plan_id = await finished_plan(platform, client)
    assert await client.plan(plan_id) == await platform.plan(plan_id)
    assert await client.trace(plan_id) == await platform.trace(plan_id)
    assert await client.prompt(plan_id) == await platform.prompt(plan_id)
    assert await client.prompt(plan_id, 1) == await platform.prompt(plan_id, 1)
    assert await client.trial(plan_id) == await platform.trial(plan_id)
    assert await client.tracker.plan_progress(plan_id) == await platform.tracker.plan_progress(plan_id)
    assert await client.tracker.actions(plan_id) == await platform.tracker.actions(plan_id)
    assert await client.tracker.timeline(plan_id) == await platform.tracker.timeline(plan_id)
    page = await client.tracker.plans(search=plan_id[:8], status="completed", limit=5)
    assert page == await platform.tracker.plans(search=plan_id[:8], status="completed", limit=5)
    assert [(plan.plan_id, plan.spent) for plan in page.plans] == [(plan_id, (await platform.plan(plan_id)).usage)]
    assert await client.tracker.plans(before=1) == await platform.tracker.plans(before=1)
    assert await client.tracker.plan_tree(plan_id) == await platform.tracker.plan_tree(plan_id)
    assert await client.events(plan_id=plan_id) == await platform.events(plan_id=plan_id)


async def test_the_questions_of_a_plan_are_read_as_they_were_stored(platform: Platform, client: PlatformClient) -> None:
    plan_id = await waiting_plan(platform, client)
    told, stored = await client.plan(plan_id), await platform.plan(plan_id)
    assert told.expectations == stored.expectations and told.steps == stored.steps
    assert told.decisions == stored.decisions and told.limits == stored.limits


async def test_the_events_of_a_plan_come_from_its_goal_to_its_end(platform: Platform, client: PlatformClient) -> None:
    plan = await client.follow(await finished_plan(platform, client))
    async with asyncio.timeout(10):
        came = [event async for event in plan.events()]
    assert came == [row.event for row in (await platform.events(plan_id=plan.plan_id)).events]
    assert came[0].id == plan.goal_id


async def test_the_log_is_read_in_pages(platform: Platform, client: PlatformClient) -> None:
    made = [await client.publish("business-facts", "order.lost", ORDER) for _ in range(5)]
    found: list[str] = []
    after, is_end = 0, False
    while not is_end:
        page = await client.events(after=after, limit=2)
        found += [row.event.id for row in page.events]
        after, is_end = page.after, page.is_end
    assert found == made
    last = await client.events(after=after)
    assert (last.events, last.after, last.is_end) == ((), after, True)


async def test_a_session_is_made_once_and_listed(platform: Platform, client: PlatformClient) -> None:
    made = await client.create_session("Order A1", {"shop": 7}, session_id="talk")
    assert (made.session_id, made.name, made.metadata) == ("talk", "Order A1", {"shop": 7})
    assert await client.create_session(session_id="talk") == made
    other = await client.create_session()
    assert {one.session_id for one in await client.sessions()} == {"talk", other.session_id}
    assert await client.sessions() == await platform.sessions()


async def test_dead_letters_are_listed_shown_redriven_and_discarded(platform: Platform, client: PlatformClient) -> None:
    broken = Tool("broken")
    is_mended = asyncio.Event()

    @broken.on_invoke("break.requested")
    async def break_down(request: Any, context: Any) -> dict[str, Any]:
        if not is_mended.is_set():
            raise NotFound("nothing here")
        return {}

    await platform.start(broken)
    for _ in range(2):
        await client.request("break.requested", {}, timeout=10)
    letters = await client.dead_letters()
    assert letters == await platform.dead_letters() and len(letters) == 2
    first, second = letters
    assert await client.dead_letter(first.letter_id) == first
    assert await client.discard(first.letter_id, "known") is True
    assert await client.discard(first.letter_id) is False
    assert (await client.dead_letter(first.letter_id)).status == "discarded"
    is_mended.set()
    assert await client.redrive(second.letter_id) is True
    assert await client.dead_letters() == []


async def test_the_memory_of_a_plan_is_read_and_written(platform: Platform, client: PlatformClient) -> None:
    plan_id, memory = await waiting_plan(platform, client), client.memory
    await memory.store("note", {"a": [1, None, "é"]}, plan_id)
    await memory.store("nothing", None, plan_id)
    await memory.store("a/b ?#%..", 7, plan_id)
    assert await memory.retrieve("note", plan_id) == {"a": [1, None, "é"]}
    assert await memory.retrieve("nothing", plan_id) is None
    assert await memory.retrieve("a/b ?#%..", plan_id) == 7
    assert await memory.retrieve("missing", plan_id) is None
    assert sorted(await memory.keys(plan_id)) == ["a/b ?#%..", "note", "nothing"]
    await memory.store_plan_context(plan_id, None, {"more": True})
    everything = await memory.everything(plan_id)
    assert everything == await platform.memory.everything(plan_id) and everything["more"] is True
    context = await memory.get_plan_context(plan_id)
    assert context == await platform.memory.get_plan_context(plan_id)
    assert await memory.delete("note", plan_id) is True
    assert await memory.delete("note", plan_id) is False
    assert await memory.cleanup(plan_id) == 3
    assert await memory.keys(plan_id) == []
    with pytest.raises(LocalProtocolError):
        await memory.store("note", {1, 2}, plan_id)


async def test_a_plan_is_found_by_the_key_of_its_goal(platform: Platform, client: PlatformClient) -> None:
    plan = await client.follow(await finished_plan(platform, client))
    found = await client.memory.get_plan_by_correlation(plan.goal_id)
    assert found["plan_id"] == plan.plan_id


async def test_a_task_and_its_requests_are_read(platform: Platform, client: PlatformClient) -> None:
    worker, groups = Worker("kitchen"), list[str]()

    @worker.on_task("meal.requested")
    async def cook(task: Any, context: Any) -> None:
        specs = [DelegationSpec(event_type="stove.requested", data={}, response_event=f"stove.{n}") for n in range(2)]
        groups.append(await task.delegate_parallel(specs))
        await task.save()

    @worker.on_result("stove.0")
    @worker.on_result("stove.1")
    async def serve(result: Any, context: Any) -> None: ...

    await platform.start(worker)
    task_id = await client.ask("meal.requested", {})
    await until(platform, lambda: platform.tracker.untaken(task_id=task_id))
    untaken = await client.tracker.untaken(task_id=task_id)
    assert await client.tracker.untaken(task_id=task_id, limit=1) == untaken[:1]
    assert await client.tracker.untaken() == await platform.tracker.untaken()
    group = await client.tracker.delegation_group(groups[0])
    assert group == await platform.tracker.delegation_group(groups[0]) and group.total == 2
    context = await client.memory.get_task_context(task_id)
    assert context["task_id"] == task_id
    assert await client.memory.get_task_by_subtask(untaken[0].request_id) == context


async def test_an_open_request_is_listed_shown_and_cancelled(platform: Platform, client: PlatformClient) -> None:
    worker = Worker("kitchen")

    @worker.on_task("meal.requested")
    async def cook(task: Any, context: Any) -> None:
        await task.delegate("stove.requested", {}, "stove.done")
        await task.save()

    @worker.on_result("stove.done")
    async def serve(result: Any, context: Any) -> None: ...

    await platform.start(worker)
    request_id = await client.ask("meal.requested", {})
    await until(platform, lambda: platform.tracker.untaken(task_id=request_id))
    (found,) = await client.tracker.requests()
    assert (found.action_id, found.agents, found.status) == (request_id, ("kitchen",), "running")
    assert found == await client.tracker.request(request_id) == await platform.tracker.request(request_id)
    assert await client.cancel_request(request_id, "no appetite")
    assert (await client.reply(request_id))["error"] == {"code": "cancelled", "message": "no appetite"}
    assert await client.cancel_request(request_id) is False
    assert await client.tracker.requests() == []


async def test_untaken_requests_of_a_plan_are_listed(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([RESERVE, DONE]))
    plan = await client.submit("order.received", ORDER)
    await sleeps(platform, plan.plan_id)
    handle = await client.follow(plan.plan_id)
    assert await handle.untaken() == await platform.tracker.untaken(plan.plan_id)


async def test_agents_and_their_events_are_found(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([]), stock(), payments(BY_MANAGER))
    registry, here = client.registry, platform.registry
    assert await registry.backlogs() == await here.backlogs() == []
    assert await registry.query() == await here.query() and len(await registry.query()) == 3
    assert await registry.query(name="stock") == await here.query(name="stock")
    assert await registry.query(event="payment.charge.requested", topic="action-requests", live=False)
    assert await registry.events(owner="payments") == await here.events(owner="payments")
    found = await registry.get_event("payment.charge.requested")
    assert found is not None and found == await here.get_event("payment.charge.requested")
    assert await registry.get_event("payment.charge.requested", found.version, topic="action-requests") == found
    assert await registry.get_event("payment.lost") is None
    assert await registry.get_event_schema("payment.charge.requested") == found.payload_schema
    capability = "inventory.reserve.requested"
    assert await registry.find(capability) == await here.find(capability)
    assert await registry.discover([], include_events=False) == await here.discover([], include_events=False)
    assert await registry.find("nobody can") is None
    with pytest.raises(LocalProtocolError, match="would be its letters"):
        await registry.discover("stock")
    with pytest.raises(LocalProtocolError, match="is no topic"):
        await registry.query(topic="gossip")


def bakery(name: str, *capabilities: str) -> Tool:
    return Tool(name, capabilities=capabilities, events_produced=["seen"])


async def test_agents_with_any_of_the_requirements_are_found(platform: Platform, client: PlatformClient) -> None:
    await platform.start(bakery("baker", "bake"), bakery("chef", "cook", "bake"), stock())
    found = await client.registry.discover(["fly", "bake", "cook"])
    assert [(one.name, one.meets) for one in found] == [("chef", ("bake", "cook")), ("baker", ("bake",))]
    assert found == await platform.registry.discover(["fly", "bake", "cook"])
    assert found.unmet == ("fly",)
    nobody = await client.registry.discover(["fly"])
    assert (nobody, nobody.unmet) == ([], ("fly",))


async def test_a_live_agent_is_not_deregistered_and_a_shared_one_never_by_a_tenant(
    platform: Platform, client: PlatformClient
) -> None:
    await platform.start(stock(), Tool("ours", events_produced=["seen"], tenant_id="default"))
    with pytest.raises(LocalProtocolError):
        await client.registry.deregister("ours")
    with pytest.raises(Forbidden):
        await client.registry.deregister("stock")


CALLS: dict[str, Callable[[PlatformClient, str], Awaitable[object]]] = {
    "plan": lambda client, name: client.plan(name),
    "trace": lambda client, name: client.trace(name),
    "prompt": lambda client, name: client.prompt(name, 1),
    "trial": lambda client, name: client.trial(name),
    "add_case": lambda client, name: client.add_case(name, 1, "set"),
    "try_model": lambda client, name: client.try_model(name, "ollama_chat/none"),
    "follow": lambda client, name: client.follow(name),
    "cancel": lambda client, name: client.cancel(name),
    "events": lambda client, name: client.events(plan_id=name),
    "reply": lambda client, name: client.reply(name, timeout=0),
    "request": lambda client, name: client.tracker.request(name),
    "cancel_request": lambda client, name: client.cancel_request(name),
    "wait": lambda client, name: client.wait(name),
    "answer": lambda client, name: client.answer(name, {"approved": True}),
    "dead_letter": lambda client, name: client.dead_letter(2**40),
    "redrive": lambda client, name: client.redrive(2**40),
    "discard": lambda client, name: client.discard(2**40),
    "plan_progress": lambda client, name: client.tracker.plan_progress(name),
    "actions": lambda client, name: client.tracker.actions(name),
    "timeline": lambda client, name: client.tracker.timeline(name),
    "plan_tree": lambda client, name: client.tracker.plan_tree(name),
    "delegation_group": lambda client, name: client.tracker.delegation_group(name),
    "untaken": lambda client, name: client.tracker.untaken(name),
    "retrieve": lambda client, name: client.memory.retrieve("key", name),
    "keys": lambda client, name: client.memory.keys(name),
    "store": lambda client, name: client.memory.store("key", 1, name),
    "delete": lambda client, name: client.memory.delete("key", name),
    "cleanup": lambda client, name: client.memory.cleanup(name),
    "everything": lambda client, name: client.memory.everything(name),
    "get_plan_context": lambda client, name: client.memory.get_plan_context(name),
    "get_plan_by_correlation": lambda client, name: client.memory.get_plan_by_correlation(name),
    "store_plan_context": lambda client, name: client.memory.store_plan_context(name, None, {"a": 1}),
    "get_task_context": lambda client, name: client.memory.get_task_context(name),
    "get_task_by_subtask": lambda client, name: client.memory.get_task_by_subtask(name),
    "deregister": lambda client, name: client.registry.deregister(name),
}


@pytest.mark.parametrize("call", CALLS)
async def test_an_unknown_name_is_not_found_by_any_call(client: PlatformClient, call: str) -> None:
    for name in (NOBODY, "..", "../plans", "a b?c#d%2e"):
        with pytest.raises(NotFound) as raised:
            await CALLS[call](client, name)
        assert type(raised.value) is NotFound


async def test_an_overloaded_platform_refuses_new_work(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([DONE]), stock())
    for services in (platform.services, getattr(client, "services", platform.services)):
        force_setattr(services, "max_backlog", 0)
    with pytest.raises(Overloaded, match="deliveries wait already"):
        await client.submit("order.received", ORDER)


async def test_a_plan_not_yet_begun_is_followed(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner([DONE]), stock())
    plan = await client.submit("order.received", ORDER)
    assert (await client.follow(plan.plan_id)).goal_id == plan.goal_id
    await until(platform, lambda: platform.plans(status="completed"))


async def test_a_followed_plan_shows_its_status_and_is_cancelled_by_its_handle(
    platform: Platform, client: PlatformClient
) -> None:
    plan_id = await waiting_plan(platform, client)
    plan = await client.follow(plan_id)
    assert (await plan.status(), (await client.plan(plan_id)).goal_id) == (PlanStatus.PAUSED, plan.goal_id)
    assert await plan.cancel("changed our mind") is True
    with pytest.raises(PlanCancelled, match="changed our mind"):
        await plan.result(timeout=10)
    assert (await plan.status(), await plan.cancel()) == (PlanStatus.CANCELLED, False)


async def test_questions_are_found_by_a_plan_of_their_tree(platform: Platform, client: PlatformClient) -> None:
    await platform.start(planner(lambda question: CHARGE), payments(BY_MANAGER))
    plans = [await client.submit("order.received", ORDER) for _ in range(2)]
    for plan in plans:
        asked = await plan.next_wait()
        assert asked is not None and asked.plan_id == plan.plan_id
        assert await client.waits(plan_id=plan.plan_id) == [asked]
    assert len(await client.waits()) == 2
    assert await client.waits(plan_id=NOBODY) == []


async def test_the_log_is_read_from_its_end_back(platform: Platform, client: PlatformClient) -> None:
    plan_id = await waiting_plan(platform, client)
    for number in range(12):
        await client.publish("business-facts", "told", {"number": number})
    whole = (await client.events(limit=500)).events
    after, found, is_end = 0, list[StoredEvent](), False
    while not is_end:
        page = await client.events(after=after, limit=5, newest=True)
        found += page.events
        after, is_end = page.after, page.is_end
    assert found == list(reversed(whole)) and len(found) > 12
    tree = (await client.events(limit=500, plan_id=plan_id)).events
    assert (await client.events(limit=500, plan_id=plan_id, newest=True)).events == tuple(reversed(tree))
    assert (await client.events(after=found[-1].seq, newest=True)).events == ()
