"""The progress of plans, from the rows that decide and never from the event that was seen last: an event that comes
late, twice or before its request changes no closed row, and so nothing here."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from soorma_ai.context_parts.progress import (
    Action,
    ActionStatus,
    Awaited,
    DelegationGroup,
    PlanLine,
    PlanNode,
    PlanProgress,
    Report,
    TimelineEntry,
)
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, Expectation, ExpectationKind, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import Blocked, PlanRecord
from soorma_ai.kernel.domain.values import JsonObject, excerpt
from soorma_ai.kernel.ports import EventHandling

if TYPE_CHECKING:
    from soorma_ai.features.tracking.trace import Trace

LONGEST_RESULT = 160


def requests_of(plan_id: str, events: Iterable[EventEnvelope]) -> list[EventEnvelope]:
    """Return the requests of the plan and of the workers that it asked, in order; none of another plan of the tree."""
    return [e for e in events if e.topic is EventTopic.ACTION_REQUESTS and e.plan_id == plan_id]


def replies_by_key(events: Iterable[EventEnvelope]) -> dict[tuple[str, str], EventEnvelope]:
    """Return events by reply key and type; of several the first, since only the first counts."""
    found: dict[tuple[str, str], EventEnvelope] = {}
    for event in events:
        if event.correlation_id is not None:
            found.setdefault((event.correlation_id, event.type), event)
    return found


def reports_of(events: Iterable[EventEnvelope]) -> dict[str, Report]:
    """Return the latest report of each task, by the times in the reports, which may come in any order."""
    from soorma_ai.features.tracking.lines import report_of  # here and below: few programs look at progress

    found: dict[str, Report] = {}
    for event in events:
        task_id, report = event.data.get("task_id"), report_of(event)
        if report and isinstance(task_id, str) and (task_id not in found or report.at >= found[task_id].at):
            found[task_id] = report
    return found


def action(
    request: EventEnvelope,
    expected: Expectation | None,
    reply: EventEnvelope | None,
    handed: Sequence[EventHandling],
    report: Report | None,
    untaken: Untaken | None = None,
) -> Action:
    """Describe a request. `reply` is the event at its expectation; without one, the most likely answer."""
    status = _status(expected, reply, handed)
    ended = expected.closed_at if expected else None
    return Action(
        action_id=request.id,
        event_type=request.type,
        asked_by=plain_name(request.source),
        agents=tuple(sorted({plain_name(one.agent) for one in handed})),
        status=status,
        requested_at=request.time,
        ended_at=(ended or (reply.time if reply else None)) if status.is_final else None,
        error=_error(status, expected, reply),
        parent_id=expected.task_id if expected else None,
        group_id=expected.group_id if expected else None,
        report=report,
        untaken=untaken,
    )


def progress(plan: PlanRecord, actions: Sequence[Action]) -> PlanProgress:
    counted = Counter(one.status for one in actions)
    return PlanProgress(
        plan_id=plan.plan_id,
        agent=plain_name(plan.agent),
        goal_event=plan.goal_event,
        status=plan.status,
        reason=plan.reason,
        started_at=plan.created_at,
        updated_at=plan.updated_at,
        counts={status: counted[status] for status in ActionStatus},
        total=len(actions),
        done=sum(one.status.is_final for one in actions),
        reports={one.action_id: one.report for one in actions if one.report},
    )


def timeline(trace: "Trace") -> list[TimelineEntry]:
    """Return the lines of `soorma plans show` in the order of time, without their causes."""
    from soorma_ai.features.tracking.lines import flatten

    entries = [
        TimelineEntry(
            at=trace.started_at + line.time,
            kind=line.kind,
            who=line.who,
            what=line.what,
            note=line.note,
            data=line.data,
            event_id=line.event_id,
            is_failure=line.is_failure,
        )
        for line in flatten(trace.lines)
    ]
    return sorted(entries, key=lambda entry: entry.at)


def tree(root: PlanRecord, plans: Iterable[PlanRecord]) -> PlanNode:
    below: defaultdict[str | None, list[PlanRecord]] = defaultdict(list)
    for plan in sorted(plans, key=lambda plan: plan.created_at):
        below[plan.parent_plan_id].append(plan)

    def node(plan: PlanRecord) -> PlanNode:
        return PlanNode(
            PlanSummary.of(plan), plain_name(plan.agent), tuple(node(child) for child in below[plan.plan_id])
        )

    return node(root)


def group(group_id: str, members: Sequence[Expectation], actions: Sequence[Action]) -> DelegationGroup:
    came = sum(one.status is ExpectationStatus.MET for one in members)
    return DelegationGroup(
        group_id=group_id,
        task_id=members[0].task_id or "",
        agent=plain_name(members[0].agent),
        total=len(members),
        came=came,
        missing=tuple(one.id for one in members if one.status is ExpectationStatus.OPEN),
        members=tuple(actions),
    )


def _status(expected: Expectation | None, reply: EventEnvelope | None, handed: Sequence[EventHandling]) -> ActionStatus:
    if expected is not None and expected.status is ExpectationStatus.EXPIRED:
        return ActionStatus.TIMED_OUT
    if expected is not None and expected.status is ExpectationStatus.CLOSED:
        return ActionStatus.CANCELLED
    if expected.status is ExpectationStatus.MET if expected else reply:
        return _outcome(reply.data if reply else {})
    if expected is None and handed and all(one.has_ended for one in handed):
        return ActionStatus.FAILED if any(one.is_dead for one in handed) else ActionStatus.COMPLETED
    return ActionStatus.RUNNING if any(one.has_begun for one in handed) else ActionStatus.PENDING


def _outcome(data: JsonObject) -> ActionStatus:
    if data.get("success") is not False:
        return ActionStatus.COMPLETED
    error = data.get("error")
    was_cancelled = isinstance(error, dict) and error.get("code") == "cancelled"
    return ActionStatus.CANCELLED if was_cancelled else ActionStatus.FAILED


def _error(status: ActionStatus, expected: Expectation | None, reply: EventEnvelope | None) -> str | None:
    if status is ActionStatus.TIMED_OUT:
        return f"no answer came until {expected.deadline}" if expected else None
    error = reply.data.get("error") if reply and status in (ActionStatus.FAILED, ActionStatus.CANCELLED) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message) if message else None


def plan_line(
    plan: PlanRecord, spent: Spent, expected: Sequence[Expectation], blocked: Blocked | None = None
) -> PlanLine:
    """Return a plan as a list shows it. `expected` are some of the expectations that are open, `blocked` is why an
    operator is needed."""
    return PlanLine(
        plan_id=plan.plan_id,
        root_plan_id=plan.root_plan_id,
        status=plan.status,
        goal_event=plan.goal_event,
        agent=plain_name(plan.agent),
        user_id=plan.owner.user_id,
        session_id=plan.lineage.session_id,
        created_at=plan.created_at,
        updated_at=plan.updated_at,
        deadline=plan.deadline,
        reason=plan.reason,
        spent=spent,
        awaits=tuple(_wait(one) for one in expected if one.kind is not ExpectationKind.JOIN),
        blocked=blocked,
        title=plan.title,
        result="" if plan.result is None else excerpt(plan.result, LONGEST_RESULT),
    )


def _wait(one: Expectation) -> Awaited:
    asked = one.ask.approvers if one.ask else ()
    what = one.event_type if one.kind in (ExpectationKind.WAIT, ExpectationKind.OFFER) else one.subject
    whom = asked if one.kind in FOR_PEOPLE else one.producers
    return Awaited(one.id, one.kind, what or one.event_type, whom, one.deadline)
