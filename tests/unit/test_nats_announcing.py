"""Announcements on the wire: split into messages, checked against their subject."""

import json
from datetime import timedelta

import pytest
from contract.store_kit import agent
from msgspec.structs import replace

from soorma_ai.adapters.nats.announcements import read, write
from soorma_ai.adapters.nats.subjects import registry_subject
from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.registry import AgentCapability, EventDefinition, EventRole
from soorma_ai.kernel.domain.stores import AnnouncedAgent, Announcement

ASKED = EventDefinition(event_name="work.asked", payload_schema={"type": "object", "required": ["x"]})
ABLE = AgentCapability(task_name="working", consumed_event=ASKED)
TOOL = replace(agent("tool", "work.asked", events=((EventRole.TAKES, ASKED),)), capabilities=(ABLE, "by name only"))
SAID = Announcement("one", "acme", (AnnouncedAgent(TOOL, timedelta(seconds=3)),), ("gone",), asks=True)
SUBJECT = registry_subject("ns", "one", "acme")


def test_an_announcement_survives_a_round_trip() -> None:
    (body,) = write(SAID, 100_000)
    assert read("ns", SUBJECT, body) == SAID


def test_a_long_announcement_is_split_and_asks_once(caplog: pytest.LogCaptureFixture) -> None:
    many = replace(SAID, living=tuple(AnnouncedAgent(replace(TOOL, agent=f"tool {n}")) for n in range(100)))
    bodies = [*write(many, 4_000)]
    found = [read("ns", SUBJECT, body) for body in bodies]
    assert len(found) > 1 and all(len(body) <= 4_000 for body in bodies)
    assert [one for said in found for one in said.living] == [*many.living]
    assert [name for said in found for name in said.left] == ["gone"]
    assert sum(said.asks for said in found) == 1
    assert not caplog.records


def test_an_agent_too_large_for_a_message_is_left_out_alone(caplog: pytest.LogCaptureFixture) -> None:
    large = AnnouncedAgent(replace(TOOL, agent="large", description="x" * 5_000))
    bodies = [*write(replace(SAID, living=(large, *SAID.living), left=()), 4_000)]
    assert [one.registration.agent for body in bodies for one in read("ns", SUBJECT, body).living] == ["tool"]
    assert "agent=large" in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"store": "two", "tenant_id": "acme"}',
        b'{"store": "one", "tenant_id": "globex"}',
        b'{"store": "one", "tenant_id": null}',
        json.dumps({"store": "one", "tenant_id": "acme", "living": [{"registration": {"agent": 1}}]}).encode(),
    ],
)
def test_an_announcement_unlike_its_subject_or_unreadable_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read("ns", SUBJECT, body)


@pytest.mark.parametrize("schema", ["{}", '{"type": "nothing"}', '{"$ref": "https://example.com"}'])
def test_an_invalid_definition_in_an_announcement_is_refused(schema: str) -> None:
    (good,) = write(SAID, 100_000)
    body = good.replace(b'"event_name":"work.asked"', b'"event_name":"has blanks","x":' + schema.encode())
    with pytest.raises(RemoteProtocolError):
        read("ns", SUBJECT, body)
