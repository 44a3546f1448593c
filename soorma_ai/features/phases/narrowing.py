"""An offer made narrower: what one phase of a plan may use of it, and what its work looks like."""

from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from soorma_ai.kernel.domain.values import JsonObject, Same
from soorma_ai.kernel.rules.choices.offer import Offer


def narrow_offer(offer: Offer, names: Sequence[str], result_schema: JsonObject) -> Offer:
    """Return what is offered of the events, goals and waits of these names, with this schema for the result. The same
    things make the same offer, which is put together once."""
    return _narrow(Same(offer), tuple(dict.fromkeys(names)), Same(result_schema))


@lru_cache(maxsize=64)
def _narrow(offer: Same[Offer], names: tuple[str, ...], schema: Same[JsonObject]) -> Offer:
    known = frozenset(names)
    return replace(
        offer.it,
        events=tuple(event for event in offer.it.events if event.event_name in known),
        delegates=tuple(one for one in offer.it.delegates if one.goal.event_name in known),
        waits=tuple(one for one in offer.it.waits if one.definition.event_name in known),
        result_schema=schema.it,
    )
