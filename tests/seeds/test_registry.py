"""Samples of the registry."""

from kit import ORDER_ID

from soorma_ai import AgentCapability, EventDefinition, InvocationContext, Platform, PlatformContext, Tool

VALIDATE = EventDefinition(event_name="order.validate", description="Look through an order.", payload_schema=ORDER_ID)
VALIDATED = EventDefinition(event_name="order.validated", topic="action-results", payload_schema=ORDER_ID)


def validator() -> Tool:
    capability = AgentCapability(task_name="validate", consumed_event=VALIDATE, produced_events=[VALIDATED])
    tool = Tool("validator", "Validates.", version="1.2.0", capabilities=[capability])

    @tool.on_invoke("order.validate")
    async def validate(request: InvocationContext, context: PlatformContext): ...

    return tool


async def test_a_prompt_gets_the_schema_of_an_event(platform: Platform) -> None:
    await platform.start(validator())
    registry = platform.registry

    prompt = "Generate payload for 'order.validate' event"
    schema = await registry.get_event_schema("order.validate")
    prompt = f"Generate payload matching schema: {schema}"
    assert prompt.endswith(str(ORDER_ID))


async def test_an_agent_is_discovered_with_its_consumed_and_produced_events(platform: Platform) -> None:
    await platform.start(validator(), Tool("other", capabilities=["flying"], events_produced=["seen"]))
    (found,) = await platform.registry.discover(requirements=["validate"], include_events=True)
    assert (found.agent_id, found.name, found.description, found.version) == (
        "validator",
        "validator",
        "Validates.",
        "1.2.0",
    )
    assert [capability.task_name for capability in found.capabilities] == ["validate"]
    assert found.get_consumed_event_schema("validate") == VALIDATE
    assert found.get_produced_event_schema("validate") == VALIDATED
    assert found.get_produced_event_schema("flying") is None


async def test_events_belong_to_the_agent_with_their_registration(platform: Platform) -> None:
    await platform.start(validator())
    owned = await platform.registry.events(owner="validator")
    assert [one.definition for one in owned] == [VALIDATE, VALIDATED]
    await platform.services.store.registry.leave(["validator"])
    assert await platform.registry.deregister("validator") == [VALIDATE, VALIDATED]
    assert await platform.registry.events(owner="validator", live=False) == []
