"""The history of a plan: its steps, and every answer of a model."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject

# Room of a plan's history in a prompt.
HISTORY_TOKENS = 6_000


class StepKind(StrEnum):
    GOAL = "goal"
    PUBLISHED = "published"
    DELEGATED = "delegated"
    REPLIED = "replied"
    ASKED = "asked"
    HELD = "held for approval"
    ANSWERED = "answered"
    RECEIVED = "received"
    EXPIRED = "expired"
    PARKED = "parked"
    RESUMED = "resumed"
    JOINED = "joined"
    LATE = "late"
    MOVED = "moved"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Step(Record, frozen=True):
    """Line of a plan's history, append-only.

    `name` is the event of the step; `event_id` its cause or its result; `fingerprint` names the decision and its state,
    for the repeat limit, or the rejected request. `join_id` is the join of an answer in time, as number `place`; or the
    join that `fires` here: the plan decides again.
    """

    plan_id: str
    ordinal: int
    kind: StepKind
    at: datetime
    name: str = ""
    data: Json = None
    note: str = ""
    event_id: str | None = None
    expectation_id: str | None = None
    fingerprint: str | None = None
    place: int = 0
    join_id: str | None = None
    fires: bool = False


class JoinProgress(Struct, frozen=True):
    """Number of branches of a join that `came` in time, and the step at which it `fired`, if it has. `needed` is the
    number of answers needed while it is open."""

    came: int = 0
    fired: Step | None = None
    needed: int | None = None


class Verdict(StrEnum):
    """Verdict on a model's answer. A DECLINED answer is never asked for again; a LOOKED_UP one decides nothing."""

    ACCEPTED = "accepted"
    LOOKED_UP = "looked up"
    REFUSED = "refused"
    DECLINED = "declined"


class Ending(StrEnum):
    """End of a model's answer, in the provider's report. An answer with CUT, BLANK (cut within blanks) or ODD is never
    used."""

    GOOD = "good"
    CUT = "cut"
    BLANK = "blank"
    ODD = "odd"


class JournalKey(Record, frozen=True):
    """The call of a model as number `ordinal` of one handling: handling again finds the same row."""

    agent: str
    cause_id: str
    ordinal: int


class PromptPart(Struct, frozen=True):
    """Text of a question, kept once under its digest: with its plan for a plan's own words, else for all plans of a
    tenant."""

    digest: str
    body: str
    tenant_id: str = ""
    plan_id: str = ""


class Sent(Record, frozen=True):
    """Composition of a question. `digest` is that of the complete text.

    The inputs of its prompt are `own`, those that differ from call to call; those in the part `frame`; and `made`, with
    their digests, which are made again from the plan's rows: its goal, its steps from `first` to `last` in a `room` of
    so many tokens, and of the trigger our text, the words `said` and the `join_id`. A text that is long stands in `own`
    and in the frame as a reference to its part. `after` are the calls of the same handling that were refused and told
    again, by the prompt in the part `again`.
    """

    digest: str
    frame: str
    own: JsonObject = field(default_factory=dict[str, Json])
    made: dict[str, str] = field(default_factory=dict[str, str])
    first: int = 0
    last: int = 0
    text: str = ""
    said: str = ""
    join_id: str | None = None
    room: int = HISTORY_TOKENS
    again: str = ""
    after: tuple[int, ...] = ()


class JournalEntry(Record, frozen=True):
    """Answer of a model, recorded before its use.

    `raw` is its text, `value` the JSON found in it, `found` the way of finding it, and `fault` the reason against its
    use. `shown` is the digest of the shown part of the offer, `remembered` the text from memory, `sent` the composition
    of the question. `cached_tokens` of the prompt were in the provider's cache.
    """

    key: JournalKey
    plan_id: str
    root_plan_id: str
    prompt_id: str
    prompt_version: str
    prompt_hash: str
    offer_digest: str
    model: str
    raw: str
    value: Json
    fault: str
    verdict: Verdict
    refusal: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float
    at: datetime
    found: str = ""
    ending: Ending = Ending.GOOD
    shown: str = ""
    cached_tokens: int = 0
    remembered: tuple[JsonObject, ...] = ()
    sent: Sent | None = None

    @property
    def is_refused(self) -> bool:
        """Tell whether nothing came of it, neither a decision nor more to decide by."""
        return self.verdict in (Verdict.REFUSED, Verdict.DECLINED)

    @property
    def latency(self) -> timedelta:
        return timedelta(milliseconds=self.latency_ms)


class Said(Record, frozen=True):
    """One message to a model, or of it."""

    role: str
    content: str


class SentPrompt(Record, frozen=True):
    """Prompt of the decision `number` of `count`, rendered again. `form` is the schema of the answer, as JSON. Without
    `faults` it equals the sent text, to the byte; else they name the missing or changed parts."""

    number: int
    count: int
    prompt_id: str
    prompt_version: str
    model: str
    messages: tuple[Said, ...]
    form: str
    faults: tuple[str, ...] = ()


# What a model is shown as its answer where it gave none.
NO_ANSWER = "(nothing)"

DECIDE = "planner/decide"
REASK = "planner/reask"
PLAN = "planner/plan"
REPLAN = "planner/replan"
SELECT = "selector/select"
STEP = "forge/step"
CONDITION = "forge/condition"
REENTRY = "forge/reentry"
