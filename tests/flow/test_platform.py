"""Wrong input is refused at the border: a SoormaError names the value found, the value wanted and the cure, and the
platform works afterwards."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kit import AMOUNT, open_platform, order, payments, planner, sleeps, stock, the_wait, wait_for_end

from soorma_ai import (
    Agent,
    Approval,
    ChoreographyPlanner,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.adapters.single_writer.lock import AlreadyOwned, owner_of
from soorma_ai.errors import ConfigError, DeadlineExceeded, LocalProtocolError, NotFound, SoormaError
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, wait

REPLIED = EventDefinition(event_name="user.replied", topic="business-facts", payload_schema=AMOUNT)


def planner_with_model(**options: Any) -> ChoreographyPlanner:
    options.setdefault("goals", ["order.received"])
    return ChoreographyPlanner("orders", **options)


def says(told: BaseException, *words: str) -> None:
    assert [word for word in words if word not in str(told)] == [], str(told)


async def works(platform: Platform) -> None:
    """A request goes out and its reply comes back."""
    known = await platform.services.store.registry.agents(platform.services.clock.now())
    if "stock" not in {row.agent for row in known if row.live}:
        await platform.start(stock())
    reply = await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=5)
    assert reply["result"] == {"reserved": "A"}


async def registered_agents(platform: Platform) -> list[str]:
    return [row.agent for row in await platform.services.store.registry.agents(platform.services.clock.now())]


# Models


class Keyless(ScriptedReasoner):
    def check(self) -> None:
        raise ConfigError("set SOME_API_KEY")


async def test_a_model_without_its_key_is_refused_before_anything_runs(platform: Platform) -> None:
    hooks: list[str] = []
    shop = stock()
    shop.on_startup(lambda: hooks.append("started"))
    with pytest.raises(ConfigError, match="SOME_API_KEY"):
        await platform.start(shop, planner_with_model(reasoner=Keyless([])))
    assert (hooks, await registered_agents(platform)) == ([], [])
    await platform.start(shop)
    await works(platform)


# Invalid agents


@pytest.mark.parametrize("model", [None, ""])
def test_a_planner_without_a_model_cannot_think(model: str | None) -> None:
    with pytest.raises(
        ConfigError, match=r"orders cannot think: give reasoning_model='provider/model', or a reasoner="
    ):
        planner_with_model(reasoning_model=model)


def test_a_misspelt_option_of_a_planner_is_no_setting_of_its_model() -> None:
    with pytest.raises(ConfigError, match=r"'max_action'; did you mean 'max_actions'"):
        planner_with_model(reasoner=ScriptedReasoner([]), max_action=3)


async def test_a_planner_without_goals_is_refused(platform: Platform) -> None:
    with pytest.raises(ConfigError, match=r"orders has no goal: give goals=\[\.\.\.\]"):
        await platform.start(planner([], goals=[]))
    assert await registered_agents(platform) == []
    await works(platform)


async def test_two_agents_of_one_name_are_refused_and_neither_starts(platform: Platform) -> None:
    with pytest.raises(ConfigError, match=r"two agents are called stock; .* rename one"):
        await platform.start(stock(), stock())
    assert await registered_agents(platform) == []
    await works(platform)
    with pytest.raises(ConfigError, match="two agents are called stock"):
        await platform.start(stock())
    await works(platform)


@pytest.mark.parametrize(
    "make",
    [
        lambda: planner_with_model(goals="order.received", reasoner=ScriptedReasoner([])),
        lambda: planner([], external_events="order.received"),
        lambda: Agent("a", events_produced="order.received"),
        lambda: Agent("a", capabilities="order.received"),
    ],
    ids=["goals", "external_events", "events_produced", "capabilities"],
)
def test_text_in_place_of_a_list_is_not_taken_by_its_letters(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match=r"='order\.received' would be its letters; give a list: \w+=\['order\."):
        make()


async def test_roles_given_as_text_are_refused_where_they_are_given(platform: Platform) -> None:
    with pytest.raises(ConfigError, match=r"approvers='manager'.*give a tuple"):
        Approval(approvers="manager")  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match=r"roles='manager'.*give a set"):
        platform.as_user(tenant_id="default", user_id="maria", roles="manager")


# Schemas


def _invoked(**options: Any) -> Any:
    return lambda: Tool("t").on_invoke("t.requested", **options)(_answer)


async def _answer(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    "make",
    [
        _invoked(payload_schema={"type": "objekt"}),
        _invoked(response_schema={"type": "objekt"}),
        lambda: Approval(response_schema={"type": "objekt"}),
    ],
    ids=["payload", "response", "approval"],
)
def test_a_malformed_schema_is_refused_at_its_declaration(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match=r'malformed JSON Schema \{"type":"objekt"\}: "objekt" is not valid'):
        make()


@pytest.mark.parametrize("schema", [{"type": {"object"}}, "order"])
def test_a_schema_outside_json_is_refused(schema: Any) -> None:
    with pytest.raises(ConfigError, match="JSON Schema"):
        _invoked(payload_schema=schema)()


def priced_tool(schema: dict[str, Any], name: str) -> Tool:
    tool = Tool(name)
    tool.on_invoke("price.asked", payload_schema=schema, version="1")(_answer)
    return tool


async def test_one_version_cannot_stand_for_two_schemas_and_none_of_its_agents_starts(platform: Platform) -> None:
    other = {**AMOUNT, "required": []}
    with pytest.raises(ConfigError) as refused:
        await platform.start(stock(), priced_tool(AMOUNT, "first"), priced_tool(other, "second"))
    says(refused.value, "second registers 'price.asked'", "version '1'", "first did", "give the new one a new version")
    assert await registered_agents(platform) == []
    await works(platform)


# Calls


async def test_data_off_its_schema_is_refused_by_path_and_nothing_is_published(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", payload_schema=AMOUNT)
    await platform.start(payments(), planner([complete({"ok": 1})], goals=[goal]))
    for call in (platform.submit, platform.request):
        event = "order.received" if call == platform.submit else "payment.charge.requested"
        with pytest.raises(LocalProtocolError) as refused:
            await call(event, {"amount": -3})
        says(refused.value, event, "$.amount", "rule minimum", "found -3", "wanted 0")
    assert await platform.services.store.events.events(limit=10) == []
    plan = await platform.submit("order.received", {"amount": 3})
    assert await plan.result(timeout=5) == {"ok": 1}


@pytest.mark.parametrize("data", [{"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"x": float("nan")}, {"x": object()}, [1]])
async def test_data_outside_json_is_refused_and_nothing_is_published(platform: Platform, data: Any) -> None:
    await platform.start(stock(), planner([]))
    calls: list[Callable[[], Any]] = [
        lambda: platform.submit("order.received", data),
        lambda: platform.request("inventory.reserve.requested", data),
        lambda: platform.publish("business-facts", "order.lost", data),
    ]
    for call in calls:
        with pytest.raises(LocalProtocolError, match="must be JSON, found"):
            await call()
    assert await platform.services.store.events.events(limit=10) == []
    await works(platform)


async def test_an_unknown_topic_or_status_is_refused_with_the_known_ones(platform: Platform) -> None:
    with pytest.raises(LocalProtocolError, match="'facts' is no topic; there are business-facts, "):
        await platform.publish("facts", "order.lost", {})
    with pytest.raises(LocalProtocolError, match="'dead' is no status of a plan; there are pending, "):
        await platform.plans(status="dead")
    with pytest.raises(ConfigError, match=r"business-facts.*it is a topic; give the event's own name"):
        await platform.publish("business-facts", "business-facts", {})
    await works(platform)


@pytest.mark.parametrize("call", ["plan", "follow", "cancel"])
async def test_an_unknown_plan_is_not_found_and_the_error_names_the_command_to_list_plans(
    platform: Platform, call: str
) -> None:
    with pytest.raises(NotFound, match=r"no plan plan-7 in tenant 'default'; `soorma plans ls` lists them"):
        await getattr(platform, call)("plan-7")
    await works(platform)


async def test_an_unknown_question_cannot_be_answered(platform: Platform) -> None:
    with pytest.raises(NotFound, match=r"no question wait-7 is asked of tenant 'default'; list the open ones"):
        await platform.answer("wait-7", {"approved": True})
    await works(platform)


UNANSWERED: dict[str, Callable[[Platform, str, str], Any]] = {
    "'yes' is no decision; there are approve, edit, reject, respond": (
        lambda platform, plan_id, wait_id: platform.answer(wait_id, {"amount": 5}, decision="yes")
    ),
    "the answer.* must be JSON": lambda platform, plan_id, wait_id: platform.answer(wait_id, {"amount": object()}),
    "cancel_requested": lambda platform, plan_id, wait_id: platform.cancel(plan_id, 5),  # type: ignore[arg-type]
    "note": lambda platform, plan_id, wait_id: platform.answer(wait_id, {"amount": 5}, note=5),  # type: ignore[arg-type]
    "answer_id": lambda platform, plan_id, wait_id: platform.answer(wait_id, {"amount": 5}, answer_id=5),  # type: ignore[arg-type]
    "far too long a number": lambda platform, plan_id, wait_id: platform.answer(wait_id, {"amount": 10**5000}),
}


async def test_an_invalid_or_unstorable_answer_is_refused_and_the_next_answer_counts(platform: Platform) -> None:
    plan = await order(
        platform, stock(), planner([wait("user.replied", "How much?"), complete({})], external_events=[REPLIED])
    )
    question = await the_wait(platform)
    for words, call in UNANSWERED.items():
        with pytest.raises(LocalProtocolError, match=words):
            await call(platform, plan.plan_id, question.wait_id)
    outcome = await platform.answer(question.wait_id, {"amount": "much"})
    assert outcome == "invalid"
    for word in ("off its schema", "$.amount", '"much"', "number"):
        assert word in outcome.detail
    assert [one.status for one in await platform.plans()] == ["paused"]
    assert await platform.answer(question.wait_id, {"amount": 5}) == "accepted"
    assert await plan.result(timeout=5) == {}
    assert (await platform.plan(plan.plan_id)).status == "completed"


@pytest.mark.parametrize(("call", "reason"), [("plan", ()), ("follow", ()), ("cancel", (None,))])
async def test_a_submitted_plan_is_there_at_once(platform: Platform, call: str, reason: Any) -> None:
    plan = await order(platform, planner([wait("user.replied", "?")], external_events=["user.replied"]), stock())
    found = await getattr(platform, call)(plan.plan_id, *reason)
    if call == "plan":
        assert (found.status, found.goal_event) == ("pending", "order.received")
    if call == "cancel":
        assert (await wait_for_end(platform, plan.plan_id)).status == "cancelled"
    with pytest.raises(NotFound):
        await platform.as_user(tenant_id="other", user_id="u").plan(plan.plan_id)


async def test_an_idempotency_key_stands_for_one_content(platform: Platform) -> None:
    await platform.start(stock(), planner([complete({"order": "A"})]))
    plan = await platform.submit("order.received", {"order_id": "A"}, idempotency_key="click")
    with pytest.raises(LocalProtocolError) as refused:
        await platform.submit("order.received", {"order_id": "B"}, idempotency_key="click")
    says(refused.value, '{"order_id":"A"}', '{"order_id":"B"}', "another id or idempotency key")
    assert await plan.result(timeout=5) == {"order": "A"}
    again = await platform.submit("order.received", {"order_id": "A"}, idempotency_key="click")
    assert again.plan_id == plan.plan_id
    assert len(await platform.plans()) == 1


async def test_a_plan_without_live_agents_is_parked_and_its_details_name_the_reason(platform: Platform) -> None:
    model = ScriptedReasoner([complete({"done": 1})])
    plan = await order(platform, planner_with_model(reasoner=model))
    await sleeps(platform, plan.plan_id)
    details = await platform.plan(plan.plan_id)
    assert details.steps[-1].note == "no live agent offers any event"
    assert [(e.kind, e.subject) for e in details.expectations if e.status == "open"] == [("offer", "a live agent")]
    assert model.questions == []
    with pytest.raises(DeadlineExceeded, match="it is paused"):
        await plan.result(timeout=0)
    await works(platform)
    assert await plan.result(timeout=5) == {"done": 1}


# Places of stores


@pytest.mark.parametrize(
    ("setting", "before", "url", "words"),
    [
        (
            "SOORMA_STORE_URL",
            [],
            "mysql://maria:s3cret@db/shop",
            ["mysql", "db/shop", "sqlite:///FILE", "postgresql://"],
        ),
        ("SOORMA_STORE_URL", [], "shop.db", ["'shop.db'", "sqlite:///FILE"]),
        ("SOORMA_BUS_URL", ["sqlite://"], "redis://maria:s3cret@bus:4222", ["redis://", "nats://HOST", "'local:'"]),
    ],
)
def test_a_store_or_a_bus_of_another_kind_is_refused_without_showing_its_password(
    monkeypatch: pytest.MonkeyPatch, setting: str, before: list[str], url: str, words: list[str]
) -> None:
    monkeypatch.setenv(setting, url)
    for given in (url, None):
        with pytest.raises(ConfigError) as refused:
            Platform(*before, given)
        says(refused.value, *words)
        assert "s3cret" not in str(refused.value)


def _is_anothers(path: Path) -> None:
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE recipe (name)")


def _is_below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("no folder")


def _socket(path: Path) -> Path:
    return path.with_name("shop.db.sock")


@pytest.mark.parametrize(
    ("spoil", "mend", "words"),
    [
        (lambda p: p.parent.rmdir(), lambda p: p.parent.mkdir(), ["directory does not exist", "make it first"]),
        (_is_below_a_file, lambda p: p.parent.unlink(), ["Not a directory", "give a database in a directory"]),
        (_is_anothers, Path.unlink, ["another program", "a file of its own"]),
        (
            lambda p: _socket(p).write_text("no socket"),
            lambda p: _socket(p).unlink(),
            ["in the way of the control socket", "move it"],
        ),
    ],
)
async def test_an_unusable_place_is_refused_and_works_once_mended(
    tmp_path: Path, spoil: Callable[[Path], object], mend: Callable[[Path], object], words: list[str]
) -> None:
    path = tmp_path / "data" / "shop.db"
    path.parent.mkdir()
    spoil(path)
    platform = open_platform(path)
    with pytest.raises(ConfigError) as refused:
        async with platform:
            pass
    says(refused.value, str(path), *words)
    assert not path.parent.is_dir() or owner_of(path) is None
    with pytest.raises(LocalProtocolError, match="not open"):
        await platform.plans()
    mend(path)
    path.parent.mkdir(exist_ok=True)
    async with platform:
        await works(platform)
    async with open_platform(path) as another:
        await works(another)


async def test_a_second_platform_of_this_process_is_refused_and_harms_nothing(path: Path) -> None:
    async with open_platform(path) as first:
        with pytest.raises(AlreadyOwned) as refused:
            async with open_platform(path):
                pass
        says(refused.value, str(path), "owned by this process", "use the platform that is open, or another file")
        with pytest.raises(LocalProtocolError, match="open already"):
            await first.__aenter__()
        await works(first)
    async with open_platform(path) as second:
        await works(second)


# Opening and closing


async def test_calls_of_a_closed_platform_are_refused_and_it_can_be_opened_again(
    path: Path, clock: VirtualClock
) -> None:
    platform = open_platform(path, clock)
    with pytest.raises(LocalProtocolError, match="not open; use `async with"):
        await platform.submit("order.received", {})
    async with platform:
        await platform.start(stock(), planner([wait("user.replied", "How much?")], external_events=[REPLIED]))
        maria = platform.as_user(tenant_id="default", user_id="maria")
        plan = await platform.submit("order.received", {})
        await the_wait(platform)
    calls: list[Callable[[], Any]] = [
        lambda: platform.submit("order.received", {}),
        lambda: platform.request("inventory.reserve.requested", {}),
        lambda: platform.publish("business-facts", "order.lost", {}),
        platform.plans,
        lambda: platform.start(stock()),
    ]
    for call in calls:
        with pytest.raises(LocalProtocolError, match="not open; use `async with"):
            await call()
    with pytest.raises(SoormaError, match="the store is not open"):
        await maria.plans()
    with pytest.raises(SoormaError, match="the store is not open"):
        await plan.result()
    async with platform:
        assert (await platform.plan(plan.plan_id)).status == "paused"
        await works(platform)


async def test_an_agent_that_cannot_start_leaves_nothing_behind(platform: Platform) -> None:
    heard: list[str] = []
    first, broken = Agent("first", events_produced=["seen"]), Agent("broken")
    first.on_startup(lambda: heard.append("first started"))
    first.on_shutdown(lambda: heard.append("first stopped"))

    @broken.on_startup
    def fail() -> None:
        if "mended" not in heard:
            raise ZeroDivisionError("no connection")

    with pytest.raises(ZeroDivisionError):
        await platform.start(first, broken)
    assert heard == ["first started", "first stopped"]
    rows = await platform.services.store.registry.agents(platform.services.clock.now())
    assert [row.agent for row in rows if row.live] == []
    heard.append("mended")
    await platform.start(first, broken)
    await works(platform)


async def test_an_agent_that_cannot_stop_keeps_neither_the_others_nor_the_file(path: Path) -> None:
    stopped: list[str] = []
    broken, other = Agent("broken", events_produced=["seen"]), Agent("other", events_produced=["seen"])
    other.on_shutdown(lambda: stopped.append("other"))

    @broken.on_shutdown
    def fail() -> None:
        raise ZeroDivisionError("no connection")

    with pytest.raises(ZeroDivisionError):
        async with open_platform(path) as platform:
            await platform.start(broken, other)
    assert stopped == ["other"]
    assert owner_of(path) is None
    async with open_platform(path) as platform:
        rows = await platform.services.store.registry.agents(platform.services.clock.now())
        assert [row.agent for row in rows if row.live] == []
        await works(platform)
