"""Conditions on rows, as keywords of a store's queries."""

from collections.abc import Collection

from typing_extensions import TypedDict

from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports.rows import Place


class PlanConditions(TypedDict, total=False):
    """Conditions on plans."""

    status: PlanStatus | None
    root_plan_id: str | None
    session_id: str | None


class QuestionConditions(TypedDict, total=False):
    """Conditions on open questions."""

    roles: Collection[str]
    """With a user: roles of theirs, of which a question names one for its answer, now or after an escalation."""
    kind: ExpectationKind | None
    beyond: Place | None
    """Next to this question, which may be closed by now; none beyond a missing one."""


class LogConditions(TypedDict, total=False):
    """Conditions on events of the log."""

    root_plan_id: str | None
    newest: bool
    """In the other order: before the place, and from the end where it is 0."""


class UntakenConditions(TypedDict, total=False):
    """Conditions on requests without a taker."""

    root_plan_id: str | None
    task_id: str | None
