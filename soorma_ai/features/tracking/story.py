"""The trace of a plan, printed as a tree of causes and effects."""

from collections.abc import Sequence
from datetime import timedelta

from rich.tree import Tree

from soorma_ai.features.tracking.lines import Asked, Line, LineKind
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.rules.plans.waiting import describe_state, need_of
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    QUOTE,
    WAITING,
    Part,
    Printer,
    status_part,
    text_of,
)
from soorma_ai.surfaces.terminal.wording import (
    call_facts,
    json_line,
    local_time,
    offset_cell,
    portion,
    resting,
    short_id,
    span,
    spending,
)

PAYLOAD = 240
RESULTS = 480
MOST_UNTAKEN = 10
MOST_BLOCKED = 5
ANSWER_VERBS = {
    AnswerDecision.APPROVE: "approved",
    AnswerDecision.EDIT: "edited and approved",
    AnswerDecision.REJECT: "rejected",
    AnswerDecision.RESPOND: "answered",
}


def print_trace(trace: Trace, printer: Printer | None = None) -> None:
    """Print it to stdout when no `printer` is given, as `soorma plans show` does."""
    printer = printer or Printer()
    who = one_line(f"{trace.agent} {trace.agent_version}")
    prompt = f", prompt {one_line(trace.prompt)}" if trace.prompt else ""
    printer.line((one_line(trace.goal_event), BOLD), " ", status_part(trace.status), f", planned by {who}")
    printer.line((f"plan {trace.plan_id}, started {local_time(trace.started_at)}{prompt}", DIM))
    if trace.fork is not None:
        printer.line((one_line(trace.fork.title), WAITING))
    printer.line((_shares(trace), DIM))
    printer.line((spending(trace.spent, trace.limits), DIM))
    if trace.current_state:
        printer.line((f"state {one_line(trace.current_state)}, results {json_line(trace.results, RESULTS)}", DIM))
    if trace.rest:
        printer.line((f"{resting(trace.rest)}: {one_line(trace.rest.reason)}", WAITING))
    for one in trace.blocked[:MOST_BLOCKED]:
        printer.line((one_line(need_of(one)), WAITING))
    if state := _state(trace):
        printer.line((one_line(state), WAITING))
    for one in trace.untaken[:MOST_UNTAKEN]:
        since, until = local_time(one.since), local_time(one.until)
        printer.line((f"nobody takes {one_line(one.event_type)} yet; waits since {since}, until {until}", WAITING))
    if len(trace.untaken) > MOST_UNTAKEN:
        printer.line((f"and {len(trace.untaken) - MOST_UNTAKEN} more that nobody takes", WAITING))
    printer.line()
    for line in trace.lines:
        printer.tree(_tree(line, (offset_cell(line.time), DIM)))


def _tree(line: Line, *before: Part) -> Tree:
    why = explanation(line)
    tree = Tree(text_of((*before, *headline(line), *(("\n", *why) if why else ()))), guide_style=DIM)
    tree.children += [_tree(below) for below in line.lines]
    return tree


def headline(line: Line) -> Sequence[Part]:
    """Return the sentence of a line."""
    who, what, note, took, payload = one_line(line.who), one_line(line.what), _note(line), _took(line), _payload(line)
    style = BAD if line.is_failure else BOLD
    match line.kind:
        case LineKind.TURN:
            return ((f"{what} {one_line(line.note)}".strip(), BOLD), payload)
        case LineKind.DECISION:
            return _decision(line)
        case LineKind.CHOICE:
            return (f"{who}: ", *_decision(line))
        case LineKind.REQUEST:
            return ("published ", (what, BOLD), payload)
        case LineKind.DELEGATION:
            return ("delegated ", (what, BOLD), payload)
        case LineKind.EVENT:
            return (f"{who} published ", (what, BOLD), payload)
        case LineKind.PROGRESS:
            return (f"{who} reported ", (portion(line.data), BOLD), note)
        case LineKind.REPLY:
            return (f"{who or 'it'} ", ("failed", BAD) if line.is_failure else "answered", took, payload)
        case LineKind.PLAN:
            return (f"plan {short_id(line.plan_id or '')} of {who} ", (line.note, style), took)
        case LineKind.GATE | LineKind.WAIT:
            verb = "held " if line.kind is LineKind.GATE else "waits for "
            return ((verb, WAITING), (what, BOLD), "" if line.data is None else f"  {json_line(line.data)}")
        case LineKind.ANSWER:
            verb = ANSWER_VERBS.get(AnswerDecision(line.what), line.what)
            return (f"{who} ", (verb, BAD if line.is_failure else GOOD), took, note, payload)
        case LineKind.OPEN | LineKind.CLOSED | LineKind.PARKED:
            return ((one_line(line.note), WAITING), took)
        case LineKind.EXPIRY:
            return ((one_line(line.note), BAD), took)
        case LineKind.END:
            return ((line.what, BAD if line.is_failure else GOOD), note, payload)


def explanation(line: Line) -> Sequence[Part]:
    """Say why it happened, in the words of the model, of the check that refused it, or of the question."""
    if line.kind in (LineKind.DECISION, LineKind.CHOICE) and line.note:
        return ((one_line(line.note), BAD if line.is_failure else QUOTE),)
    if line.asked is not None:
        question = (f"{one_line(line.note)}  ", QUOTE) if line.note else ""
        return (question, (f"({_terms(line.time, line.asked)})", DIM))
    return ()


def _decision(line: Line) -> Sequence[Part]:
    verdict = (str(line.thought.verdict), BAD) if line.thought and line.is_failure else "decided"
    facts = f"  ({call_facts(line.thought)})" if line.thought else ""
    return (verdict, f" {one_line(line.what)}", (facts, DIM))


def _terms(opened: timedelta, asked: Asked) -> str:
    terms = f"wait {short_id(asked.wait_id)}, for {one_line(' or '.join(asked.approvers)) or 'anybody'}"
    if asked.status is not ExpectationStatus.OPEN or asked.deadline is None:
        return terms
    left = asked.deadline - opened - asked.waited
    return f"{terms}, {f'{span(left)} left' if left > timedelta(0) else 'overdue'}"


def _payload(line: Line) -> Part:
    return f"  {json_line(line.data, PAYLOAD)}" if line.data not in (None, {}) else ""


def _note(line: Line) -> Part:
    return f": {one_line(line.note)}" if line.note else ""


def _took(line: Line) -> Part:
    return (f" after {span(line.took)}", DIM) if line.took is not None else ""


def _state(trace: Trace) -> str:
    """Return the waits of a plan, without requests that no agent takes."""
    unheard = {one.request_id for one in trace.untaken}
    waits = [one for one in trace.expectations if one.id not in unheard]
    return describe_state(trace.status, waits, ()).partition("; ")[2]


def _shares(trace: Trace) -> str:
    shares = trace.shares
    total = f"{'took' if trace.status.is_final else 'lasts'} {span(shares.total)}"
    ours = f"model {span(shares.model)}, agents {span(shares.agents)}, between {span(shares.between)}"
    return f"{total}: people {span(shares.people)}, {ours}"
