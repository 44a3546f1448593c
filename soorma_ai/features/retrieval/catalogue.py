"""All events that agents registered, each once, for authors to look through."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject, Same, clip, identity_of
from soorma_ai.kernel.rules.choices.index import EventIndex, index_of
from soorma_ai.kernel.rules.choices.offer import merge_definitions
from soorma_ai.kernel.rules.choices.ranking import MOST_RANKED, share
from soorma_ai.kernel.rules.delivery.route import fits
from soorma_ai.kernel.rules.schemas.bounded import show

DESCRIPTION_CHARS = 2_000


class Catalogue(Struct, frozen=True, dict=True):
    """Events on offer. `events` by name; of one name those with a taker first, requests before others. `agents` are the
    first agents behind the names."""

    events: tuple[EventDefinition, ...]
    agents: Mapping[str, str]

    def on(self, topic: EventTopic | None, pattern: str | None) -> list[EventDefinition]:
        """Return the events of a topic, and of a name or a family ('order.*')."""
        return [
            one
            for one in self.events
            if topic in (None, one.topic) and (pattern is None or fits(pattern, one.event_name))
        ]

    def find_named(self, name: str, topic: EventTopic | None) -> EventDefinition | None:
        return next((one for one in self._by_name.get(name, ()) if topic in (None, one.topic)), None)

    def find(self, words: str, most: int) -> list[EventDefinition]:
        """Return the events that are about these words, best first; no agent has more than half of them while others
        have any."""
        names = share(self.index.rank(words, MOST_RANKED), lambda name: self.agents[name])
        return [one for name in names for one in self._by_name[name]][:most]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    @cached_property
    def index(self) -> EventIndex:
        """Return the index for searches. It takes seconds to make of ten thousand new events."""
        return index_of(tuple(map(identity_of, self.events)))

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[EventDefinition]]:
        found: defaultdict[str, list[EventDefinition]] = defaultdict(list)
        for one in self.events:
            found[one.event_name].append(one)
        return found


def catalogue_of(registered: Iterable[RegisteredEvent]) -> Catalogue:
    """Return the catalogue of these, made once for as long as they stay as they are."""
    return _catalogue_of(identity_of(tuple(registered)))


@lru_cache(maxsize=16)
def _catalogue_of(registered: Same[tuple[RegisteredEvent, ...]]) -> Catalogue:
    """Return it. A store gives the very same registrations as long as nothing has changed, which is seen at once."""
    return _make(tuple((one.agent, one.role, identity_of(one.definition)) for one in registered()))


@lru_cache(maxsize=16)
def _make(registered: tuple[tuple[str, EventRole, Same[EventDefinition]], ...]) -> Catalogue:
    """Make it from the taker's definitions, with the required data; without a taker, from the others'."""
    taken: defaultdict[tuple[str, EventTopic], list[EventDefinition]] = defaultdict(list)
    others: dict[tuple[str, EventTopic], EventDefinition] = {}
    agents: dict[str, str] = {}
    for agent, role, same in registered:
        definition = same()
        key = (definition.event_name, definition.topic)
        if role in TAKEN:
            taken[key].append(definition)
        else:
            others.setdefault(key, definition)
        agents.setdefault(definition.event_name, agent)
    order = sorted(
        {*taken, *others}, key=lambda key: (key[0], key not in taken, key[1] is not EventTopic.ACTION_REQUESTS, key[1])
    )
    return Catalogue(tuple(merge_definitions(taken[key]) if key in taken else others[key] for key in order), agents)


def row_of(definition: EventDefinition) -> JsonObject:
    """Return an event's row for a model: its name, its description, and its schema as far as one can be read."""
    return {
        "name": definition.event_name,
        "description": clip(definition.description, DESCRIPTION_CHARS),
        "schema": show(definition.payload_schema).plain,
    }
