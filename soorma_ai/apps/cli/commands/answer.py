"""`soorma approve`, `reject` and `answer`: one command is one answer."""

from collections.abc import Callable
from typing import Any

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.store_access import CommandRunner, look_up
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.kernel.domain.people import ACCEPTED, AnswerDecision, Person
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.answers import say_approved
from soorma_ai.surfaces.completion import WaitId
from soorma_ai.surfaces.ids import find_wait
from soorma_ai.surfaces.options import Access, JsonObjectParam, as_json, with_person, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, GOOD, Printer, print_json
from soorma_ai.surfaces.terminal.wording import short_id

Command = Callable[..., None]

_wait = click.argument("wait", type=WaitId())
_note = click.option("--note", default="", metavar="TEXT", help="A remark, kept with the answer.")
_reason = click.option("--reason", "--note", "note", default="", metavar="TEXT", help="The reason for the requester.")
_data = click.option("--data", type=JsonObjectParam(), metavar="JSON|@FILE", help="More fields of the answer.")


def _command(decision: AnswerDecision, help: str, note: Callable[[Command], Command]) -> click.Command:
    @click.command(str(decision), help=help)
    @_wait
    @note
    @_data
    @with_person
    @as_json
    @with_platform
    def decide(access: Access, wait: str, data: dict[str, Any] | None, **given: Any) -> None:
        _answer(access, wait, decision, data or {}, **given)

    return decide


_WHICH = "WAIT is the id of the question, or of a plan with one open question."
approve = _command(AnswerDecision.APPROVE, f"Approve a request.\n\n{_WHICH}", _note)
reject = _command(AnswerDecision.REJECT, f"Reject a request.\n\n{_WHICH}", _reason)


@click.command()
@_wait
@click.option("--data", type=JsonObjectParam(), metavar="JSON|@FILE", required=True, help="The answer.")
@click.option(
    "--decision",
    type=click.Choice([str(decision) for decision in AnswerDecision]),
    help="The decision; by default that of 'approved' in the data.",
)
@_note
@with_person
@as_json
@with_platform
def answer(access: Access, wait: str, data: dict[str, Any], decision: str | None, **given: Any) -> None:
    """Answer a question with data.

    To change a payload before its approval: --decision edit --data '{"data": {the new payload}}'.
    """
    _answer(access, wait, decision, data, **given)


def _answer(
    access: Access,
    beginning: str,
    decision: str | None,
    data: JsonObject,
    *,
    note: str,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    wait_id, schema = look_up(access, lambda client: _question(client, beginning))
    runner = CommandRunner(access, Person(access.tenant_id, user_id, roles))
    payload = say_approved(decision, data, schema)
    # Made once for the command, so that however often it is sent, it is one answer.
    answer_id = SystemClock().new_id()
    outcome = runner.steer(
        lambda client: client.answer(wait_id, payload, decision=decision, note=note, answer_id=answer_id)
    )
    is_accepted = outcome == ACCEPTED
    if as_json:
        print_json({"wait_id": wait_id, "outcome": outcome, "detail": outcome.detail})
    else:
        detail = f": {one_line(outcome.detail)}" if outcome.detail else ""
        Printer().line((str(outcome), GOOD if is_accepted else BAD), f" {short_id(wait_id)}{detail}")
    if is_accepted and not runner.has_owner:
        Printer(stderr=True).line("No agents running on this store; the plan continues when they start.")
    if not is_accepted:
        raise click.exceptions.Exit(1)


async def _question(client: PlatformClient, beginning: str) -> tuple[str, JsonObject]:
    """Return the question's id, and the schema of its answer."""
    wait = await client.wait(await find_wait(client, beginning))
    return wait.wait_id, wait.response_schema
