"""The trace of a plan: its stored rows as one tree of lines, each below its cause."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from soorma_ai.features.tracking.lines import (
    ARRIVALS,
    Line,
    LineKind,
    answer_line,
    choice_line,
    decision_line,
    heading,
    question_of,
    reply_line,
    report_of,
    unmet_line,
    untaken_line,
)
from soorma_ai.features.tracking.time_shares import Shares, shares_of
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import JournalEntry, Step, StepKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanDetails, PlanStatus
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.stores import REQUEST_UNKNOWN
from soorma_ai.kernel.domain.values import JsonObject

# Agents may answer each other for ever; deeper lines are listed side by side.
MOST_LEVELS = 24

_REQUESTS = frozenset({StepKind.PUBLISHED, StepKind.DELEGATED})
_ENDS = frozenset({StepKind.COMPLETED, StepKind.FAILED, StepKind.CANCELLED})


class Trace(PlanDetails, frozen=True, kw_only=True):
    """Trace of a plan. `lines` are its turns (event, decision, action) and, for a root, the events of its tree with a
    cause in none of them. `untaken` are those of all shown plans."""

    started_at: datetime
    shares: Shares
    lines: tuple[Line, ...]

    @property
    def spent(self) -> Spent:
        return self.usage


class TurnRange(Struct, frozen=True):
    """Turns of a plan: so many from this one on, counted from 0; without a `first`, the last ones."""

    most: int
    first: int | None = None

    def of(self, count: int) -> range:
        """Return the numbers of the selected turns among all."""
        last = max(0, count - self.most)
        first = last if self.first is None else min(self.first, last)
        return range(first, min(first + self.most, count))


def trace(
    plan: PlanDetails,
    others: Iterable[PlanDetails],
    events: Sequence[EventEnvelope],
    now: datetime,
    part: TurnRange | None = None,
) -> Trace:
    """Build the trace of a plan. `others` are plans of the same tree; descendants of this one are shown in their place.
    `events` are the tree's, in order. Open lines last until `now`. With a `part`, only these turns have lines; all else
    is of the whole plan."""
    tree = _Tree(plan, others, events, now)
    if part is not None:
        tree.leave_out_others(plan, part)
    lines = tree.turns(plan, 0)
    if plan.plan_id == plan.root_plan_id:
        lines = (*lines, *tree.orphans())
    ended = plan.updated_at if plan.status.is_final else now
    shares = shares_of(tree.shown_plans.values(), tree.start, ended)
    untaken = tuple(one for shown in tree.shown_plans.values() for one in shown.untaken)
    return Trace(**asdict(replace(plan, untaken=untaken)), started_at=tree.start, shares=shares, lines=lines)


def trace_of_part(
    plan: PlanDetails,
    others: Iterable[PlanDetails],
    events: Sequence[EventEnvelope],
    part: tuple[datetime, datetime],
    now: datetime,
) -> Trace:
    """Build the trace of a part of a long plan: some of its turns, made between two moments, with their rows. The
    shares are those of that time."""
    tree = _Tree(plan, others, events, now)
    lines = (*tree.turns(plan, 0), *tree.orphans(near=True))
    shares = shares_of(tree.shown_plans.values(), *part)
    return Trace(**asdict(plan), started_at=tree.start, shares=shares, lines=lines)


def count_turns(plan: PlanDetails) -> int:
    return len(_turns_of(plan))


class _TurnRows(Struct):
    """Everything that a planner did about one event."""

    cause_id: str
    at: datetime
    steps: list[Step] = field(default_factory=list[Step])
    decisions: list[JournalEntry] = field(default_factory=list[JournalEntry])


def _turns_of(plan: PlanDetails) -> list[_TurnRows]:
    """Return the turns of a plan in order. A planner handles one event of a plan at a time, so the steps of a turn
    stand together; a turn that failed has lost its arrival, but not its decisions."""
    turns: dict[str, _TurnRows] = {}
    current: _TurnRows | None = None
    for step in plan.steps:
        cause = step.event_id or ""
        starts = step.kind in ARRIVALS or (step.kind in _ENDS and (current is None or current.cause_id != cause))
        if starts or current is None:
            current = turns.setdefault(cause, _TurnRows(cause, step.at))
        current.steps.append(step)
    for entry in (entry for entry in plan.decisions if entry.key.agent == plan.agent):
        turn = turns.setdefault(entry.key.cause_id, _TurnRows(entry.key.cause_id, entry.at))
        turn.at = min(turn.at, entry.at)
        turn.decisions.append(entry)
    return sorted(turns.values(), key=lambda turn: turn.at)


class _Tree:
    def __init__(
        self, root: PlanDetails, others: Iterable[PlanDetails], events: Sequence[EventEnvelope], now: datetime
    ) -> None:
        self._root = root
        # A plan that failed at its first decision was stored when it had failed.
        self.start = min([root.created_at, *(entry.at - entry.latency for entry in root.decisions)])
        self._now = now
        self._plans = {plan.plan_id: plan for plan in (*others, root)}
        self._turns = {plan.plan_id: _turns_of(plan) for plan in self._plans.values()}
        self._causes = {plan_id: {turn.cause_id for turn in turns} for plan_id, turns in self._turns.items()}
        self._events = {event.id: event for event in events}
        # What other agents of the tree had a model choose, by the event that they handled.
        self._choices: defaultdict[str, list[JournalEntry]] = defaultdict(list)
        for plan in self._plans.values():
            for entry in (entry for entry in plan.decisions if entry.key.agent != plan.agent):
                self._choices[entry.key.cause_id].append(entry)
        self._caused: defaultdict[str | None, list[EventEnvelope]] = defaultdict(list)
        for event in self._events.values():
            self._caused[event.causation_id].append(event)
        self._expected = {e.id: e for plan in self._plans.values() for e in plan.expectations}
        self._untaken = {one.request_id: one for plan in self._plans.values() for one in plan.untaken}
        self._met_by = {e.met_by: e for e in self._expected.values() if e.met_by}
        self._begun: defaultdict[str, list[PlanDetails]] = defaultdict(list)
        for plan in sorted(self._plans.values(), key=lambda plan: plan.agent):
            self._begun[plan.goal_id].append(plan)
        steps = [step for plan in self._plans.values() for step in plan.steps]
        self._steps = {step.event_id for step in steps if step.kind in _REQUESTS}
        self._arrivals = {step.expectation_id: step for step in steps if step.kind in ARRIVALS}
        self._shown: set[str] = set()
        self._left_out: set[str] = set()
        self.shown_plans: dict[str, PlanDetails] = {}

    def leave_out_others(self, plan: PlanDetails, part: TurnRange) -> None:
        """Leave out the turns of a plan that are none of this part, with all that they led to."""
        turns = self._turns[plan.plan_id]
        told = part.of(len(turns))
        self._turns[plan.plan_id] = turns[told.start : told.stop]
        left = [*turns[: told.start], *turns[told.stop :]]
        self._left_out = {turn.cause_id for turn in left}
        kept = {turn.cause_id for turn in self._turns[plan.plan_id]}
        ahead = [id for turn in left for id in (turn.cause_id, *(step.event_id or "" for step in turn.steps))]
        while ahead:
            cause = ahead.pop()
            for one in self._begun.get(cause, ()):
                if one is not plan and one.plan_id not in self.shown_plans:
                    self.shown_plans[one.plan_id] = one
                    ahead += (turn.cause_id for turn in self._turns[one.plan_id])
            led_to = [one.id for one in self._caused.get(cause, ()) if one.id not in kept and one.id not in self._shown]
            self._shown.update(led_to)
            ahead += led_to

    def turns(self, plan: PlanDetails, level: int) -> tuple[Line, ...]:
        self.shown_plans[plan.plan_id] = plan
        if level > MOST_LEVELS:
            return ()
        return tuple(self._turn(plan, turn, level + 1) for turn in self._turns[plan.plan_id])

    def orphans(self, *, near: bool = False) -> tuple[Line, ...]:
        """Return the lines of events of the tree with a cause in none of its lines. `near`: as far as their cause is
        loaded; another part shows the others."""
        left = [e for e in self._events.values() if e.source != SYSTEM and not self._is_of_a_step(e)]
        left = [e for e in left if e.id not in self._left_out and (not near or e.causation_id in self._events)]
        return tuple(self._event(event, 1) for event in left if event.id not in self._shown)

    def _turn(self, plan: PlanDetails, turn: _TurnRows, level: int) -> Line:
        came = next((step for step in turn.steps if step.kind in ARRIVALS), None)
        event, met = self._events.get(turn.cause_id), self._met_by.get(turn.cause_id)
        what, note = heading(came) if came else (met.subject if met else event.type if event else "", "arrived")
        if came and came.kind is StepKind.GOAL and event:
            note = f"requested by {event.user_id if event.source == CLIENT else plain_name(event.source)}"
        lines = [decision_line(entry, self.start) for entry in turn.decisions]
        lines += [self._event(made, level) for made in self._own_events(plan, turn)]
        lines += [line for step in turn.steps if (line := self._step(plan, turn, step, level))]
        if turn.cause_id not in self._shown:
            self._shown.add(turn.cause_id)
            lines += self._consequences(turn.cause_id, level)
        return Line(
            kind=LineKind.TURN,
            time=turn.at - self.start,
            who=plain_name(plan.agent),
            what=what,
            note=note,
            data=plan.goal_data if came and came.kind is StepKind.GOAL and plan is self._root else None,
            event_id=turn.cause_id,
            because=event.causation_id if event else None,
            lines=tuple(sorted(lines, key=lambda line: line.time)),
        )

    def _own_events(self, plan: PlanDetails, turn: _TurnRows) -> list[EventEnvelope]:
        """Return the events that the planner's handler published beside its steps."""
        return [
            event
            for event in self._caused[turn.cause_id]
            if _is_made_by(plan, event) and event.id not in self._met_by and not self._is_of_a_step(event)
        ]

    def _step(self, plan: PlanDetails, turn: _TurnRows, step: Step, level: int) -> Line | None:
        time = step.at - self.start
        match step.kind:
            case StepKind.PUBLISHED | StepKind.DELEGATED:
                return self._request(plan, turn, step, level)
            case StepKind.ASKED | StepKind.HELD:
                return self._question(plan, step, level)
            case StepKind.PARKED:
                return Line(LineKind.PARKED, time, plain_name(plan.agent), note=step.note, because=turn.cause_id)
            case StepKind.COMPLETED | StepKind.FAILED | StepKind.CANCELLED:
                answer = next((e for e in self._caused[turn.cause_id] if _answers_caller(plan, e)), None)
                return Line(
                    kind=LineKind.END,
                    time=time,
                    who=plain_name(plan.agent),
                    what=step.kind,
                    note=step.note,
                    data=step.data,
                    event_id=answer.id if answer else None,
                    because=turn.cause_id,
                    is_failure=step.kind is not StepKind.COMPLETED,
                )
            case _:
                return None

    def _request(self, plan: PlanDetails, turn: _TurnRows, step: Step, level: int) -> Line:
        lines = self._consequences(step.event_id or "", level + 1)
        expected = self._expected.get(step.expectation_id or "")
        if expected is not None:
            lines += self._outcome(expected, lines, level)
        return Line(
            kind=LineKind.REQUEST if step.kind is StepKind.PUBLISHED else LineKind.DELEGATION,
            time=step.at - self.start,
            who=plain_name(plan.agent),
            what=step.name,
            data=step.data,
            event_id=step.event_id,
            because=turn.cause_id,
            lines=tuple(lines),
        )

    def _outcome(self, expected: Expectation, shown: Sequence[Line], level: int) -> list[Line]:
        """Return the line that says how the wait for a reply ended, unless it is shown already."""
        has_plan = expected.kind is ExpectationKind.CHILD and any(line.kind is LineKind.PLAN for line in shown)
        if expected.status is not ExpectationStatus.MET:
            open_child = has_plan and expected.status is ExpectationStatus.OPEN
            if untaken := self._untaken.get(expected.id):
                return [untaken_line(untaken, self.start, self._now)]
            return [] if open_child else [unmet_line(expected, "", self.start, self._now)]
        if has_plan or expected.met_by in self._shown:
            return []
        return [self._what_met(expected, level)]

    def _question(self, plan: PlanDetails, step: Step, level: int) -> Line:
        expected = self._expected.get(step.expectation_id or "")
        asked, answers = None, ()
        if expected is not None and expected.ask is not None:
            event = self._events.get(expected.met_by or "")
            by = expected.answer.by if expected.answer else plain_name(event.source) if event else None
            asked = question_of(expected, expected.ask, by, self.start, self._now)
            answers = self._answers(expected, level)
        return Line(
            kind=LineKind.GATE if step.kind is StepKind.HELD else LineKind.WAIT,
            time=step.at - self.start,
            who=plain_name(plan.agent),
            what=step.name,
            note=asked.message if asked else "",
            data=step.data if step.kind is StepKind.HELD else None,
            because=step.event_id,
            asked=asked,
            lines=answers,
        )

    def _answers(self, expected: Expectation, level: int) -> tuple[Line, ...]:
        if expected.status is not ExpectationStatus.MET:
            came = self._arrivals.get(expected.id)
            return (unmet_line(expected, came.note if came else "", self.start, self._now),)
        if expected.answer is not None:
            return (answer_line(expected, expected.answer, self.start),)
        return (self._what_met(expected, level),)

    def _what_met(self, expected: Expectation, level: int) -> Line:
        """Return the line of the event; for one not loaded, the text of the history."""
        event = self._events.get(expected.met_by or "")
        if event is not None:
            return self._event(event, level + 1, since=expected.opened_at)
        came, at = self._arrivals.get(expected.id), expected.closed_at or self._now
        data: JsonObject = came.data if came and isinstance(came.data, dict) else {}
        return reply_line("", expected.event_type, data, at - self.start, at - expected.opened_at, expected.met_by)

    def _consequences(self, cause_id: str, level: int) -> list[Line]:
        """Return the lines of the event's plans, and of events chosen and published by others because of it."""
        lines: list[Line] = []
        causes = deque([cause_id])
        while causes:
            cause = causes.popleft()
            lines += self._plans_begun(cause, level)
            lines += [choice_line(entry, self.start) for entry in self._choices.pop(cause, ())]
            for event in self._caused[cause]:
                if event.id in self._shown or self._is_shown_elsewhere(event, cause):
                    continue
                lines.append(self._event(event, level))
                if level >= MOST_LEVELS:
                    causes.append(event.id)
        return sorted(lines, key=lambda line: line.time)

    def _event(self, event: EventEnvelope, level: int, since: datetime | None = None) -> Line:
        """Return the line of an event. With `since`, it met an expectation that was opened then: it is a reply."""
        self._shown.add(event.id)
        at, who = event.time - self.start, plain_name(event.source)
        asked = self._events.get(event.causation_id or "")
        if since is None and asked is not None:
            is_reply = event.type == asked.response_event and event.correlation_id == asked.correlation_id
            since = asked.time if is_reply else None
        if report := report_of(event):
            note, data = report.message, report.progress
            line = Line(LineKind.PROGRESS, at, who, note=note, data=data, event_id=event.id)
        elif since is None:
            line = Line(LineKind.EVENT, at, who, event.type, data=event.data, event_id=event.id)
        else:
            line = reply_line(who, event.type, event.data, at, event.time - since, event.id)
        lines = self._consequences(event.id, level + 1) if level < MOST_LEVELS else []
        if untaken := self._untaken.get(event.id):
            lines.append(untaken_line(untaken, self.start, self._now))
        return replace(line, because=event.causation_id, lines=tuple(lines))

    def _is_shown_elsewhere(self, event: EventEnvelope, cause_id: str) -> bool:
        """Tell whether this is a wake-up, belongs to a planner's turn, or met some other expectation."""
        plan, met = self._plans.get(event.plan_id or ""), self._met_by.get(event.id)
        in_a_turn = plan is not None and _is_made_by(plan, event) and cause_id in self._causes[plan.plan_id]
        is_told_nowhere_else = event.type == REQUEST_UNKNOWN
        return (
            (event.source == SYSTEM and not is_told_nowhere_else)
            or in_a_turn
            or (met is not None and met.id != cause_id)
        )

    def _is_of_a_step(self, event: EventEnvelope) -> bool:
        """Tell whether the line of a step shows the event."""
        plan = self._plans.get(event.plan_id or "")
        return event.id in self._steps or (
            plan is not None
            and _is_made_by(plan, event)
            and (event.type == HUMAN_INPUT or _answers_caller(plan, event))
        )

    def _plans_begun(self, goal_id: str, level: int) -> list[Line]:
        begun = [plan for plan in self._begun.get(goal_id, ()) if plan.plan_id not in self.shown_plans]
        return [self._plan(plan, goal_id, level) for plan in begun]

    def _plan(self, plan: PlanDetails, goal_id: str, level: int) -> Line:
        lines = self.turns(plan, level + 1)
        ended = plan.updated_at if plan.status.is_final else self._now
        return Line(
            kind=LineKind.PLAN,
            time=plan.created_at - self.start,
            who=plain_name(plan.agent),
            what=plan.goal_event,
            note=plan.status,
            because=goal_id,
            plan_id=plan.plan_id,
            took=ended - plan.created_at,
            is_failure=plan.status in (PlanStatus.FAILED, PlanStatus.CANCELLED),
            lines=lines,
        )


def _is_made_by(plan: PlanDetails, event: EventEnvelope) -> bool:
    return event.source == plan.agent and event.plan_id == plan.plan_id


def _answers_caller(plan: PlanDetails, event: EventEnvelope) -> bool:
    return _is_made_by(plan, event) and event.data.get("plan_id") == plan.plan_id and "request_id" in event.data
