"""What a model is asked, and with which words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from soorma_ai.domain.values import Json, JsonObject


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ModelQuestion:
    """One call of a model. `schema` is the closed decision schema; the answer is judged elsewhere, against it."""

    messages: tuple[Message, ...]
    schema: JsonObject


@dataclass(frozen=True)
class ModelAnswer:
    """`text` is what the model said. `value` is the JSON found in it, or None and `fault` says why not.

    `cost_usd` None means: the price of this model is not known.
    """

    text: str
    value: Json
    fault: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float


class Reasoner(Protocol):
    """A model behind one retry owner: transport faults are retried in here, usable answers are judged outside."""

    @property
    def model(self) -> str: ...

    @property
    def max_output_tokens(self) -> int: ...

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars, by the dearest model it may call; None when a price is not known."""
        ...

    def check(self) -> None:
        """Raises ConfigError for what can be known before the first call: no library, no key, no such model."""
        ...

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Raises ModelRefused, ContentFiltered, ModelUnavailable, RateLimited, ConfigError."""
        ...


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt, by its blocks. The version is a label for people; the hash is the truth about the template."""

    prompt_id: str
    version: str
    hash: str
    parts: Mapping[str, str]


class Prompts(Protocol):
    def label(self, prompt_id: str) -> str:
        """Id, version and the beginning of the hash, as a plan keeps them. Raises ConfigError for an unknown prompt."""
        ...

    def render(self, prompt_id: str, inputs: Mapping[str, object]) -> Prompt:
        """Raises ConfigError for an unknown prompt, or inputs that are not those it declares."""
        ...
