"""An event that becomes narrower breaks no open work: it is refused with a list, or declared and judged again."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, open_platform, order, planner, running_platform, the_wait, until, wait_for_end
from msgspec.structs import replace

from soorma_ai import (
    Approval,
    ChoreographyPlanner,
    ConfigError,
    EventDefinition,
    GoalContext,
    Held,
    InvocationContext,
    PlanContext,
    Planner,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventRole
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, publish_all, wait

PAY = "payment.wanted"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "note": {"type": "string"}, "tags": {"type": "array"}},
    "required": ["amount"],
}
PAID: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
STRICT = {**FORM, "required": ["amount", "currency"]}
DONE = complete({"paid": True})


def cashier(schema: dict[str, Any] = FORM, *, paid: list[Any] | None = None, **options: Any) -> Tool:
    tool = Tool("cashier")
    options = {"approval": "always", "response_schema": PAID, **options}

    @tool.on_invoke(PAY, payload_schema=schema, **options)
    async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if paid is not None:
            paid.append(request.data)
        return {"id": "p"}

    return tool


def person(platform: Platform, name: str) -> Any:
    return platform.as_user(tenant_id="default", user_id=name, roles=set())


async def registered(platform: Platform) -> list[Any]:
    entries = [row.entry for row in await platform.services.store.audit.entries("default", 100)]
    return [one for one in entries if one.call == "register"]


def version_of(schema: dict[str, Any]) -> str:
    return EventDefinition(event_name=PAY, payload_schema=schema, response_schema=PAID).version


async def park(path: Path, *decisions: Any, tool: Tool | None = None, clock: VirtualClock | None = None) -> str:
    """Return a plan of a former process; it waits for an approval."""
    async with running_platform(path, clock) as platform:
        handle = await order(platform, planner([*decisions, DONE]), tool or cashier())
        await until(platform, platform.waits)
        return handle.plan_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_a_narrower_event_is_refused_with_the_open_work_that_it_would_break(path: Path) -> None:
    plan_id = await park(path, publish(PAY, amount=5))
    async with open_platform(path) as platform:
        with pytest.raises(ConfigError) as refused:
            await platform.start(cashier(STRICT))
        words = str(refused.value)
        assert "$.currency: is required now" in words
        assert f"plan {plan_id}, approval" in words
        assert f"replaces={version_of(FORM)!r}" in words
        (event,) = await platform.registry.events(name=PAY, live=False)
        assert event.definition.version == version_of(FORM)


async def test_a_narrower_event_without_open_work_is_taken_and_recorded(path: Path) -> None:
    async with running_platform(path, None, cashier()):
        pass
    async with running_platform(path, None, cashier(STRICT)) as platform:
        (entry,) = await registered(platform)
        assert (entry.user_id, entry.outcome) == ("agent cashier", "narrower")
        assert entry.what == f"{PAY} {version_of(FORM)} to {version_of(STRICT)}"


async def test_a_changed_description_is_recorded(path: Path) -> None:
    async with running_platform(path, None, cashier(description="Pays.")):
        pass
    async with running_platform(path, None, cashier(description="Pays at once.")) as platform:
        (entry,) = await registered(platform)
        assert (entry.outcome, entry.what) == ("reworded", f"{PAY} {version_of(FORM)}")


async def test_a_declared_break_is_taken_and_a_parked_payload_is_edited_into_the_new_form(path: Path) -> None:
    plan_id, paid = await park(path, publish(PAY, amount=5)), list[Any]()
    later = cashier(STRICT, paid=paid, replaces=version_of(FORM))
    async with running_platform(path, None, planner([DONE]), later) as platform:
        question = await the_wait(platform)
        outcome = await platform.answer(question.wait_id, {"approved": True})
        assert outcome == "invalid"
        assert "currency" in outcome.detail
        assert "edit the payload, or reject it" in outcome.detail
        edit = {"data": {"amount": 5, "currency": "EUR"}}
        assert await platform.answer(question.wait_id, edit, decision="edit") == "accepted"
        assert (await wait_for_end(platform, plan_id)).status == "completed"
    assert paid == [{"amount": 5, "currency": "EUR"}]


async def test_an_edit_fits_the_schema_of_today_and_not_that_of_the_question(path: Path) -> None:
    closed = {**FORM, "additionalProperties": False}
    plan_id = await park(path, publish(PAY, amount=5), tool=cashier(closed))
    async with running_platform(path, None, planner([DONE]), cashier(STRICT, replaces=version_of(closed))) as platform:
        question = await the_wait(platform)
        edit = {"data": {"amount": 5, "currency": "EUR"}}
        assert await platform.answer(question.wait_id, edit, decision="edit") == "accepted"
        assert (await wait_for_end(platform, plan_id)).status == "completed"


async def test_a_former_version_may_return_after_a_wider_one(path: Path) -> None:
    wider = {**FORM, "required": []}
    plan_id = await park(path, publish(PAY, note="all"), tool=cashier(wider))
    async with running_platform(path, None, cashier({**FORM, "required": []}, description="other words")):
        pass
    async with open_platform(path) as platform:
        with pytest.raises(ConfigError, match="amount: is required now"):
            await platform.start(cashier())
        await platform.start(cashier(replaces=(version_of(STRICT), version_of(wider))))
    async with running_platform(path, None, cashier(wider)) as platform:  # an old process starts again
        assert (await platform.plan(plan_id)).status == "paused"
    async with running_platform(path, None, cashier()) as platform:  # and the new one: known by now
        assert (await platform.plan(plan_id)).status == "paused"


@pytest.mark.parametrize("together", [False, True])
async def test_silence_that_approves_data_off_the_present_form_fails_no_plan(
    path: Path, clock: VirtualClock, together: bool
) -> None:
    rule = Approval(timeout=timedelta(hours=1), on_expiry="approve")
    asked = publish(PAY, amount=5)
    first = publish_all(asked, publish(PAY, amount=6)) if together else asked
    plan_id, paid = await park(path, first, tool=cashier(approval=rule), clock=clock), list[Any]()
    later = cashier(STRICT, paid=paid, replaces=version_of(FORM), approval=rule)
    script = ScriptedReasoner([DONE])
    again = ChoreographyPlanner("orders", goals=["order.received"], reasoner=script)
    async with running_platform(path, clock, again, later) as platform:
        await clock.advance(timedelta(hours=2))
        assert (await wait_for_end(platform, plan_id)).status == "completed"
        assert "today's checks refuse it" in script.questions[0].messages[1].content
    assert paid == []


async def test_silence_that_approves_a_clients_request_is_judged_by_the_present_form(
    path: Path, clock: VirtualClock
) -> None:
    rule, paid = Approval(timeout=timedelta(hours=1), on_expiry="approve"), list[Any]()
    async with running_platform(path, clock, cashier(approval=rule)) as platform:
        ann = person(platform, "ann")
        with pytest.raises(Held) as held:
            await ann.request(PAY, {"amount": 5})
    later = cashier(STRICT, paid=paid, replaces=version_of(FORM), approval=rule)
    async with running_platform(path, clock, later) as platform:
        ann = person(platform, "ann")
        await clock.advance(timedelta(hours=2))
        reply: Any = await ann.reply(held.value.request_id, timeout=PATIENCE)
        assert reply["error"]["code"] == "invalid_request"
        assert "currency" in reply["error"]["message"]
    assert paid == []


async def test_an_agent_that_takes_the_event_no_more_fails_no_plan_at_its_approval(path: Path) -> None:
    plan_id = await park(path, publish(PAY, amount=5))
    other = Tool("cashier")
    other.on_invoke("refund.wanted")(lambda request, context: {})
    async with running_platform(path, None, planner([DONE]), other) as platform:
        question = await the_wait(platform)
        assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
        assert (await wait_for_end(platform, plan_id)).status == "completed"


async def test_a_narrower_event_is_refused_for_a_plan_with_it_in_a_later_state(path: Path) -> None:
    machine = {
        "start": {"default_next": "asking"},
        "asking": {"transitions": [{"on_event": "go", "to_state": "paying"}]},
        "paying": {"action": {"event_type": PAY, "data": {"amount": 1}}, "default_next": "end"},
        "end": {"is_terminal": True},
    }
    clerk = Planner("clerk")

    @clerk.on_goal("order.filed", state_machine=machine)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await (await PlanContext.create_from_goal(goal, context)).execute_next()

    async with running_platform(path, None, clerk, cashier()) as platform:
        plan = await platform.submit("order.filed", {})
        await until(platform, platform.waits)
    async with open_platform(path) as platform:
        with pytest.raises(ConfigError, match=f"plan {plan.plan_id}, state paying"):
            await platform.start(cashier(STRICT))
        await platform.start(cashier({**FORM, "required": []}))


async def test_an_event_that_a_plan_waits_for_keeps_its_promise(path: Path) -> None:
    def courier(schema: dict[str, Any]) -> Tool:
        produced = [EventDefinition(event_name="parcel.came", topic=EventTopic.BUSINESS_FACTS, payload_schema=schema)]
        tool = Tool("courier", events_produced=produced)
        tool.on_invoke("parcel.send")(lambda request, context: {})
        return tool

    promised = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
    async with running_platform(path, None) as platform:
        plan = await order(platform, planner([wait("parcel.came", "Where?"), DONE]), courier(promised))
        await the_wait(platform)
    async with open_platform(path) as platform:
        with pytest.raises(ConfigError, match=f"at: is not promised any more.*plan {plan.plan_id}, wait"):
            await platform.start(courier({"type": "object"}))
        await platform.start(courier({**promised, "required": ["at", "by"]}))


def input_mutations() -> list[dict[str, Any]]:
    """Return forms of the request, wider and narrower ones."""
    amount, note = FORM["properties"]["amount"], FORM["properties"]["note"]

    def of(**properties: Any) -> dict[str, Any]:
        return {**FORM, "properties": {**FORM["properties"], **properties}}

    narrower = [
        *({**FORM, "required": ["amount", name]} for name in ("currency", "note", "tags", "due")),
        *(of(amount={**amount, rule: bound}) for rule, bound in (("maximum", 60), ("minimum", 20), ("multipleOf", 3))),
        *(of(amount=other) for other in ({"type": "integer"}, {"type": "string"}, {"enum": [1, 2]}, {"const": 7})),
        of(amount={**amount, "exclusiveMinimum": 0}),
        *(of(note={**note, rule: one}) for rule, one in (("maxLength", 3), ("minLength", 9), ("pattern", "^z"))),
        *(of(note=other) for other in ({"type": "null"}, {"enum": ["a"]}, {**note, "format": "email"})),
        *(of(tags={"type": "array", **rule}) for rule in ({"items": {"type": "integer"}}, {"minItems": 2})),
        *(of(tags={"type": "array", **rule}) for rule in ({"maxItems": 0}, {"uniqueItems": True})),
        {**FORM, "properties": {"amount": amount}, "additionalProperties": False},
        {**FORM, "maxProperties": 1},
        {**FORM, "propertyNames": {"maxLength": 4}},
        {**FORM, "not": {"required": ["note"]}},
        {**FORM, "if": {"required": ["note"]}, "then": {"required": ["due"]}},
        {**FORM, "dependentRequired": {"note": ["due"]}},
        of(amount=False),
        {"allOf": [FORM, {"required": ["due"]}]},
    ]
    wider = [
        {**FORM, "required": []},
        of(due={"type": "string"}),
        of(amount={"type": ["number", "null"]}),
        of(amount={"anyOf": [amount, {"type": "string"}]}),
        of(note={"type": ["string", "null"], "description": "A note."}),
        of(amount={}),
        {"type": "object"},
        {"$ref": "#/$defs/Form", "$defs": {"Form": FORM}},
        {**FORM, "title": "Payment", "examples": [{"amount": 1}]},
        {"anyOf": [FORM, STRICT]},
    ]
    return [*narrower, *wider]


async def test_of_forty_mutations_over_two_hundred_parked_plans_each_breaking_one_is_refused(path: Path) -> None:
    data = [_payment(at) for at in range(200)]
    script = [publish(PAY, **one) for one in data] + [DONE] * 200
    async with running_platform(path, None, planner(script), cashier()) as platform:
        plans = [await platform.submit("order.received", {"at": at}) for at in range(200)]
        await until(platform, lambda: _all_wait(platform))
        registry, now = platform.services.store.registry, platform.services.clock.now()
        known = cashier().registration()
        mutations = input_mutations()
        assert len(mutations) == 40
        refused = 0
        for schema in mutations:
            ((role, definition),) = [one for one in known.events if one[0] is EventRole.TAKES]
            fields = definition.model_dump(exclude={"version", "payload_schema"})
            changed = EventDefinition(**fields, payload_schema=schema)
            mutated = replace(known, events=((role, changed),))
            breaks = any(violations(schema, one) for one in data)
            if breaks:
                refused += 1
                with pytest.raises(ConfigError, match="Open work would break: plan "):
                    await registry.register([mutated], now)
            else:
                await registry.register([mutated], now)
                await registry.register([known], now)
        assert refused == 30
        for question in await platform.waits(limit=500):
            assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
        ends = [await wait_for_end(platform, plan.plan_id) for plan in plans]
        assert {one.status for one in ends} == {"completed"}


def _payment(at: int) -> dict[str, Any]:
    whole = {"amount": at * 0.5, "note": "abcdef", "tags": ["x", "x"][: at % 3]}
    return {name: one for name, one in whole.items() if at % 5 or name != ("note", "tags")[at % 2]}


async def _all_wait(platform: Platform) -> bool:
    return len(await platform.waits(limit=500)) == 200
