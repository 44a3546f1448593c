"""The table of (role, call, owner), walked cell by cell: every call, by every role, on the things of every owner."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from kit import PATIENCE, is_idle, payments, planner, stock, until
from msgspec.structs import asdict
from rights import RIGHTS

from soorma_ai import Approval, Platform, PlatformContext, TaskContext, Tool, Worker
from soorma_ai.adapters.tokens import new_key
from soorma_ai.context_parts.memos import Memo
from soorma_ai.context_parts.progress import PlanPage
from soorma_ai.errors import DeadlineExceeded, Forbidden, IllegalTransition, LocalProtocolError, NotFound
from soorma_ai.features.human_tasks.records import Link
from soorma_ai.features.human_tasks.service import Inbox
from soorma_ai.features.identity.keys import KeyRing
from soorma_ai.features.tracking.tracker import Tracker
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.names import agent_key, plain_name
from soorma_ai.kernel.domain.people import NO_USER, Person
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, Registration
from soorma_ai.kernel.domain.tasks import DelegationSpec
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle
from soorma_ai.kernel.runtime.views.registry import Directory
from soorma_ai.local_client import LocalClient, Memory
from soorma_ai.testing.scripted import publish
from soorma_ai.testing.scripted import wait as ask

T = TypeVar("T")

OWNERS = {
    "own": Person("default", "ann", frozenset()),
    "others": Person("default", "ben", frozenset()),
    "nobodys": Person("default", NO_USER),
    "elsewhere": Person("other", "ann", frozenset()),
}
ROLES = {"user": (), "auditor": ("auditor",), "operator": ("operator",), "root": None}

# The rights of each role on its own, another user's, unowned and another tenant's things.
SEE = {
    "user": "may hidden hidden hidden",
    "auditor": "may may may hidden",
    "operator": "may may may hidden",
    "root": "may may may hidden",
}
STEER = {
    "user": "may hidden hidden hidden",
    "auditor": "may forbidden forbidden hidden",
    "operator": "may may may hidden",
    "root": "may may may hidden",
}
# The rights on the things of a whole tenant, its own and another.
MEET = dict.fromkeys(ROLES, "may hidden")
OVERSEE = {"user": "forbidden hidden", "auditor": "may hidden", "operator": "may hidden", "root": "may hidden"}
MANAGE = {"user": "forbidden hidden", "auditor": "forbidden hidden", "operator": "may hidden", "root": "may hidden"}
GRANT = {
    "user": "forbidden hidden",
    "auditor": "forbidden hidden",
    "operator": "forbidden hidden",
    "root": "may hidden",
}


@dataclass(frozen=True)
class Things:
    """The things of one owner, one of each kind."""

    tenant_id: str
    user_id: str
    session_id: str
    plan_id: str
    goal_id: str
    task_id: str
    wait_id: str
    request_id: str
    letter_id: int
    group_id: str
    untaken_id: str
    agent: str
    key: ApiKey


def has(found: Iterable[T], fits: Callable[[T], bool]) -> None:
    if not any(map(fits, found)):
        raise NotFound("it is not in the list")


def given(found: object) -> None:
    if found is None:
        raise NotFound("there is none")


async def _kept(c: LocalClient, t: Things) -> None:
    """An open task is ended by its worker, even for a person with the right to steer it."""
    with suppress(IllegalTransition):
        assert await c.memory.delete_task_context(t.task_id) is False


async def _result(c: LocalClient, t: Things) -> None:
    handle = await c.follow(t.plan_id)
    with pytest.raises(DeadlineExceeded):
        await handle.result(timeout=0)


async def _first_event(c: LocalClient, t: Things) -> None:
    async for event in (await c.follow(t.plan_id)).events():
        assert event.type == "order.received"
        break


Call = Callable[[LocalClient, Things], Awaitable[Any]]


async def _pages(found: Awaitable[PlanPage], things: Things) -> None:
    has((await found).plans, lambda one: one.plan_id == things.plan_id)


async def _of_tenant(c: LocalClient, t: Things, found: Awaitable[object]) -> None:
    """A call about the caller's own tenant."""
    await found
    has([c.person], lambda person: person.tenant_id == t.tenant_id)


