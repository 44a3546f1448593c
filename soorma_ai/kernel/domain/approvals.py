"""Rules for questions to people: approvals of requests, and help before a plan gives up."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, Protocol, cast

from msgspec.structs import replace

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.conditions import ALWAYS, any_of, check_condition
from soorma_ai.kernel.domain.people import ladder_fault
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.schemas import check_schema
from soorma_ai.kernel.domain.values import JsonObject


class Approval(Record, frozen=True):
    """Rule for the approval of an event's publication by a person: its condition, and its approvers.

    `when` is 'always' or a CEL condition over `payload` and `context` (the goal's data). `approvers` are roles, and the
    answering person needs one of them; none means anybody of the tenant. `response_schema` describes the answer's
    payload; the default asks for `approved`. `reminders` and `escalate_after` count from the moment of asking. From the
    escalation on, the roles of `escalate_to` may answer, too.
    """

    when: str = ALWAYS
    approvers: tuple[str, ...] = ()
    timeout: timedelta | None = None
    """Longest wait for the answer."""
    on_expiry: Literal["approve", "reject"] = "reject"
    """Decision at the end of `timeout`: "reject" or "approve"."""
    message: str = ""
    """Question, with fields of the payload: "Pay {amount}"."""
    response_schema: JsonObject | None = None
    reminders: tuple[timedelta, ...] = ()
    escalate_after: timedelta | None = None
    escalate_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(cast(object, self.when), str):
            raise ConfigError(
                f"Approval, when={self.when!r}: give 'always', or a condition like 'payload.amount > 5.0'"
            )
        check_condition(self.when)
        _check_people("Approval", self)
        if self.response_schema is not None:
            if not isinstance(cast(object, self.response_schema), dict):
                raise ConfigError(f"Approval, response_schema={self.response_schema!r}: give a JSON Schema")
            check_schema(self.response_schema)
        if self.on_expiry not in ("approve", "reject"):
            raise ConfigError(f"Approval(on_expiry={self.on_expiry!r}): give 'approve' or 'reject'")
        if self.on_expiry == "approve" and self.approvers:
            raise ConfigError(
                f"Approval(on_expiry='approve', approvers={self.approvers!r}): silence would answer for them"
            )

    def add_condition(self, later: "Approval") -> "Approval":
        """Return the approval of an event with this rule of its owner and a further one of a taker, `later`: the
        owner's approvers and times stand."""
        return replace(self, when=any_of([self.when, later.when]))

    def combine(self, other: "Approval | None") -> "Approval":
        """Return the approval needed by this rule or the `other`. Silence is a yes only if it is one for both. If both
        name people, this rule's are asked."""
        if other is None:
            return self
        return replace(
            self,
            when=any_of([self.when, other.when]),
            approvers=self.approvers or other.approvers,
            on_expiry="approve" if (self.on_expiry, other.on_expiry) == ("approve", "approve") else "reject",
        )


class HelpRequest(Record, frozen=True):
    """Rule for the question to a person before a plan gives up, for `on_give_up=`.

    `approvers` are roles, and the answering person needs one of them; none means anybody of the tenant. `reminders` and
    `escalate_after` count from the moment of asking. From the escalation on, the roles of `escalate_to` may answer,
    too.
    """

    approvers: tuple[str, ...] = ()
    timeout: timedelta | None = None
    """Longest wait for the answer; a week by default."""
    reminders: tuple[timedelta, ...] = ()
    escalate_after: timedelta | None = None
    escalate_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_people("HelpRequest", self)


class AskedPeople(Protocol):
    """People asked by a rule, and the times of their question."""

    @property
    def approvers(self) -> tuple[str, ...]: ...

    @property
    def timeout(self) -> timedelta | None: ...

    @property
    def reminders(self) -> tuple[timedelta, ...]: ...

    @property
    def escalate_after(self) -> timedelta | None: ...

    @property
    def escalate_to(self) -> tuple[str, ...]: ...


def _check_people(rule: str, asked: AskedPeople) -> None:
    """Raise ConfigError for people and times that a question cannot have."""
    if not isinstance(cast(object, asked.reminders), tuple | list):
        raise ConfigError(f"{rule}, reminders={asked.reminders!r}: give a tuple of spans")
    _must_be_spans(rule, timeout=asked.timeout, escalate_after=asked.escalate_after)
    for after in asked.reminders:
        _must_be_spans(rule, reminders=after)
    if isinstance(asked.approvers, str):
        raise ConfigError(f"{rule}(approvers={asked.approvers!r}) would be its letters; give a tuple of roles")
    if strange := [role for role in cast("Sequence[object]", asked.approvers) if not isinstance(role, str)]:
        raise ConfigError(f"{rule}, approvers={strange!r}: give a tuple of names of roles")
    if fault := ladder_fault(asked.reminders, asked.escalate_after, asked.escalate_to):
        raise ConfigError(f"{rule}: {fault}")


def approval_of(value: Approval | str | None) -> Approval | None:
    return Approval(when=value) if isinstance(value, str) else value


def _must_be_spans(rule: str, **given: object) -> None:
    for name, span in given.items():
        if span is not None and not (isinstance(span, timedelta) and span > timedelta(0)):
            raise ConfigError(f"{rule}, {name}={span!r}: give a span above zero, as in timedelta(minutes=30)")
