"""The toolkit of a context: search, description and checks of events."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject


class Toolkit(Protocol):
    """Search, description and checks of the events of live agents. `soorma_ai.EventToolkit` is the body."""

    async def discover_events(
        self, topic: EventTopic | str | None = None, event_name_pattern: str | None = None
    ) -> list[EventDefinition]: ...

    async def discover_actionable_events(
        self, topic: EventTopic | str = EventTopic.ACTION_REQUESTS
    ) -> list[EventDefinition]: ...

    async def get_event_info(
        self, event_name: str, *, topic: EventTopic | str | None = None
    ) -> EventDefinition | None: ...

    async def find_events(self, words: str, most: int = 20) -> list[EventDefinition]: ...

    def format_for_llm(self, events: Iterable[EventDefinition]) -> list[JsonObject]: ...

    def format_as_prompt_text(self, events: Iterable[EventDefinition]) -> str: ...

    async def create_payload(
        self, event_name: str, data: Mapping[str, Any], *, topic: EventTopic | str | None = None
    ) -> JsonObject: ...

    async def validate_response(
        self, event_name: str, data: Mapping[str, Any], *, topic: EventTopic | str | None = None
    ) -> JsonObject: ...
