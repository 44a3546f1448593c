"""The reply to the request in hand: to its response event and topic, with its reply key."""

from soorma_ai.domain.effects import Publish
from soorma_ai.domain.events import EventTopic, completion_of, new_event
from soorma_ai.domain.replies import Failure, failure_reply
from soorma_ai.domain.values import JsonObject
from soorma_ai.runtime.handling.handling import Handling


def reply(handling: Handling, answer: JsonObject, *, default_event: str) -> Publish:
    request, moment = handling.event, handling.moment()
    type = request.response_event or default_event
    return Publish(
        new_event(
            request.lineage,
            event_id=moment.event_id(type),
            source=handling.agent,
            topic=request.response_topic or EventTopic.ACTION_RESULTS,
            type=type,
            data={"request_id": request_id_of(handling), **answer},
            time=moment.now,
            correlation_id=request.correlation_id or request.id,
            causation_id=request.id,
        )
    )


def request_id_of(handling: Handling) -> str:
    given = handling.event.data.get("request_id")
    return given if isinstance(given, str) else handling.event.correlation_id or handling.event.id


async def tell_requester(handling: Handling, failure: Failure) -> None:
    """Whoever asked is told; a fact has nobody to tell, and its failure stands in the dead letters."""
    if handling.event.topic is EventTopic.ACTION_REQUESTS:
        told = failure_reply(failure.code, failure.message)
        handling.record(reply(handling, told, default_event=completion_of(handling.event.type)))
