"""Cases: recorded decisions with a person's judgement of them."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec.structs import replace
from pydantic import Field, StringConstraints

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject

MOST_CASES = 1_000

# Parameters of calls about cases. The name of a set of cases is that of its file, too.
CaseName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Paths = Annotated[Sequence[Annotated[str, StringConstraints(pattern=r"^/", max_length=200)]], Field(max_length=50)]


class CaseKind(StrEnum):
    """Judgement of a decision: it is RIGHT, it SHOULD have been another, or it is WRONG and no other is known."""

    RIGHT = "right"
    SHOULD = "should"
    WRONG = "wrong"


class DecisionCase(Record, frozen=True):
    """Recorded decision of a plan as a case of the set `name`. It holds its whole question, so that nothing else of the
    plan is needed: the `inputs` of the prompt, the shown choices with their definitions, and the `steps` before it.

    `should` is the wanted answer in a model's form. JSON pointers in `free` name parts of a payload that are not
    compared. `note` is the reason, for people. `made_at` is the moment of the judgement.
    """

    case_id: str
    name: str
    kind: CaseKind
    number: int
    made_at: datetime
    plan: PlanRecord
    entry: JournalEntry
    inputs: JsonObject
    showing: Showing
    choices: tuple[RegisteredEvent, ...] = ()
    steps: tuple[Step, ...] = ()
    should: JsonObject | None = None
    free: tuple[str, ...] = ()
    note: str = ""

    def of_tenant(self, tenant_id: str) -> "DecisionCase":
        """Return the case as one of this tenant."""
        lineage = replace(self.plan.lineage, tenant_id=tenant_id)
        return replace(self, plan=replace(self.plan, lineage=lineage))


class Review(Record, frozen=True):
    """Edited or rejected approval of a plan without a case so far."""

    expectation_id: str
    tenant_id: str
    plan_id: str


ManyCases = Annotated[Sequence[DecisionCase], Field(max_length=MOST_CASES)]
