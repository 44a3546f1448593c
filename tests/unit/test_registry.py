from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.registry import AgentCapability, EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT


class Reserve(BaseModel):
    sku: str
    qty: int = 1


def test_an_event_needs_only_its_name() -> None:
    definition = EventDefinition(event_name="stock.reserve.requested")
    assert (definition.topic, definition.payload_schema) == (EventTopic.ACTION_REQUESTS, ANY_OBJECT)
    assert (definition.response_schema, definition.approval) == (None, None)


def test_a_schema_is_given_as_json_or_as_a_model() -> None:
    by_model = EventDefinition.model_validate({"event_name": "stock.reserve", "payload_schema": Reserve})
    by_json = EventDefinition(event_name="stock.reserve", payload_schema=Reserve.model_json_schema())
    assert by_model == by_json
    assert by_model.payload_schema["required"] == ["sku"]


@pytest.mark.parametrize("name", ["", *EventTopic])
def test_a_topic_is_no_event_name(name: str) -> None:
    with pytest.raises(ConfigError, match="give the event's own name"):
        EventDefinition(event_name=name)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"payload_schema": {"type": "objekt"}}, ConfigError, "malformed JSON Schema"),
        ({"response_schema": {"type": "objekt"}}, ConfigError, "malformed JSON Schema"),
        ({"approval": "sometimes maybe"}, ConfigError, "neither 'always' nor a CEL expression"),
        ({"payload_shema": {}}, ValidationError, "payload_shema"),
    ],
)
def test_an_invalid_definition_is_refused_at_its_creation(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        EventDefinition.model_validate({"event_name": "stock.reserve", **given})


def test_a_version_is_given_or_derived_from_both_schemas_alone() -> None:
    plain = EventDefinition(event_name="a")
    assert plain.version
    assert plain.version == EventDefinition(event_name="b", description="other", approval=Approval()).version
    assert plain.version != EventDefinition(event_name="a", payload_schema={"type": "object", "title": "x"}).version
    assert plain.version != EventDefinition(event_name="a", response_schema=ANY_OBJECT).version
    one = EventDefinition(event_name="a", payload_schema={"type": "object", "required": ["x"]})
    other = EventDefinition(event_name="a", payload_schema={"required": ["x"], "type": "object"})
    assert one.version == other.version, "the order of keys is irrelevant"
    given = EventDefinition(event_name="stock.reserve", version="3")
    assert given.dataschema == "soorma:action-requests/stock.reserve/3"


def test_a_definition_survives_a_round_trip_through_json() -> None:
    definition = EventDefinition(
        event_name="refund.issue",
        payload_schema=Reserve.model_json_schema(),
        approval=Approval("payload.qty > 10", approvers=("manager",), timeout=timedelta(hours=1)),
        irreversible=True,
        correlate={"/order_id": "goal_data.order_id"},
    )
    assert EventDefinition.model_validate_json(definition.model_dump_json()) == definition


def test_an_approval_is_given_as_a_condition_or_in_full() -> None:
    short = EventDefinition.model_validate({"event_name": "refund", "approval": "payload.amount > 100"})
    assert short.approval == Approval("payload.amount > 100")
    assert EventDefinition(event_name="refund", approval=Approval()).approval == Approval(when="always")


RARELY = Approval("payload.amount > 100")


@pytest.mark.parametrize(
    ("handled", "described", "approval"),
    [
        ({"irreversible": True}, {}, Approval()),
        ({}, {"irreversible": True}, Approval()),
        ({"irreversible": True, "approval": RARELY}, {}, RARELY),
        ({"irreversible": True}, {"approval": RARELY}, RARELY),
        ({"approval": RARELY}, {"irreversible": True}, RARELY),
        ({"approval": RARELY}, {"irreversible": True, "approval": "always"}, Approval()),
        ({}, {}, None),
    ],
)
def test_an_irreversible_event_needs_approval_unless_it_has_a_condition(
    handled: Any, described: Any, approval: Approval | None
) -> None:
    one = EventDefinition(event_name="refund", **handled)
    capability = AgentCapability(task_name="t", consumed_event=EventDefinition(event_name="refund", **described))
    registered = capability.complete(one)
    assert registered.approval == approval
    assert EventDefinition.model_validate_json(registered.model_dump_json()) == registered


def test_without_an_answer_an_approval_is_rejected_unless_set_otherwise() -> None:
    assert Approval().on_expiry == AnswerDecision.REJECT
    assert Approval(on_expiry="approve").on_expiry == AnswerDecision.APPROVE
    for word in ("edit", "perhaps"):
        with pytest.raises(ConfigError, match="give 'approve' or 'reject'"):
            Approval(on_expiry=word)


def test_a_capability_describes_its_consumed_and_produced_events() -> None:
    capability = AgentCapability(task_name="reserve", consumed_event=EventDefinition(event_name="stock.reserve"))
    assert capability.produced_events == ()
    with pytest.raises(ValidationError, match="consumed_event"):
        AgentCapability.model_validate({"task_name": "reserve"})


@pytest.mark.parametrize(
    ("capable", "described", "handled", "registered"),
    [
        ({}, {}, {}, ("", "", ())),
        ({"when_to_use": "a", "not_for": "b", "synonyms": ("c",)}, {}, {}, ("a", "b", ("c",))),
        ({}, {"when_to_use": "a", "not_for": "b", "synonyms": ["c"]}, {}, ("a", "b", ("c",))),
        ({}, {}, {"when_to_use": "a", "not_for": "b", "synonyms": ("c",)}, ("a", "b", ("c",))),
        (
            {"when_to_use": "a", "synonyms": ("c",)},
            {"when_to_use": "x", "synonyms": ("d", "c")},
            {"not_for": "b", "synonyms": ("e",)},
            ("a", "b", ("c", "d", "e")),
        ),
    ],
)
def test_a_capabilitys_hints_are_registered_with_its_event(
    capable: Any, described: Any, handled: Any, registered: tuple[str, str, tuple[str, ...]]
) -> None:
    consumed = EventDefinition(event_name="refund", **described)
    one = AgentCapability(task_name="t", consumed_event=consumed, **capable)
    complete = one.complete(EventDefinition(event_name="refund", **handled))
    assert (complete.when_to_use, complete.not_for, complete.synonyms) == registered
    assert complete.version == EventDefinition(event_name="refund").version, "hints do not change the version"
    assert EventDefinition.model_validate_json(complete.model_dump_json()) == complete


def test_a_text_is_no_list_of_synonyms() -> None:
    with pytest.raises(ValidationError, match="synonyms"):
        EventDefinition(event_name="refund", synonyms="money back")
