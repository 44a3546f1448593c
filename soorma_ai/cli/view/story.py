"""A causal trace in words."""

from collections.abc import Sequence
from datetime import timedelta

from soorma_ai.cli.view.render import BAD, BOLD, DIM, GOOD, QUOTE, WAITING, Node, Part, Printer, status_part
from soorma_ai.cli.view.wording import calling, local_time, offset, portion, said, short, shown, span, spending
from soorma_ai.core.report.lines import Asked, Line, LineKind
from soorma_ai.core.report.trace import Trace
from soorma_ai.domain.expectations import ExpectationStatus

PAYLOAD = 240
RESULTS = 480


def print_story(trace: Trace, printer: Printer) -> None:
    who = said(f"{trace.agent} {trace.agent_version}")
    prompt = f", prompt {said(trace.prompt)}" if trace.prompt else ""
    printer.line((said(trace.goal_event), BOLD), " ", status_part(trace.status), f", pursued by {who}")
    printer.line((f"plan {trace.plan_id}, started {local_time(trace.started_at)}{prompt}", DIM))
    printer.line((_shares(trace), DIM))
    printer.line((spending(trace.spent, trace.limits), DIM))
    if trace.current_state:
        printer.line((f"state {said(trace.current_state)}, results {shown(trace.results, RESULTS)}", DIM))
    printer.line()
    for line in trace.lines:
        when = (f"{offset(line.time):<9} ", DIM)
        printer.tree(Node((when, *told(line)), more(line), [_node(below) for below in line.lines]))


def _node(line: Line) -> Node:
    return Node(told(line), more(line), [_node(below) for below in line.lines])


def told(line: Line) -> Sequence[Part]:
    """What happened."""
    match line.kind:
        case LineKind.TURN:
            return ((f"{said(line.what)} {said(line.note)}".strip(), BOLD), _payload(line))
        case LineKind.DECISION:
            return _decision(line)
        case LineKind.REQUEST:
            return ("published ", (said(line.what), BOLD), _payload(line))
        case LineKind.DELEGATION:
            return ("delegated ", (said(line.what), BOLD), _payload(line))
        case LineKind.EVENT:
            return (f"{said(line.who)} published ", (said(line.what), BOLD), _payload(line))
        case LineKind.PROGRESS:
            return (f"{said(line.who)} reported ", (portion(line.data), BOLD), _quoted(line))
        case LineKind.REPLY:
            how = ("failed", BAD) if line.is_failure else "answered"
            return (f"{said(line.who) or 'it'} ", how, _took(line), _payload(line))
        case LineKind.PLAN:
            style = BAD if line.is_failure else BOLD
            return (f"plan {short(line.plan_id or '')} of {said(line.who)} ", (line.note, style), _took(line))
        case LineKind.GATE | LineKind.WAIT:
            verb = "held " if line.kind is LineKind.GATE else "waits for "
            return ((verb, WAITING), (said(line.what), BOLD), "" if line.data is None else f"  {shown(line.data)}")
        case LineKind.ANSWER:
            style = BAD if line.is_failure else GOOD
            return (f"{said(line.who)} ", (f"said {line.what}", style), _took(line), _quoted(line), _payload(line))
        case LineKind.OPEN | LineKind.CLOSED | LineKind.PARKED:
            return ((said(line.note), WAITING), _took(line))
        case LineKind.EXPIRY:
            return ((said(line.note), BAD), _took(line))
        case LineKind.END:
            return ((line.what, BAD if line.is_failure else GOOD), _quoted(line), _payload(line))


def more(line: Line) -> Sequence[Part]:
    """Why: in the words of the model, of the check that refused it, or of the question."""
    if line.kind is LineKind.DECISION and line.note:
        return ((said(line.note), BAD if line.is_failure else QUOTE),)
    if line.asked is not None:
        question = (f"{said(line.note)}  ", QUOTE) if line.note else ""
        return (question, (f"({_terms(line.time, line.asked)})", DIM))
    return ()


def _decision(line: Line) -> Sequence[Part]:
    verdict = (str(line.thought.verdict), BAD) if line.thought and line.is_failure else "decided"
    facts = f"  ({calling(line.thought)})" if line.thought else ""
    return (verdict, f" {said(line.what)}", (facts, DIM))


def _terms(opened: timedelta, asked: Asked) -> str:
    terms = f"wait {short(asked.wait_id)}, asked of {said(' or '.join(asked.approvers)) or 'anybody'}"
    if asked.status is not ExpectationStatus.OPEN or asked.deadline is None:
        return terms
    left = asked.deadline - opened - asked.waited
    return f"{terms}, {f'{span(left)} left' if left > timedelta(0) else 'overdue'}"


def _payload(line: Line) -> Part:
    return f"  {shown(line.data, PAYLOAD)}" if line.data not in (None, {}) else ""


def _quoted(line: Line) -> Part:
    return f": {said(line.note)}" if line.note else ""


def _took(line: Line) -> Part:
    return (f" after {span(line.took)}", DIM) if line.took is not None else ""


def _shares(trace: Trace) -> str:
    shares = trace.shares
    parts = (
        f"people {span(shares.people)}",
        f"model {span(shares.model)}",
        f"agents {span(shares.agents)}",
        f"between {span(shares.between)}",
    )
    return f"{'took' if trace.status.is_final else 'lasts'} {span(shares.total)}: {', '.join(parts)}"
