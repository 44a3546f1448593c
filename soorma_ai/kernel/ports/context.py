"""Parts of a handler's context from features: long-term memory, recall, the toolkit.

The kernel has their Protocols. The composition root gives the bodies; without one, its part is refused.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, Never, Protocol, TypeVar

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.memos import About, Filter, Memo, MemoKind, MemoPlace, Recollection
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject

H_contra = TypeVar("H_contra", contravariant=True)


class HandlerMemos(Protocol):
    """Long-term memory of one handling, for its user. It finds its own changes, and they happen with its effects."""

    async def keep(self, place: MemoPlace, key: str | None, content: str, about: About) -> str:
        """Keep a text, in place of the former one of this key, or under a new key; return the key."""
        ...

    async def get(self, place: MemoPlace, key: str) -> Memo | None: ...

    async def find(
        self, kind: MemoKind, text: str, limit: int, given: Filter, *, shared: bool | None = None
    ) -> list[Memo]:
        """Return memos about a text, best first; without a text, the newest first."""
        ...

    async def drop(self, place: MemoPlace, key: str) -> bool:
        """Return False for a key without a memo."""
        ...


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


class Recall(Protocol[H_contra]):
    """Search for the memories in a planner's prompt."""

    def __call__(
        self, handling: H_contra, recollection: Recollection, words: str
    ) -> Awaitable[tuple[JsonObject, ...]]: ...


def _refuse(part: str) -> Never:
    raise ConfigError(f"{part} is off in this process: its feature is not among those of the composition root")


def _no_memos(handling: object) -> Never:
    _refuse("long-term memory")


def _no_toolkit(handling: object) -> Never:
    _refuse("the toolkit of events")


async def _no_recall(handling: object, recollection: Recollection, words: str) -> tuple[JsonObject, ...]:
    _refuse("long-term memory")


class ContextParts(Struct, Generic[H_contra], frozen=True):
    """Bodies, each made for one handling."""

    memos: Callable[[H_contra], HandlerMemos] = _no_memos
    toolkit: Callable[[H_contra], Toolkit] = _no_toolkit
    recall: Recall[H_contra] = _no_recall
