"""`soorma requests`: list, show, cancel."""

from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.store_access import CommandRunner, look_up
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.context_parts.progress import Action, ActionStatus
from soorma_ai.errors import NotFound
from soorma_ai.features.tracking.requests import state_of
from soorma_ai.kernel.domain.values import clip
from soorma_ai.surfaces.completion import MOST_OFFERED, complete_ids
from soorma_ai.surfaces.ids import only_one, tenant_in_words
from soorma_ai.surfaces.options import Access, Id, as_json, with_platform
from soorma_ai.surfaces.store_access import StoreAccess
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, WAITING, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import ago, local_time, short_id

_TITLES = ("ID", "STATUS", "REQUEST", "AGENT", "PROGRESS", "ASKED")
_STYLES = {
    ActionStatus.COMPLETED: GOOD,
    ActionStatus.FAILED: BAD,
    ActionStatus.CANCELLED: BAD,
    ActionStatus.TIMED_OUT: BAD,
    ActionStatus.RUNNING: BOLD,
}
MOST_REQUESTS = 10_000
_INDENT = 2
_LABEL = 10


class RequestId(Id):
    """Id of a request. A shell completes it from the open requests."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_ids(ctx, _offer, incomplete)


def _offer(store: StoreAccess[PlatformClient]) -> list[tuple[str, str]]:
    """Return the open requests, each with its event and its status."""
    found = store.look_up(lambda client: client.tracker.requests(limit=MOST_OFFERED))
    return [(one.action_id, f"{one.event_type}, {state_of(one)}") for one in found]


@click.group()
def requests() -> None:
    """List, show and cancel requests of clients."""


@requests.command()
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_platform
def ls(access: Access, limit: int, as_json: bool) -> None:
    """List requests without a reply, the newest first."""
    found, now = look_up(access, lambda client: client.tracker.requests(limit=limit)), SystemClock().now()

    def row(one: Action) -> tuple[str, ...]:
        agents = ",".join(map(one_line, one.agents))
        asked = one.requested_at.isoformat()
        return (one.action_id, state_of(one), one_line(one.event_type), agents, _progress(one), asked)

    def cells(one: Action) -> tuple[Part, ...]:
        return (
            short_id(one.action_id),
            (state_of(one), _STYLES.get(one.status, WAITING)),
            clip(one_line(one.event_type), 40),
            clip(", ".join(map(one_line, one.agents)), 24) or ("none yet", DIM),
            clip(_progress(one), 40),
            ago(one.requested_at, now),
        )

    print_list(found, "no open requests", row, (_TITLES, cells), as_json=as_json)


@requests.command()
@click.argument("request", type=RequestId())
@as_json
@with_platform
def show(access: Access, request: str, as_json: bool) -> None:
    """Show the status, the agents and the progress of a request."""
    one = look_up(access, lambda client: _find(client, request))
    if as_json:
        print_json(one)
        return
    printer = Printer()
    printer.line((one_line(one.event_type), BOLD), "  ", (state_of(one), _STYLES.get(one.status, WAITING)))
    printer.line((f"request {one.action_id}, asked {local_time(one.requested_at)}", DIM))
    details = (
        ("agents", ", ".join(map(one_line, one.agents)) or "none yet"),
        ("progress", _progress(one)),
        ("approval", f"soorma approve {short_id(one.wait_id)}" if one.wait_id else ""),
        ("ended", local_time(one.ended_at) if one.ended_at else ""),
        ("error", one_line(one.error or "")),
    )
    for name, text in details:
        if text:
            printer.line(text, indent=_INDENT, label=f"{name:<{_LABEL}}")


@requests.command()
@click.argument("request", type=RequestId())
@click.option("--reason", default="cancelled by request", show_default=True, help="Reason, for the requester.")
@as_json
@with_platform
def cancel(access: Access, request: str, reason: str, as_json: bool) -> None:
    """Cancel a request: its reply is a failure, and no agent begins it any more. A running handler goes on."""
    runner = CommandRunner(access)
    request_id = look_up(access, lambda client: _find(client, request)).action_id
    is_cancelled = runner.steer(lambda client: client.cancel_request(request_id, reason))
    if as_json:
        print_json({"request_id": request_id, "cancelled": is_cancelled})
    else:
        Printer().line("cancelled" if is_cancelled else "it has a reply already", f" request {request_id}")
    if not is_cancelled:
        raise click.exceptions.Exit(1)


async def _find(client: PlatformClient, beginning: str) -> Action:
    """Return the request of this id, or the one open request of this beginning. Raise NotFound."""
    with suppress(NotFound):
        return await client.tracker.request(beginning)
    found = {one.action_id: one for one in await client.tracker.requests(limit=MOST_REQUESTS)}
    return found[only_one("open request", await tenant_in_words(client), beginning, found)]


def _progress(one: Action) -> str:
    if one.report is None:
        return ""
    return f"{one.report.progress:.0%} {one_line(one.report.message)}".strip()