async def _listed(found: Awaitable[Iterable[T]], fits: Callable[[T], bool]) -> None:
    has(await found, fits)


async def _found(found: Awaitable[object]) -> None:
    given(await found)


async def _page(c: LocalClient, t: Things) -> None:
    page = await c.events(limit=500)
    has(page.events, lambda row: row.event.id == t.request_id)
    assert (await c.events(plan_id=t.plan_id)).events


async def _told(found: Awaitable[Iterable[Memo]], t: Things) -> None:
    """It finds memos of this tenant only: no other can be named."""
    has(await found, lambda memo: memo.content == f"tea of {t.tenant_id}")


async def _known(c: LocalClient, t: Things) -> None:
    known = await c.memory.get_knowledge("tea", user_id=t.user_id)
    has([known] if known else [], lambda memo: memo.content == f"tea of {t.tenant_id}")


async def _cancelled(c: LocalClient, t: Things) -> None:
    """By a handle, got with the right to see the plan."""
    await PlanHandle(t.plan_id, t.goal_id, c).cancel()


async def _let(call: Awaitable[object]) -> None:
    """Let through a call refused for another reason than its owner."""
    with suppress(LocalProtocolError):
        await call


async def _hand_over(c: LocalClient, t: Things) -> None:
    """With the right to steer, the error is about the unknown colleague; without it, about the caller."""
    with pytest.raises(LocalProtocolError) as refused:
        await c.inbox.hand_over(t.wait_id, "zoe")
    if "the roles of zoe are not known here" not in str(refused.value):
        raise Forbidden(str(refused.value))


async def _check_link(c: LocalClient, t: Things) -> None:
    now, person = c.services.clock.now(), c.person
    link = Link("inbox", "", person.tenant_id, person.user_id, frozenset(), now, now + timedelta(days=1))
    await c.inbox.check_link(link, is_listed=False)


async def _resumed(c: LocalClient, t: Things) -> None:
    with suppress(IllegalTransition):  # there may be nothing to resume
        await c.resume(t.plan_id)


