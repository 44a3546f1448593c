"""The reply to the request in hand: to its response event and topic, with its reply key."""

from soorma_ai.domain.effects import Publish
from soorma_ai.domain.events import EventTopic, completion_of
from soorma_ai.domain.replies import Failure, failure_reply
from soorma_ai.domain.values import JsonObject
from soorma_ai.runtime.handling.handling import Handling


def reply(handling: Handling, answer: JsonObject, *, default_event: str) -> Publish:
    request, key = handling.event, handling.event.correlation_id or handling.event.id
    topic, type = request.response_topic or EventTopic.ACTION_RESULTS, request.response_event or default_event
    data: JsonObject = {"request_id": key, **answer}
    return Publish(handling.moment().event(request.lineage, topic, type, data, correlation_id=key, answers=request.id))


async def tell_requester(handling: Handling, failure: Failure) -> None:
    """Tell whoever asked; a fact has nobody to tell, and its failure stands in the dead letters."""
    if handling.event.topic is EventTopic.ACTION_REQUESTS:
        told = failure_reply(failure.code, failure.message)
        handling.record(reply(handling, told, default_event=completion_of(handling.event.type)))
