"""Questions and answers of every wire, before the spelling of a provider."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from payloads import Json, Payload

DECLINED = "I will not do that: it could be misused."


class End(Enum):
    """The end of an answer. A provider without refusals says one in words."""

    GOOD = "good"
    CUT = "cut"
    REFUSED = "refused"
    FILTERED = "filtered"


@dataclass(frozen=True)
class Question:
    """A request in the model's view.

    `messages` are (role, text), the system's first. `schema` is the JSON Schema of the answer; `tool` is its name for a
    call, None for an answer as text. `size` is the request's length in characters.
    """

    messages: tuple[tuple[str, str], ...]
    schema: Payload
    tool: str | None
    size: int = 0

    @property
    def shown(self) -> str:
        """The texts of the other side, in order: all but the model's own answers."""
        return "\n".join(text for role, text in self.messages if role not in ("assistant", "model"))


@dataclass(frozen=True)
class ScriptedAnswer:
    """An answer. `tokens` are those of the request and of the answer."""

    text: str
    end: End = End.GOOD
    tokens: tuple[int, int] = (100, 20)


@dataclass(frozen=True)
class FailedRequest:
    """A failed request; 429 and 5xx may be repeated at once."""

    status: int
    message: str


@dataclass(frozen=True)
class WireResponse:
    """The JSON to write on the socket."""

    body: Payload
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Reply = ScriptedAnswer | FailedRequest | WireResponse


@dataclass(frozen=True)
class DeclineForm:
    """A way of a provider to decline. `code` and `because`, a pattern, are the expected failure of a declined plan; a
    model with only words for it `insists`, since it is asked again."""

    reply: Reply
    code: str
    because: str
    insists: bool = False


@dataclass(frozen=True)
class Wire:
    """The protocol of one provider.

    `model` is its name for litellm, `base` the address given to its clients, `path` the end of a request's address.
    `carry` returns the part of an answer that reaches the client, to be shown again in a re-ask; `beside` are other
    paths with their answers; `options` are further options of the client.
    """

    model: str
    base: str
    path: str
    read: Callable[[Payload], Question]
    spell: Callable[[ScriptedAnswer, Question], Payload]
    fail: Callable[[FailedRequest], WireResponse]
    carry: Callable[[ScriptedAnswer, Question], str]
    declines: tuple[DeclineForm, ...]
    beside: Mapping[str, Payload] = field(default_factory=dict[str, Payload])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def send(self, reply: Reply, question: Question) -> WireResponse:
        match reply:
            case ScriptedAnswer():
                return WireResponse(self.spell(reply, question))
            case FailedRequest():
                return self.fail(reply)
            case WireResponse():
                return reply


def as_object(text: str) -> Payload | None:
    """Return the JSON object of a text, or None: only an object can be arguments, unless they are text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def say_all(said: ScriptedAnswer, question: Question) -> str:
    return said.text


def text_of(content: str | list[Payload] | None) -> str:
    """Return the text of a message, plain or in blocks."""
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content if "text" in block)
    return content or ""
