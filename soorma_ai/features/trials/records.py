"""Results of trials."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from soorma_ai.kernel.domain.history import Verdict
from soorma_ai.kernel.domain.parameters import LONGEST_PATIENCE
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json

MOST_TIMES = 20

# Parameters of a trial.
Times = Annotated[int, Field(ge=1, le=MOST_TIMES)]
Dollars = Annotated[float | None, Field(ge=0)]
Patience = Annotated[float, Field(ge=0, le=LONGEST_PATIENCE)]


class Outcome(StrEnum):
    """Outcome of one decision in a trial. REWORDED: the answer stands, and its question has other words today. REFUSED:
    today's rules refuse the answer. UNREADABLE: the stored question lacks a part."""

    SAME = "same"
    REWORDED = "reworded"
    DIFFERENT = "different"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class DecisionTrial(Record, frozen=True):
    """Decision of a plan by its `number`, tried again. `reason` is one sentence; `question` and `answer` are unified
    diffs of the messages and of the payload, line by line."""

    number: int
    outcome: Outcome
    prompt_id: str
    model: str
    verdict: Verdict
    reason: str = ""
    question: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()


class PlanTrial(Record, frozen=True):
    """Trial of a plan: its recorded answers before today's code, registry, rules and prompts. It stops at the `first`
    difference, since the world after another decision is unknown. `tried` of `count` decisions were compared; the
    `unreadable` ones among them were passed over."""

    plan_id: str
    planner: str
    goal_event: str
    count: int
    tried: int
    unreadable: int = 0
    first: DecisionTrial | None = None

    @property
    def is_same(self) -> bool:
        return self.first is None


class TrialAnswer(Record, frozen=True):
    """Answer of a model in a trial: its `value`, or the `fault` against its use. A `declined` one was refused or
    filtered by its provider."""

    value: Json = None
    fault: str = ""
    declined: bool = False
    tokens: int = 0
    latency_ms: float = 0.0


class TrialCall(Record, frozen=True):
    """Call of a model for a trial, on disk before it is sent. `question` is the fingerprint of the messages and the
    form, `number` that of the answer. `usd` is its reservation; once it has ended, its cost. None: the price is
    unknown. A call of a killed process has no answer, and keeps its reservation."""

    call_id: str
    tenant_id: str
    user_id: str
    plan_id: str
    question: str
    model: str
    number: int
    at: datetime
    usd: float | None = None
    answer: TrialAnswer | None = None


class Usage(Record, frozen=True):
    """Calls of a model with their tokens, cost and total latency. `usd` None: the price is unknown."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    latency_ms: float = 0.0

    def plus(self, more: "Usage") -> "Usage":
        usd = None if self.usd is None or more.usd is None else self.usd + more.usd
        return Usage(self.calls + more.calls, self.tokens + more.tokens, usd, self.latency_ms + more.latency_ms)


class Score(Record, frozen=True):
    """Score of a question: `good` of `count` answers lead to the recorded effect."""

    number: int
    good: int
    count: int


class Stop(StrEnum):
    """Reason for an incomplete trial of a plan: its budget, or its time. The same call again goes on from there."""

    BUDGET = "budget"
    TIME = "time"


class ModelTrial(Record, frozen=True):
    """Trial of a plan by another model: each question of a step is asked again, `times` times, in today's words. It
    stops at the `first` difference.

    `tried` of `count` decisions were looked at. Of these, the `unreadable` ones lack a part, the `unasked` ones have no
    comparable answer, and `scores` has the others. `then` is the usage of the recorded answers to the same questions,
    `now` that of the trial. A kept answer counts in it, without a cost if another plan has paid it. `paid_usd` is the
    cost of new calls alone.
    """

    plan_id: str
    planner: str
    goal_event: str
    model: str
    times: int
    count: int
    tried: int = 0
    unreadable: int = 0
    unasked: int = 0
    scores: tuple[Score, ...] = ()
    then: Usage = Usage()
    now: Usage = Usage()
    paid_usd: float = 0.0
    first: DecisionTrial | None = None
    stopped: Stop | None = None

    @property
    def is_same(self) -> bool:
        return self.first is None
