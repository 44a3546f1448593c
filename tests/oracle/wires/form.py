"""What is asked and said over every wire, before it is spelled as one provider does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from payloads import Json, Payload

DECLINED = "I will not do that: it could be misused."


class End(Enum):
    """How an answer ended. A provider that knows no refusals says one in words."""

    GOOD = "good"
    CUT = "cut"
    REFUSED = "refused"
    FILTERED = "filtered"


@dataclass(frozen=True)
class Question:
    """A request as the model reads it.

    `messages` are (role, text), the system's first. `schema` is that of the answer, as JSON Schema; `tool` the name by
    which it is to be called, None where it is asked for as text. `size` is the request's length in characters.
    """

    messages: tuple[tuple[str, str], ...]
    schema: Payload
    tool: str | None
    size: int = 0

    @property
    def shown(self) -> str:
        """Text that comes from the other side, in order: all but the model's own answers."""
        return "\n".join(text for role, text in self.messages if role not in ("assistant", "model"))


@dataclass(frozen=True)
class Said:
    """An answer. `tokens` are those of the request and of the answer."""

    text: str
    end: End = End.GOOD
    tokens: tuple[int, int] = (100, 20)


@dataclass(frozen=True)
class Failed:
    """A request that was not answered; 429 and 5xx may be repeated at once."""

    status: int
    message: str


@dataclass(frozen=True)
class Sent:
    """What is written on the socket, as JSON."""

    body: Payload
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Reply = Said | Failed | Sent


@dataclass(frozen=True)
class Declined:
    """A way in which a provider declines. `code` and `because`, a pattern, are what a plan that is declined fails with;
    a model that can only say it in words `insists`, since it is asked again."""

    reply: Reply
    code: str
    because: str
    insists: bool = False


@dataclass(frozen=True)
class Wire:
    """How one provider is asked and answers.

    `model` is its name for litellm, `base` what its clients expect of the address they are given, `path` the end of the
    address that is asked. `carry` is what of an answer reaches the client, so that it can be shown again in a re-ask;
    `beside` are other paths that are asked, and their answers; `options` further ones of the client.
    """

    model: str
    base: str
    path: str
    read: Callable[[Payload], Question]
    spell: Callable[[Said, Question], Payload]
    fail: Callable[[Failed], Sent]
    carry: Callable[[Said, Question], str]
    declines: tuple[Declined, ...]
    beside: Mapping[str, Payload] = field(default_factory=dict[str, Payload])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def send(self, reply: Reply, question: Question) -> Sent:
        match reply:
            case Said():
                return Sent(self.spell(reply, question))
            case Failed():
                return self.fail(reply)
            case Sent():
                return reply


def as_object(text: str) -> Payload | None:
    """Return the JSON object that a text is, and nothing else: only that can be arguments where they are no text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def say_all(said: Said, question: Question) -> str:
    return said.text


def text_of(content: str | list[Payload] | None) -> str:
    """Return the text of a message, which comes as it is or in blocks."""
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content if "text" in block)
    return content or ""
