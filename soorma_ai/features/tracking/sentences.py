"""Events as sentences: one line each, without JSON."""

from collections.abc import Sequence

from msgspec.structs import replace

from soorma_ai.features.tracking.lines import Line, LineKind
from soorma_ai.features.tracking.live import LiveLine
from soorma_ai.features.tracking.story import ANSWER_VERBS, headline
from soorma_ai.kernel.domain.events import completion_of
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.values import Json, clip
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, QUOTE, WAITING, Part
from soorma_ai.surfaces.terminal.wording import portion, span, time_left

MOST_FIELDS = 3
LONGEST_VALUE = 24
LONGEST_NOTE = 160
_REPLY_SUFFIX = completion_of("")


def merge_lines(lines: Sequence[LiveLine]) -> list[LiveLine]:
    """Return the lines of one event without its accepted decisions: their reasoning is the note of the event."""
    if not lines:
        return []
    *_, last = lines
    reasons = [one.line.note for one in lines[:-1] if not one.line.is_failure]
    kept = [one for one in lines if one is last or one.line.is_failure]
    if not reasons or last.line.note:
        return kept
    return [*kept[:-1], replace(last, line=replace(last.line, note=reasons[-1]))]


def sentence(told: LiveLine) -> Sequence[Part]:
    """Return the words of a line."""
    line = told.line
    who, what = one_line(line.who), one_line(line.what)
    match line.kind:
        case LineKind.DECISION | LineKind.CHOICE:
            verb = "decided on" if line.thought is None or not line.is_failure else str(line.thought.verdict)
            return (f"{who} {verb} ", (what, BOLD), _note(line, BAD if line.is_failure else QUOTE))
        case LineKind.EVENT:
            return (f"{who} published ", (what, BOLD), _facts(line.data), _note(line))
        case LineKind.PROGRESS:
            return (f"{who} is at ", (portion(line.data), BOLD), _note(line))
        case LineKind.REPLY:
            return _reply(line, who, what)
        case LineKind.GATE:
            return ((f"{who} needs approval for ", WAITING), (what, BOLD), _facts(line.data), _note(line))
        case LineKind.WAIT:
            return ((f"{who} asks for ", WAITING), (what, BOLD), _note(line))
        case LineKind.ANSWER:
            verb = ANSWER_VERBS.get(AnswerDecision(line.what), line.what)
            subject = f" {one_line(told.subject)}" if told.subject else ""
            return (f"{who} ", (verb, BAD if line.is_failure else GOOD), subject, _took(line), _note(line))
        case LineKind.EXPIRY | LineKind.CLOSED | LineKind.OPEN | LineKind.PARKED:
            return ((what, BOLD), (f": {one_line(line.note)}", BAD if line.is_failure else WAITING))
        case LineKind.END:
            plan = f"plan of {who} " if who else "the plan "
            return (plan, (what, BAD if line.is_failure else GOOD), _note(line))
        case LineKind.TURN | LineKind.REQUEST | LineKind.DELEGATION | LineKind.PLAN:
            return headline(replace(line, data=None))


def terms(told: LiveLine) -> str:
    """Return the approvers and the deadline of a question; empty for other lines."""
    wait = told.wait
    if wait is None:
        return ""
    who = one_line(" or ".join(wait.approvers)) or "anybody"
    return f"Approver: {who}, {time_left(wait.deadline, told.at)}"


def facts(data: Json) -> str:
    """Return the first short fields of a payload: `order_id A1, quantity 2`."""
    if not isinstance(data, dict):
        return ""
    short = [
        f"{one_line(name)} {clip(one_line(str(value)), LONGEST_VALUE)}"
        for name, value in data.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    ]
    return ", ".join(short[:MOST_FIELDS])


def _reply(line: Line, who: str, what: str) -> Sequence[Part]:
    request = what.removesuffix(_REPLY_SUFFIX)
    name: Part = (request, BOLD)
    if not line.is_failure:
        verb = "answered " if request != what else "answered with "
        return (f"{who} ", verb, name, _took(line), _facts(line.data))
    error = line.data if isinstance(line.data, dict) else {}
    reason = error.get("message") or line.data
    return (f"{who} ", ("failed", BAD), " at ", name, _took(line), f": {clip(one_line(str(reason)), LONGEST_NOTE)}")


def _facts(data: Json) -> Part:
    found = facts(data)
    return (f" ({found})" if found else "", DIM)


def _took(line: Line) -> Part:
    return (f" after {span(line.took)}" if line.took is not None else "", DIM)


def _note(line: Line, style: str = QUOTE) -> Part:
    return (f": {clip(one_line(line.note), LONGEST_NOTE)}" if line.note else "", style)
