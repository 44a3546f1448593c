"""A question to people, printed."""

import shlex
from datetime import datetime

from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.values import Json
from soorma_ai.surfaces.options import Access
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.forms import describe_fields
from soorma_ai.surfaces.terminal.printing import BOLD, DIM, QUOTE, WAITING, Printer
from soorma_ai.surfaces.terminal.wording import ago, json_line, local_time, short_id, span, time_left

INDENT = 10


def print_wait(printer: Printer, wait: Wait, goal: str, now: datetime) -> None:
    """Print a question, with the whole held payload: an approver has to see it."""
    held = wait.proposed_event is not None
    printer.line(
        (f"{short_id(wait.wait_id):<{INDENT}}", WAITING),
        (one_line(wait.expected_event), BOLD),
        " needs approval" if held else " needs an answer",
        (f"  {time_left(wait.deadline, now)}", WAITING if wait.deadline else DIM),
    )
    audience = one_line(" or ".join(wait.approvers)) or "anybody"
    if wait.escalates_at is not None and wait.approvers:
        escalated = now >= wait.escalates_at
        when = "now" if escalated else f"in {span(wait.escalates_at - now)}"
        audience += f", and {when} for {one_line(' or '.join(wait.escalate_to))}"
    printer.line(
        (f"{_owner(wait, goal)}, requested by {one_line(wait.agent)} {ago(wait.opened_at, now)}, for {audience}", DIM),
        indent=INDENT,
    )
    if wait.claim is not None:
        given = f", by {one_line(wait.claim.given_by)}" if wait.claim.given_by else ""
        printer.line(
            (f"assigned to {one_line(wait.claim.user_id)} until {local_time(wait.claim.until)}{given}", WAITING),
            indent=INDENT,
        )
    if wait.message:
        printer.line((one_line(wait.message), QUOTE), indent=INDENT)
    if held:
        printer.line(json_line(wait.proposed_data), indent=INDENT)
    else:
        printer.line(describe_fields(wait.response_schema), indent=INDENT, label="answer with ")
    decisions = ", ".join(wait.allowed_decisions)
    default = f"; without an answer: {wait.on_expiry}" if held else ""
    printer.line((f"possible: {decisions}{default}", DIM), indent=INDENT)


def _owner(wait: Wait, goal: str) -> str:
    if wait.plan_id is not None:
        return f"plan {short_id(wait.plan_id)}{f' ({one_line(goal)})' if goal else ''}"
    return f"task {short_id(wait.task_id)}" if wait.task_id else f"request {short_id(wait.request_id or '')}"


def commands(wait: Wait, access: Access) -> list[str]:
    """Return the commands that answer it, to copy. A server knows the roles by the token."""
    role = f" --role {shlex.quote(wait.approvers[0])}" if wait.approvers and access.server is None else ""
    id = f"{short_id(wait.wait_id)}{role}{access.flags}"
    held = wait.proposed_event is not None
    if held:
        return [f"soorma approve {id}", f"soorma reject {id} --reason TEXT"]
    return [f"soorma answer {id} --data '{{...}}'"]


def print_commands(printer: Printer, wait: Wait, access: Access, indent: int = INDENT) -> None:
    for command in commands(wait, access):
        printer.command(command, indent)


def row(wait: Wait, now: datetime) -> tuple[str, ...]:
    asked: Json = wait.proposed_data if wait.proposed_event is not None else wait.response_schema
    return (
        wait.wait_id,
        wait.plan_id or "",
        one_line(wait.expected_event),
        time_left(wait.deadline, now),
        ",".join(wait.allowed_decisions),
        one_line(wait.message),
        json_line(asked),
    )
