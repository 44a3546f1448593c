from soorma_ai.api.server.asyncapi import NEW_FORMAT, document, payload_of
from soorma_ai.kernel.domain.registry import AgentKind, DiscoveredAgent, EventDefinition, EventRole

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}}
ASKED = EventDefinition(event_name="stock.reserve", payload_schema=ORDER, response_schema=ORDER, version="1")
LOW = EventDefinition(event_name="stock.low", topic="business-facts", payload_schema=ORDER, version="1")


def agent(name: str, *events: tuple[EventRole, EventDefinition]) -> DiscoveredAgent:
    return DiscoveredAgent(name, name, "", "1", (), kind=AgentKind.TOOL, events=events)


def test_a_request_is_received_and_its_reply_has_a_channel() -> None:
    made = document([agent("stock", (EventRole.TAKES, ASKED), (EventRole.MAKES, LOW))])
    channels, operations = made["channels"], made["operations"]
    assert isinstance(channels, dict) and isinstance(operations, dict)
    asked = "action-requests.stock.reserve.1"
    assert len(channels) == 3
    received = operations[f"stock.receive.{asked}"]
    assert isinstance(received, dict)
    assert received["action"] == "receive"
    reply = next(name for name in channels if name.startswith("action-results.stock.reserve.completed"))
    assert received["reply"] == {"channel": {"$ref": f"#/channels/{reply}"}}
    sent = operations["stock.send.business-facts.stock.low.1"]
    assert isinstance(sent, dict) and sent["action"] == "send"


def test_two_agents_share_the_channel_of_one_event() -> None:
    made = document([agent("a", (EventRole.MAKES, LOW)), agent("b", (EventRole.AWAITS, LOW))])
    channels, operations = made["channels"], made["operations"]
    assert isinstance(channels, dict) and isinstance(operations, dict)
    assert (len(channels), len(operations)) == (1, 2)


def test_a_schema_names_its_dialect_only_for_keywords_unknown_to_draft_07() -> None:
    new = {"type": "array", "prefixItems": [{"type": "string"}]}
    assert payload_of(ORDER) == ORDER
    assert payload_of(new) == {"schemaFormat": NEW_FORMAT, "schema": new}


def test_event_names_invalid_as_keys_are_escaped() -> None:
    odd = EventDefinition(event_name="größe/neu", topic="business-facts", version="1")
    made = document([agent("ä b", (EventRole.MAKES, odd))])
    channels = made["channels"]
    assert isinstance(channels, dict)
    assert list(channels) == ["business-facts.gr__e_neu.1"]
