"""Goals from other protocols: the payload of a person's words, and a refusal before the plan began."""

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.values import JsonObject

WORDS = "text"


def payload_of(words: str, data: JsonObject, schema: JsonObject, cure: str) -> JsonObject:
    """Return the payload for a schema: the data, with the words in their field.

    Raise LocalProtocolError with the `cure` for words alone without a field.
    """
    if not words:
        return data
    field = _field_of_words(schema)
    if field is None:
        if data:
            return data
        raise LocalProtocolError(f"text alone is not enough here: {cure}")
    return {field: words, **data}


def request_of(gate: Expectation | None) -> EventEnvelope | None:
    """Return the request of a gate, open or closed, as it was made."""
    return gate.ask.proposal.request if gate and gate.ask and gate.ask.proposal else None


def rejection_of(gate: Expectation) -> str | None:
    """Return the reason of a goal's refusal; None without one."""
    if gate.answer is None:
        waited = gate.status is ExpectationStatus.EXPIRED and gate.ask is not None
        silence = gate.ask.on_expiry if gate.ask else AnswerDecision.REJECT
        return "it was not approved in time" if waited and silence is AnswerDecision.REJECT else None
    if gate.answer.decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        return None
    said = gate.answer.note or gate.answer.payload.get("note")
    return f"rejected by {gate.answer.by}" + (f": {said}" if said else "")


def _field_of_words(schema: JsonObject) -> str | None:
    """Return `text` if the schema allows it, else the only text field: the only required one, if there is one."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return None if schema.get("additionalProperties") is False else WORDS
    texts = [name for name, one in properties.items() if isinstance(one, dict) and one.get("type") == "string"]
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    if WORDS in texts:
        return WORDS
    for some in ([name for name in texts if name in required], texts):
        if len(some) == 1:
            return some[0]
    return None
