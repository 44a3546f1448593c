"""The history of a plan: its steps, and every answer of a model."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject


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
    """One line of a plan's history, only ever appended.

    `name` is the event that it is about; `event_id` the event that caused it or that it made; `fingerprint` names the
    decision and the state that it was made in, for the repeat limit, or the request that a person rejected. `join_id`
    is the join that this came for, in time, as number `place`; or the one that `fires` here: the plan decides again.
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
    """Number of branches of a join that `came` in time, and the step at which it `fired`, if it has. `needed` is how
    many must come as long as it is open."""

    came: int = 0
    fired: Step | None = None
    needed: int | None = None


class Verdict(StrEnum):
    """Verdict on a model's answer. One that it DECLINED to give is never asked for again; by one that LOOKED_UP more
    nothing was decided."""

    ACCEPTED = "accepted"
    LOOKED_UP = "looked up"
    REFUSED = "refused"
    DECLINED = "declined"


class Ending(StrEnum):
    """The end of a model's answer, as its provider says. One that was CUT, BLANK if within blanks, or ended in an ODD
    way, is never used."""

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
    """Text of a question, kept once under its digest: with the plan whose words it holds, or for all plans of a tenant
    where it holds nobody's."""

    digest: str
    body: str
    tenant_id: str = ""
    plan_id: str = ""


class Sent(Record, frozen=True):
    """What a question was made of. `digest` is that of all that was sent.

    The inputs of its prompt are `own`, those that differ from call to call; those in the part `frame`; and `made`, with
    their digests, which are made again from the plan's rows: its goal, its steps from `first` to `last`, and of the
    trigger our text, the words `said` and the `join_id`. A text that is long stands in `own` and in the frame as a
    reference to its part. `after` are the calls of the same handling that were refused and told again, by the prompt in
    the part `again`.
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
    again: str = ""
    after: tuple[int, ...] = ()


class JournalEntry(Record, frozen=True):
    """One answer of a model, written down before anything is done about it.

    `raw` is its text, `value` the JSON found in it, `found` how, and `fault` what kept it from being used. `shown` is
    the digest of what of the offer the model was shown, `remembered` what it was told from memory, `sent` what the
    question was made of. Of the prompt, `cached_tokens` had been kept by the provider.
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
    """What was sent for the decision `number` of `count`, made again. `form` is the schema of the answer, as JSON.
    Without `faults` it is what was sent, to the byte; else they say which parts are lacking, or are not as they were.
    """

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
