"""Foreign card as requests here, and foreign answers as results here. All of it is untrusted."""

import re
from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import urlsplit

from a2a.types import AgentCard, Message, Part, Task
from pydantic_core import from_json

from soorma_ai.errors import ConfigError
from soorma_ai.gateways.a2a.cards import SCHEMAS
from soorma_ai.gateways.a2a.parts import JSON, json_of, object_of
from soorma_ai.gateways.goals import WORDS
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import Json, JsonObject, clip

MOST_SKILLS = 100
LONGEST_DESCRIPTION = 500
_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def definitions_of(name: str, card: AgentCard) -> list[EventDefinition]:
    """Return the requests for the skills of a card: each under the name of our agent, so no card can take the events of
    another. Raise ConfigError for a card without a usable skill."""
    schemas = _schemas_of(card)
    found = [skill for skill in card.skills if _SKILL.fullmatch(skill.id)][:MOST_SKILLS]
    if not found:
        raise ConfigError(f"the card of {clip(repr(card.name), 80)} has no skill that can be asked for")
    return [
        EventDefinition(
            event_name=f"{name}.{skill.id}",
            description=_line(skill.description or skill.name),
            payload_schema=_shape(schemas.get(skill.id), "payload") or ANY_OBJECT,
            response_schema=_shape(schemas.get(skill.id), "response"),
        )
        for skill in {skill.id: skill for skill in found}.values()
    ]


def must_be_its_own(card: AgentCard, url: str) -> None:
    """Raise ConfigError for a card with another address than its own: our token would go there."""
    home = _origin(url)
    if elsewhere := [one.url for one in card.supported_interfaces if _origin(one.url) != home]:
        raise ConfigError(f"the card of {url} leads to {clip(elsewhere[0], 200)}; only {home} is asked")


def result_of(task: Task) -> JsonObject:
    """Return the result of a task: the data of its artifacts, with its words as `text`, and files by their names."""
    parts = [part for artifact in task.artifacts for part in artifact.parts]
    return content_of(parts or task.status.message.parts)


def content_of(parts: Iterable[Part]) -> JsonObject:
    words: list[str] = []
    files: list[Json] = []
    content: JsonObject = {}
    for part in parts:
        match part.WhichOneof("content"):
            case "text" if part.media_type == JSON and isinstance(data := _json_in(part.text), dict | list):
                content |= data if isinstance(data, dict) else {"data": data}
            case "text":
                words.append(part.text)
            case "data":
                data = json_of(part.data)
                content |= data if isinstance(data, dict) else {"data": data}
            case "url":
                files.append({"name": part.filename, "media_type": part.media_type, "url": part.url})
            case "raw":
                files.append({"name": part.filename, "media_type": part.media_type, "bytes": len(part.raw)})
            case _:
                pass
    if words:
        content.setdefault(WORDS, "\n".join(words))
    if files:
        content.setdefault("files", files)
    return content


def words_of(message: Message) -> str:
    """Return the words of a message; empty without any."""
    return "\n".join(part.text for part in message.parts if part.HasField("text") and part.media_type != JSON)


def _schemas_of(card: AgentCard) -> Mapping[str, JsonObject]:
    told = next((one for one in card.capabilities.extensions if one.uri == SCHEMAS), None)
    if told is None:
        return {}
    texts = object_of(told.params)
    return {name: shape for name, text in texts.items() if (shape := _object_in(text)) is not None}


def _shape(shapes: JsonObject | None, which: str) -> JsonObject | None:
    schema = shapes.get(which) if shapes else None
    return schema if isinstance(schema, dict) else None


def _json_in(text: Json) -> Json:
    try:
        return cast(Json, from_json(text, allow_inf_nan=False)) if isinstance(text, str) else None
    except ValueError:
        return None


def _object_in(text: Json) -> JsonObject | None:
    found = _json_in(text)
    return found if isinstance(found, dict) else None


def _line(words: str) -> str:
    return clip(" ".join(words.split()), LONGEST_DESCRIPTION)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"
