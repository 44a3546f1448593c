"""Questions to a model, its answers, and the prompts."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec import field as part
from typing_extensions import TypedDict

from soorma_ai.errors import Paid
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports.bus import Clock

Mode = Literal["json_schema", "tools", "json", "md_json"]
Way = Literal["litellm", "direct"]


class Message(Struct, frozen=True):
    role: Literal["system", "user", "assistant"]
    content: str


class QuestionFacts(Struct, frozen=True):
    """Facts of a question as data, for rules in the place of a model: the `goal`, and the last `event` of the plan with
    its `outcome` (ok, failed, came, approve, edit, reject, respond, expired, joined) and `result`. The event is empty
    at the beginning of a plan."""

    goal: JsonObject = part(default_factory=dict[str, Json])
    event: str = ""
    outcome: str = ""
    result: Json = None


class ModelQuestion(Struct, frozen=True):
    """One call of a model. `schema` is the closed decision schema; the answer is judged elsewhere, against it. `room`
    is the most tokens of the answer, where that is not the model's usual number. `facts` are not sent. With
    `other_form`, the usual form of the answer has led to nothing."""

    messages: tuple[Message, ...]
    schema: JsonObject
    room: int | None = None
    facts: QuestionFacts = part(default_factory=QuestionFacts)
    other_form: bool = False


class ModelAnswer(Struct, frozen=True):
    """Answer of a model. `text` is the received text. `value` is the JSON found in it, or None with the reason in
    `fault`. `found` is the way of finding it, if it is not all of the text; `ending` shows whether the answer may be
    used at all.

    `cost_usd` None: the price of this model is unknown. Answers of unknown usage are `uncounted`. `cached_tokens` of
    the prompt were in the provider's cache, at a lower price.
    """

    text: str
    value: Json
    fault: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float
    uncounted: int = 0
    found: str = ""
    ending: Ending = Ending.GOOD
    cached_tokens: int = 0

    @property
    def paid(self) -> Paid:
        """Return its usage. An answer without one has an unknown usage, and not none."""
        tells_none = not (self.prompt_tokens or self.completion_tokens or self.uncounted)
        uncounted = 1 if tells_none else self.uncounted
        return Paid(self.prompt_tokens, self.completion_tokens, self.cost_usd, uncounted, self.cached_tokens)


class Reasoner(Protocol):
    """A model behind one retry owner: transport faults are retried in here, usable answers are judged outside."""

    @property
    def model(self) -> str:
        """Return its name, for the journal of its answers."""
        ...

    @property
    def provider(self) -> str:
        """Return the name of its service: reasoners of one service rest together."""
        ...

    @property
    def max_output_tokens(self) -> int:
        """Return the bound of an answer; this number is reserved for each call."""
        ...

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return US dollars for `prompt_tokens` and `completion_tokens`, by its dearest possible model; None for an
        unknown price."""
        ...

    def check(self) -> None:
        """Raise ConfigError for every fault visible before the first call: no library, no key, no such model."""
        ...

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Ask the `question` once. Raises ModelRefused, ContentFiltered, ModelUnavailable, RateLimited, each with the
        usage in `paid`, and ConfigError."""
        ...


class FormStore(Protocol):
    """Refused forms of models, by the model and its address, kept beyond the process."""

    async def load(self) -> Mapping[str, JsonObject]: ...

    async def keep(self, model: str, known: JsonObject) -> None: ...


@dataclass(frozen=True)
class Prompt:
    """Rendered prompt, by its blocks. The version is a label for people; the hash identifies the template, with its
    text in `template`."""

    prompt_id: str
    version: str
    hash: str
    parts: Mapping[str, str]
    template: str = field(default="", repr=False)


class ModelOptions(TypedDict, total=False, extra_items=Any):
    """Options of a model. Others go to its provider with every call, as they are."""

    api_base: str | None
    """Address of the provider; also for fallbacks of the same provider."""
    api_key: str | None
    """Key of the provider; also for fallbacks of the same provider."""
    temperature: float | None
    """Temperature of the model, as its provider defines it."""
    timeout: float
    """Seconds that one call may take; 60 by default."""
    max_output_tokens: int
    """Longest answer; 4,096 by default."""
    fallbacks: Sequence[str]
    """Models to ask, one after the other, while the first is away."""
    mode: Mode
    """Form in which the answer is asked for; "json_schema" by default."""
    transport: Way | None
    """"litellm" or "direct". By default a server with OpenAI's wire format is called directly, unless there are
    settings for litellm alone."""
    price: tuple[float, float] | None
    """US dollars per token in and per token out, of the first model."""
    finish_reasons: Collection[str]
    """Good ends of an answer beside the usual ones, in the provider's own words; `absent` is no end at all."""


@dataclass(frozen=True)
class ModelSettings:
    """Name and options of a model; the composition root makes a reasoner of it."""

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Prompts(Protocol):
    def label(self, prompt_id: str) -> str:
        """Return id, version and the beginning of the hash, as a plan keeps them. Raises ConfigError if unknown."""
        ...

    def render(self, prompt_id: str, inputs: Mapping[str, object]) -> Prompt:
        """Render a prompt. Raises ConfigError if it is unknown, or declares other inputs."""
        ...

    def fill(self, template: str, inputs: Mapping[str, object]) -> Mapping[str, str]:
        """Return the blocks of a stored template, filled. Raises ConfigError for a failure."""
        ...


class Embedder(Protocol):
    """Model for vectors of texts: texts of similar meaning get near vectors."""

    @property
    def name(self) -> str:
        """Return the model and its version: vectors of two do not compare."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each of the `texts`, all of one length. Raises ModelUnavailable and RateLimited for
        temporary faults, and ConfigError."""
        ...


class Vector(Struct, frozen=True):
    """A direction: its numbers, of length 1 together, and their signs as bits. How many signs differ costs a hundredth
    of a cosine, and is small where the cosine is large."""

    numbers: "array[float]"
    signs: int


class VectorSource(Protocol):
    """Vectors of texts, made by an embedder."""

    @property
    def name(self) -> str:
        """Name of the embedder."""
        ...

    async def vectors(self, texts: Sequence[str], clock: Clock) -> list[Vector]:
        """Return a vector for each text. Raise ModelUnavailable."""
        ...
