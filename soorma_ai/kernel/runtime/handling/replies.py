"""The reply to the request in hand: to its response event and topic, with its reply key."""

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Publish
from soorma_ai.kernel.domain.events import SYSTEM, EventTopic, completion_of
from soorma_ai.kernel.domain.replies import Failure, failure_reply
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.opening import Moment
from soorma_ai.kernel.runtime.handling.handling import Handling


def reply(handling: Handling, answer: JsonObject, *, default_event: str) -> Publish:
    return _reply(handling, handling.moment(), answer, default_event)


async def tell_requester(handling: Handling, failure: Failure) -> None:
    """Tell the requester; a fact has none, and its failure is in the dead letters."""
    _tell(handling, handling.moment(), failure)


async def tell_for_agent(handling: Handling, failure: Failure) -> None:
    """Tell the requester, in the platform's name: the agent takes such requests no more."""
    _tell(handling, replace(handling.moment(), agent=SYSTEM), failure)


def _tell(handling: Handling, moment: Moment, failure: Failure) -> None:
    if handling.event.topic is EventTopic.ACTION_REQUESTS:
        told = failure_reply(failure.code, failure.message)
        handling.record(_reply(handling, moment, told, completion_of(handling.event.type)))


def _reply(handling: Handling, moment: Moment, answer: JsonObject, default_event: str) -> Publish:
    request, key = handling.event, handling.event.correlation_id or handling.event.id
    topic, type = request.response_topic or EventTopic.ACTION_RESULTS, request.response_event or default_event
    data: JsonObject = {"request_id": key, **answer}
    return Publish(moment.event(request.lineage, topic, type, data, correlation_id=key, answers=request.id))