SEEING: dict[str, Call] = {
    "plan": lambda c, t: c.plan(t.plan_id),
    "plans": lambda c, t: _listed(c.plans(), lambda one: one.plan_id == t.plan_id),
    "trace": lambda c, t: c.trace(t.plan_id),
    "follow": lambda c, t: c.follow(t.plan_id),
    "events": _page,
    "sessions": lambda c, t: _listed(c.sessions(), lambda one: one.session_id == t.session_id),
    "reply": lambda c, t: c.reply(t.request_id, timeout=0),
    "tracker.request": lambda c, t: c.tracker.request(t.request_id),
    "tracker.requests": lambda c, t: _listed(c.tracker.requests(), lambda one: one.action_id == t.task_id),
    "waits": lambda c, t: _listed(c.waits(), lambda one: one.wait_id == t.wait_id),
    "wait": lambda c, t: c.wait(t.wait_id),
    "find_waits": lambda c, t: _listed(c.find_waits(t.wait_id), lambda one: one.wait_id == t.wait_id),
    "find_events": lambda c, t: _listed(c.find_events(t.request_id), lambda one: one.id == t.request_id),
    "dead_letters": lambda c, t: _listed(c.dead_letters(), lambda one: one.letter_id == t.letter_id),
    "dead_letter": lambda c, t: c.dead_letter(t.letter_id),
    "inbox.claim": lambda c, t: _let(c.inbox.claim(t.wait_id)),
    "inbox.snooze": lambda c, t: _let(c.inbox.snooze(t.wait_id, c.services.clock.now() + timedelta(hours=1))),
    "inbox.release": lambda c, t: c.inbox.release(t.wait_id),
    "inbox.colleagues": lambda c, t: _let(c.inbox.colleagues(t.wait_id)),
    "inbox.notices": lambda c, t: c.inbox.notices(t.wait_id),
    "inbox.look": lambda c, t: c.inbox.look(t.wait_id, []),
    "handle.result": _result,
    "handle.events": _first_event,
    "handle.next_wait": lambda c, t: _through(c, t, PlanHandle.next_wait),
    "handle.describe": lambda c, t: _through(c, t, PlanHandle.describe),
    "handle.status": lambda c, t: _through(c, t, PlanHandle.status),
    "handle.untaken": lambda c, t: _through(c, t, PlanHandle.untaken),
    "memory.retrieve": lambda c, t: c.memory.retrieve("k", t.plan_id),
    "memory.keys": lambda c, t: c.memory.keys(t.plan_id),
    "memory.everything": lambda c, t: c.memory.everything(t.plan_id),
    "memory.get_plan_context": lambda c, t: c.memory.get_plan_context(t.plan_id),
    "memory.get_plan_by_correlation": lambda c, t: c.memory.get_plan_by_correlation(t.goal_id),
    "memory.get_task_context": lambda c, t: c.memory.get_task_context(t.task_id),
    "memory.get_task_by_subtask": lambda c, t: c.memory.get_task_by_subtask(t.untaken_id),
    "memory.list_plans": lambda c, t: _listed(c.memory.list_plans(limit=50), lambda one: one.plan_id == t.plan_id),
    "memory.list_sessions": lambda c, t: _listed(
        c.memory.list_sessions(50), lambda one: one.session_id == t.session_id
    ),
    "memory.get_knowledge": _known,
    "memory.search_knowledge": lambda c, t: _told(c.memory.search_knowledge("tea", user_id=t.user_id), t),
    "memory.get_recent_history": lambda c, t: _told(c.memory.get_recent_history("clerk", user_id=t.user_id), t),
    "memory.search_interactions": lambda c, t: _told(c.memory.search_interactions("clerk", "", user_id=t.user_id), t),
    "memory.get_relevant_skills": lambda c, t: _told(c.memory.get_relevant_skills("tea", user_id=t.user_id), t),
    "tracker.plan_progress": lambda c, t: c.tracker.plan_progress(t.plan_id),
    "tracker.actions": lambda c, t: c.tracker.actions(t.plan_id),
    "tracker.timeline": lambda c, t: c.tracker.timeline(t.plan_id),
    "tracker.plans": lambda c, t: _pages(c.tracker.plans(), t),
    "tracker.plan_tree": lambda c, t: c.tracker.plan_tree(t.plan_id),
    "tracker.session_plans": lambda c, t: _listed(
        c.tracker.session_plans(t.session_id), lambda one: one.plan_id == t.plan_id
    ),
    "tracker.delegation_group": lambda c, t: c.tracker.delegation_group(t.group_id),
    "tracker.untaken": lambda c, t: _listed(c.tracker.untaken(), lambda one: one.request_id == t.untaken_id),
}
# In an order without a call that takes a later one's thing.
STEERING: dict[str, Call] = {
    "prompt": lambda c, t: c.prompt(t.plan_id),
    "trial": lambda c, t: c.trial(t.plan_id),
    "inbox.hand_over": _hand_over,
    "inbox.back": lambda c, t: _of(c, t).inbox.back(t.user_id or "nobody known"),
    "inbox.revoke_link": lambda c, t: _of(c, t).inbox.revoke_link("inbox", user_id=t.user_id or "nobody known"),
    "memory.store": lambda c, t: c.memory.store("k", 2, t.plan_id),
    "memory.store_plan_context": lambda c, t: c.memory.store_plan_context(t.plan_id, None, {"k": 3}),
    "memory.store_task_context": lambda c, t: c.memory.store_task_context(t.task_id, None, {"k": 3}),
    "memory.delete_task_context": _kept,
    "memory.increment": lambda c, t: c.memory.increment("k", 1, t.plan_id),
    "memory.append": lambda c, t: c.memory.append("l", 1, t.plan_id),
    "memory.delete": lambda c, t: c.memory.delete("k", t.plan_id),
    "memory.cleanup": lambda c, t: c.memory.cleanup(t.plan_id),
    "memory.store_knowledge": lambda c, t: _of(c, t).memory.store_knowledge("x", key="tea", user_id=t.user_id),
    "memory.delete_knowledge": lambda c, t: _of(c, t).memory.delete_knowledge("tea", user_id=t.user_id),
    "memory.log_interaction": lambda c, t: _of(c, t).memory.log_interaction("clerk", "user", "x", user_id=t.user_id),
    "memory.store_skill": lambda c, t: _of(c, t).memory.store_skill("tea", "x", user_id=t.user_id),
    "memory.delete_skill": lambda c, t: _of(c, t).memory.delete_skill("tea", user_id=t.user_id),
    "go into a session": lambda c, t: c.submit("order.received", {}, session_id=t.session_id),
    "publish to a plan": lambda c, t: c.publish("business-facts", "told", {}, plan_id=t.plan_id),
    "discard": lambda c, t: c.discard(t.letter_id, "enough"),
    "redrive": lambda c, t: c.redrive(t.letter_id),
    "resume": _resumed,
    "cancel": lambda c, t: c.cancel(t.plan_id),
    "handle.cancel": _cancelled,
    "cancel_request": lambda c, t: c.cancel_request(t.task_id),
}
NAMING = {name: STEERING[name] for name in ("go into a session", "publish to a plan")}
MEETING: dict[str, Call] = {
    "inbox.absences": lambda c, t: _of_tenant(c, t, c.inbox.absences()),
    "registry.find": lambda c, t: _found(c.registry.find(f"skill of {t.agent}")),
    "registry.discover": lambda c, t: _listed(c.registry.discover([f"skill of {t.agent}"]), lambda one: True),
    "registry.query": lambda c, t: _listed(c.registry.query(name=t.agent), lambda one: True),
    "registry.events": lambda c, t: _listed(c.registry.events(owner=t.agent), lambda one: True),
    "registry.live_events": lambda c, t: _listed(
        c.registry.live_events(), lambda one: plain_name(one.agent) == t.agent
    ),
    "registry.get_event": lambda c, t: _found(c.registry.get_event(f"{t.agent}.asked")),
    "registry.get_event_schema": lambda c, t: _found(c.registry.get_event_schema(f"{t.agent}.asked")),
}
MANAGING: dict[str, Call] = {
    "registry.deregister": lambda c, t: _deregister(c, t.agent),
    "memory.share": lambda c, t: _of(c, t).memory.store_knowledge("x", key="k", shared=True),
    "prune": lambda c, t: _of(c, t).prune(dry_run=True),
    "forget": lambda c, t: _of(c, t).forget("nobody known"),
    "cases": lambda c, t: _of(c, t).cases(),
    "add_case": lambda c, t: _tried(_of(c, t).add_case(t.plan_id, 1, "set")),
    "import_cases": lambda c, t: _of(c, t).import_cases([]),
    "collect_cases": lambda c, t: _of(c, t).collect_cases(),
    "remove_case": lambda c, t: _of(c, t).remove_case("unknown"),
    "models": lambda c, t: _of(c, t).models(),
    "retire_model": lambda c, t: _of(c, t).retire_model("ollama_chat/old", "ollama_chat/new", price=(0, 0)),
    "restore_model": lambda c, t: _of(c, t).restore_model("ollama_chat/old"),
    "shadow_report": lambda c, t: _of(c, t).shadow_report("orders"),
    "check_upgrade": lambda c, t: _of(c, t).check_upgrade(),
    "fork": lambda c, t: _of(c, t).fork(t.plan_id, 1),
    "fork_to_act": lambda c, t: _of(c, t).fork(t.plan_id, 1, act=True),
    "try_model": lambda c, t: _of(c, t).try_model(t.plan_id, "ollama_chat/none", patience=0),
}
GRANTING: dict[str, Call] = {
    "keys.add": lambda c, t: c.keys.add(new_key(t.tenant_id, "eve", c.services.clock.now())[0]),
    "keys.revoke": lambda c, t: c.keys.revoke(t.key.key_id),
    "keys.ls": lambda c, t: _listed(c.keys.ls(), lambda one: one.key_id == t.key.key_id),
    "remove a shared agent": lambda c, t: _deregister(c, "shared" if t.tenant_id == "default" else t.agent),
}
OVERSEEING: dict[str, Call] = {
    "audit": lambda c, t: _listed(c.audit(), lambda one: one.entry.tenant_id == t.tenant_id),
    "inbox.links": lambda c, t: _of_tenant(c, t, c.inbox.links()),
    "registry.backlogs": lambda c, t: _of_tenant(c, t, c.registry.backlogs()),
}
BEGINNING: dict[str, Call] = {
    "submit": lambda c, t: c.submit("order.received", {}),
    "request": lambda c, t: c.request("inventory.reserve.requested", {"order_id": "A"}, timeout=PATIENCE),
    "ask": lambda c, t: c.ask("inventory.reserve.requested", {"order_id": "A"}),
    "publish": lambda c, t: c.publish("business-facts", "told", {}),
    "create_session": lambda c, t: c.create_session(),
    "memory.create_session": lambda c, t: c.memory.create_session(),
    "memory.create_plan": lambda c, t: c.memory.create_plan("order.received", {}),
    "resume_all": lambda c, t: c.resume_all(),
    "inbox.away": lambda c, t: _let(c.inbox.away(c.services.clock.now() + timedelta(days=1), "zoe")),
    "inbox.stands_in_for": lambda c, t: c.inbox.stands_in_for(),
    "inbox.make_link": lambda c, t: c.inbox.make_link("inbox"),
    "inbox.check_link": _check_link,
}
OF_A_TENANT = ((MEETING, MEET), (OVERSEEING, OVERSEE), (GRANTING, GRANT), (MANAGING, MANAGE))
KINDS: dict[str, type] = {
    "": LocalClient,
    "memory.": Memory,
    "tracker.": Tracker,
    "registry.": Directory,
    "keys.": KeyRing,
    "handle.": PlanHandle,
    "inbox.": Inbox,
}


