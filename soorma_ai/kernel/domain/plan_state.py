"""State of a plan in hand: its row, and everything beside it that a step needs."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.effects import AppendStep, Close, DropValue, Expect, SavePlan, SaveValue, Spend
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.history import JoinProgress, Step
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanRecord, ValueKind
from soorma_ai.kernel.domain.values import Json


class StepMark(Struct, frozen=True):
    """Number of a plan's steps with one fingerprint, and the note of the last of them."""

    count: int
    note: str = ""


class PlanState(Struct, frozen=True):
    """State of a plan: the fold of its changes.

    `values` are by kind and key, `open` expectations by id, oldest first, `marks` by fingerprint, `joins` by id. `met`
    holds closed expectations by the closing event, as far as this event may still be handled. `recent` are the last
    steps, without a gap. `spent` are the amounts of the plan's tree.
    """

    plan: PlanRecord
    values: Mapping[tuple[ValueKind, str], Json] = {}
    open: Mapping[str, Expectation] = {}
    met: Mapping[str, Expectation] = {}
    marks: Mapping[str, StepMark] = {}
    joins: Mapping[str, JoinProgress] = {}
    recent: tuple[Step, ...] = ()
    spent: Spent = Spent()


class Closed(Struct, frozen=True):
    """Closed expectation, with the closing event or answer."""

    expectation_id: str
    status: ExpectationStatus
    at: datetime
    met_by: str | None = None
    answer: Answer | None = None


class HandlingEnd(Struct, frozen=True):
    """End of the handling of these events."""

    event_ids: tuple[str, ...]


ValueRow = SaveValue | DropValue
OtherRow = SavePlan | AppendStep | Expect | Close | Closed | Spend | HandlingEnd
PlanRow = ValueRow | OtherRow
