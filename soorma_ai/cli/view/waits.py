"""How a question to people is shown."""

from datetime import datetime

from soorma_ai.cli.view.forms import asks_for
from soorma_ai.cli.view.render import BOLD, DIM, QUOTE, WAITING, Printer
from soorma_ai.cli.view.wording import ago, remaining, said, short, shown, span
from soorma_ai.domain.expectations import Wait
from soorma_ai.domain.values import Json

INDENT = 10


def print_wait(printer: Printer, wait: Wait, goal: str, now: datetime) -> None:
    """What is held is shown whole: nobody can approve what they have not seen."""
    held = wait.proposed_event is not None
    printer.line(
        (f"{short(wait.wait_id):<{INDENT}}", WAITING),
        (said(wait.expected_event), BOLD),
        " needs approval" if held else " is asked for",
        (f"  {remaining(wait.deadline, now)}", WAITING if wait.deadline else DIM),
    )
    who = said(" or ".join(wait.approvers)) or "anybody"
    if wait.escalates_at is not None and wait.approvers:
        escalated = now >= wait.escalates_at
        when = "by now" if escalated else f"in {span(wait.escalates_at - now)}"
        who += f", and {when} of {said(' or '.join(wait.escalate_to))}"
    plan = f"plan {short(wait.plan_id or '')}{f' ({said(goal)})' if goal else ''}"
    printer.line((f"{plan}, asked by {said(wait.agent)} {ago(wait.opened_at, now)}, of {who}", DIM), indent=INDENT)
    if wait.message:
        printer.line((said(wait.message), QUOTE), indent=INDENT)
    if held:
        printer.line(shown(wait.proposed_data), indent=INDENT)
    else:
        printer.line(asks_for(wait.response_schema), indent=INDENT, label="answer with ")
    decisions = ", ".join(wait.allowed_decisions)
    default = f"; {wait.on_expiry} when the time is over" if held else ""
    printer.line((f"possible: {decisions}{default}", DIM), indent=INDENT)


def print_commands(printer: Printer, wait: Wait, flags: str) -> None:
    for command in commands(wait, flags):
        printer.line((command, DIM), indent=INDENT)


def commands(wait: Wait, flags: str) -> list[str]:
    """To copy."""
    id = short(wait.wait_id)
    if wait.proposed_event is not None:
        return [f"soorma approve {id}{flags}", f"soorma reject {id}{flags}"]
    return [f"soorma answer {id}{flags} --data '{{...}}'"]


def row(wait: Wait, now: datetime) -> tuple[str, ...]:
    asked: Json = wait.proposed_data if wait.proposed_event is not None else wait.response_schema
    return (
        wait.wait_id,
        wait.plan_id or "",
        said(wait.expected_event),
        remaining(wait.deadline, now),
        ",".join(wait.allowed_decisions),
        said(wait.message),
        shown(asked),
    )