async def _through(c: LocalClient, t: Things, call: Callable[[PlanHandle], Awaitable[Any]]) -> None:
    await call(await c.follow(t.plan_id))


async def _deregister(c: LocalClient, agent: str) -> None:
    await c.services.store.registry.leave([agent, agent_key(c.person.tenant_id, agent)])
    await c.registry.deregister(agent)


def _of(c: LocalClient, t: Things) -> LocalClient:
    """A prune is of the caller's own tenant: no other can be named."""
    if t.tenant_id != c.person.tenant_id:
        raise NotFound("no call names it")
    return c


async def _tried(call: Awaitable[object]) -> None:
    """Let through a plan without a decision."""
    try:
        await call
    except NotFound as missing:
        if "has no decision" not in str(missing):
            raise


def agents(groups: list[str]) -> list[Any]:
    broken = Tool("broken")

    @broken.on_invoke("break.requested")
    async def breaks(request: Any, context: PlatformContext) -> None:
        raise ValueError("a bug")

    clerk = Worker("clerk")

    @clerk.on_task("task.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        groups.append(await task.delegate_parallel([DelegationSpec("nobody.takes.this", {}, "done")] * 2))

    clerk.on_result("done")(lambda result, context: None)
    gate = payments(Approval(approvers=("manager",)))
    return [planner(lambda question: publish("payment.charge.requested", amount=5)), gate, stock(), broken, clerk]


async def make_things(platform: Platform, person: Person, groups: list[str]) -> Things:
    """Make the things of one person, one of each kind."""
    services, owner, root = platform.services, LocalClient(platform.services, person), Person(person.tenant_id)
    session = await owner.create_session("talk")
    plan = await owner.submit("order.received", {}, session_id=session.session_id)
    everything = LocalClient(services, root)
    wait = await until(platform, plan.next_wait)
    await owner.memory.store("k", 1, plan.plan_id)
    await owner.memory.store_knowledge(f"tea of {person.tenant_id}", key="tea")
    await owner.memory.log_interaction("clerk", "user", f"tea of {person.tenant_id}")
    await owner.memory.store_skill("tea", f"tea of {person.tenant_id}")
    await owner.request("inventory.reserve.requested", {"order_id": "A"}, timeout=PATIENCE, idempotency_key="one")
    await owner.publish("action-requests", "break.requested", {})
    (letter,) = await until(platform, everything.dead_letters)
    task_id = await owner.ask("task.requested", {})
    await until(platform, lambda: groups)
    untaken = await until(platform, everything.tracker.untaken)
    agent = f"tool-{person.tenant_id}"
    definition = EventDefinition(event_name=f"{agent}.asked")
    registered = Registration(agent, AgentKind.TOOL, tenant_id=person.tenant_id, capabilities=(f"skill of {agent}",))
    events = ((EventRole.TAKES, definition),)
    shared = Registration("shared", AgentKind.TOOL)
    await services.store.registry.register(
        [Registration(**asdict(registered) | {"events": events}), shared], services.clock.now()
    )
    key, _ = new_key(person.tenant_id, person.user_id or "nina", services.clock.now())
    await everything.keys.add(key)
    await everything.as_caller(key.caller).publish("business-facts", "told", {})
    request_id = derived_id(CLIENT, person.tenant_id, person.user_id, "inventory.reserve.requested", "one")
    return Things(
        tenant_id=person.tenant_id,
        user_id=person.user_id,
        session_id=session.session_id,
        plan_id=plan.plan_id,
        goal_id=plan.goal_id,
        task_id=task_id,
        wait_id=wait.wait_id,
        request_id=request_id,
        letter_id=letter.letter_id,
        group_id=groups[0],
        untaken_id=untaken[0].request_id,
        agent=agent,
        key=key,
    )


async def verdict(call: Call, client: LocalClient, things: Things) -> str:
    try:
        await call(client, things)
    except NotFound:
        return "hidden"
    except Forbidden:
        return "forbidden"
    return "may"


async def walk(calls: Mapping[str, Call], client: LocalClient, things: Things) -> dict[str, str]:
    return {name: await verdict(call, client, things) for name, call in calls.items()}


@pytest.fixture
async def groups(platform: Platform) -> AsyncIterator[list[str]]:
    known: list[str] = []
    await platform.start(*agents(known))
    yield known


@pytest.mark.parametrize("whose", OWNERS)
@pytest.mark.parametrize("role", ROLES)
async def test_every_call_on_the_things_of_every_owner_ends_as_in_the_table(
    platform: Platform, groups: list[str], role: str, whose: str
) -> None:
    things, roles = await make_things(platform, OWNERS[whose], groups), ROLES[role]
    person = Person("default", "ann", None if roles is None else frozenset(roles))
    client, column = LocalClient(platform.services, person), list(OWNERS).index(whose)
    seen, steered = SEE[role].split()[column], STEER[role].split()[column]
    assert await walk(SEEING, client, things) == dict.fromkeys(SEEING, seen)
    # With sight of the question the error says that others must answer, and else that there is none.
    assert await verdict(lambda c, t: c.answer(t.wait_id, {}), client, things) == seen
    if whose in ("nobodys", "elsewhere"):
        for calls, table in OF_A_TENANT:
            wanted = table[role].split()[whose == "elsewhere"]
            if calls is OVERSEEING and wanted == "hidden" and role == "user":
                wanted = "forbidden"  # of one's own tenant, the only one that can be asked for
            found = await walk(calls, client, things)
            if calls is GRANTING and whose == "elsewhere" and role != "root":
                assert [found.pop(name) for name in ("keys.ls", "keys.revoke")] == ["forbidden"] * 2
            assert found == dict.fromkeys(found, wanted)
    if whose == "own":
        assert await walk(BEGINNING, client, things) == dict.fromkeys(BEGINNING, "may")
    found = await walk(STEERING, client, things)
    if whose == "elsewhere":
        # In the caller's tenant, the names of another tenant's things are unknown.
        unknown = await walk(NAMING, client, replace(things, session_id="new", plan_id="unknown"))
        assert {name: found.pop(name) for name in NAMING} == unknown
    assert found == dict.fromkeys(found, steered)


def test_the_walk_takes_every_public_call() -> None:
    walked = {*SEEING, *STEERING, *BEGINNING, "answer", *(name for calls, _ in OF_A_TENANT for name in calls)}
    calls = {
        f"{prefix}{name}"
        for prefix, kind in KINDS.items()
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in ("as_user", "as_caller", "event_id", "whoami")
    }
    assert calls <= walked
    # A handle has the right of `follow`, a search of questions that of `waits`.
    for names in (calls, walked):
        assert {name for name in names if not name.startswith("handle.")} - {"find_waits"} <= set(RIGHTS)


async def test_a_question_without_approvers_is_listed_to_its_owner_and_answered_by_its_id(platform: Platform) -> None:
    await platform.start(planner(lambda question: publish("payment.charge.requested", amount=5)), payments("always"))
    ann, ben = (platform.as_user(tenant_id="default", user_id=name) for name in ("ann", "ben"))
    plan = await ann.submit("order.received", {})
    wait = await until(platform, plan.next_wait)
    assert ([one.wait_id for one in await ann.waits()], await ben.waits()) == ([wait.wait_id], [])
    assert await ben.wait(wait.wait_id) == wait
    assert await ben.answer(wait.wait_id, {"approved": True}) == "accepted"


async def test_an_approver_sees_the_question_and_not_the_plan(platform: Platform, groups: list[str]) -> None:
    things = await make_things(platform, OWNERS["others"], groups)
    manager = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
    assert [one.wait_id for one in await manager.waits()] == [things.wait_id]
    with pytest.raises(NotFound):
        await manager.plan(things.plan_id)
    assert await manager.answer(things.wait_id, {"approved": True}) == "accepted"


@pytest.mark.parametrize("whose", ["others", "elsewhere"])
async def test_a_guessed_id_gets_the_same_error_as_an_unknown_one(
    platform: Platform, groups: list[str], whose: str
) -> None:
    things = await make_things(platform, OWNERS[whose], groups)
    eve = platform.as_user(tenant_id="default", user_id="eve")
    calls: dict[str, Callable[[str], Awaitable[Any]]] = {
        things.plan_id: eve.plan,
        things.wait_id: eve.wait,
        things.request_id: lambda name: eve.reply(name, timeout=0),
        str(things.letter_id): lambda name: eve.dead_letter(int(name)),
        things.group_id: eve.tracker.delegation_group,
    }
    for known, call in calls.items():
        unknown = "404"
        words: list[str] = []
        for name in (known, unknown):
            with pytest.raises(NotFound) as told:
                await call(name)
            words.append(str(told.value).replace(name, "ID"))
        assert words[0] == words[1]


async def test_an_auditor_may_not_answer_a_question_without_approvers(platform: Platform) -> None:
    await platform.start(planner(lambda question: publish("payment.charge.requested", amount=5)), payments("always"))
    plan = await platform.as_user(tenant_id="default", user_id="ann").submit("order.received", {})
    wait = await until(platform, plan.next_wait)
    auditor, operator = (
        platform.as_user(tenant_id="default", user_id=role, roles={role}) for role in ("auditor", "operator")
    )
    with pytest.raises(Forbidden):
        await auditor.answer(wait.wait_id, {"approved": True})
    assert await operator.answer(wait.wait_id, {"approved": True}) == "accepted"


async def test_a_fact_of_one_user_moves_no_plan_of_another_by_its_data(platform: Platform) -> None:
    confirmed = EventDefinition(
        event_name="carrier.confirmed", topic="business-facts", correlate={"/order_id": "goal_data.order_id"}
    )
    minds = planner([ask("carrier.confirmed", "Has it left?")] * 9, external_events=[confirmed])
    await platform.start(minds)
    ann, ben = (platform.as_user(tenant_id="default", user_id=name) for name in ("ann", "ben"))
    fact = ("business-facts", "carrier.confirmed", {"order_id": "A"})
    await ben.publish(*fact)
    plan = await ann.submit("order.received", {"order_id": "A"})
    wait = await until(platform, plan.next_wait)
    await ben.publish(*fact)
    await until(platform, lambda: is_idle(platform))
    (asked,) = (await ann.plan(plan.plan_id)).expectations
    assert (asked.id, asked.status) == (wait.wait_id, "open")
    await ann.publish(*fact)

    async def is_asked_again() -> bool:
        found = await plan.next_wait()
        return found is not None and found.wait_id != wait.wait_id

    await until(platform, is_asked_again)


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "a\x1b"])
def test_an_unprintable_name_of_a_tenant_user_or_role_is_refused(name: str) -> None:
    for given in ({"tenant_id": name}, {"user_id": name}, {"roles": frozenset({name})}):
        with pytest.raises(LocalProtocolError, match="no name"):
            Person(**given)  # type: ignore[arg-type]
