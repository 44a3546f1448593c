"""Results of trials."""

from enum import StrEnum

from soorma_ai.kernel.domain.history import Verdict
from soorma_ai.kernel.domain.records import Record


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
