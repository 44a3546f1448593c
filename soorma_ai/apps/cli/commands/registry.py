"""`soorma registry`: agents, their registered events, and faults of these."""

from collections.abc import Collection, Sequence
from itertools import groupby

import click

from soorma_ai.apps.cli.store_access import look_into_store, look_up
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import NotFound
from soorma_ai.features.retrieval.check import ADVICE, EventFault, EventFinding, FoundEvent, check_events
from soorma_ai.features.retrieval.reach import check_reach
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import TAKEN, DiscoveredAgent, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.rules.arrival.contracts import REGISTERED
from soorma_ai.local_client import LocalClient as Client
from soorma_ai.surfaces.options import Access, as_json, with_access, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BOLD, DIM, WAITING, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import json_line, local_time

_TITLES = {
    EventFault.NO_DESCRIPTION: "without a description",
    EventFault.SAME_WORDS: "the same description",
    EventFault.NOBODY_TAKES: "without a taker",
    EventFault.NOBODY_PURSUES: "without a planner",
    EventFault.UNHEARD: "without a listener",
    EventFault.CIRCLE: "in a circle",
}
_AGENTS = ("AGENT", "KIND", "VERSION", "STATUS", "HANDLES", "EMITS")
_INDENT = 2
_MOST_AGENTS = 3
_MOST_EVENTS, _PAGE = 2_000, 500
_MOST_ENTRIES = 1_000


@click.group()
def registry() -> None:
    """List, show and check registrations."""


@registry.command()
@as_json
@with_platform
def check(access: Access, as_json: bool) -> None:
    """Check the registered events, and suggest fixes.

    Finds events that planners cannot find or tell apart, dead ends and circles. Exits with 1 for a finding; facts
    without a listener, and circles, may be intended. Agents that have stopped count, too; but while any agent runs, an
    event taken by stopped agents alone has no taker. Circles are found by the declared events of agents, and by the
    last 2,000 published events.
    """
    registered, live, published = look_up(access, _load)
    findings, printer = [*check_events(registered), *check_reach(registered, live, published)], Printer()
    if as_json:
        print_json([{"problem": one.problem, "advice": ADVICE[one.problem], "events": one.events} for one in findings])
    elif not findings:
        Printer(stderr=True).line("Registry check passed.")
    elif printer.is_plain:
        printer.rows(_row(one) for one in findings)
    else:
        _print(printer, findings)
    if not all(one.problem.is_note for one in findings):
        raise click.exceptions.Exit(1)


async def _load(client: PlatformClient) -> tuple[Sequence[RegisteredEvent], frozenset[str], list[EventEnvelope]]:
    """Return all registered events, the names of the running agents, and the last published events."""
    live = frozenset(one.agent_id for one in await client.registry.query())
    return await client.registry.events(live=False), live, await _published(client)


async def _published(client: PlatformClient) -> list[EventEnvelope]:
    found, before = list[EventEnvelope](), 0
    while len(found) < _MOST_EVENTS:
        page = await client.events(after=before, limit=_PAGE, newest=True)
        found += [one.event for one in page.events]
        if page.is_end:
            break
        before = page.after
    return found


@registry.command()
@click.option("--all", "with_gone", is_flag=True, help="Include stopped agents.")
@as_json
@with_platform
def ls(access: Access, with_gone: bool, as_json: bool) -> None:
    """List agents, and the events they take and make."""
    agents = look_up(access, lambda client: client.registry.query(live=not with_gone))
    nobody = "no agent is registered" if with_gone else "No agents running; --all lists stopped ones."
    print_list(agents, nobody, _agent_row, (_AGENTS, _agent_cells), as_json=as_json)


@registry.command()
@click.argument("name")
@as_json
@with_platform
def show(access: Access, name: str, as_json: bool) -> None:
    """Show an agent with its registrations, or an event with its schemas, takers and makers."""

    async def load(client: PlatformClient) -> tuple[list[DiscoveredAgent], list[RegisteredEvent]]:
        agents = await client.registry.query(name=name, live=False)
        by = {"owner": name} if agents else {"name": name}
        return agents, await client.registry.events(**by, live=False)

    agents, events = look_up(access, load)
    if not agents and not events:
        raise NotFound(f"no agent or event is named {name!r}: `soorma registry ls --all` lists the agents")
    if as_json:
        print_json({"agents": agents, "events": events})
        return
    printer = Printer()
    for agent in agents:
        lives = "lives" if agent.live else "gone"
        printer.line((one_line(agent.name), BOLD), f"  {agent.kind} {one_line(agent.version)}, {lives}")
        if agent.description:
            printer.line(one_line(agent.description), indent=_INDENT)
    for one in events:
        _print_event(printer, one)


@registry.command()
@as_json
@with_access
def changes(access: Access, as_json: bool) -> None:
    """List changed events of agents from the audit log, the newest first.

    A narrower event may refuse data that was valid, or promises less. A reworded one has other words for planners.
    """

    async def load(client: Client) -> list[AuditEntry]:
        return [row.entry for row in await client.audit(limit=_MOST_ENTRIES) if row.entry.call == REGISTERED]

    entries = look_into_store(access, load)
    nothing = "No event has changed since its first registration."
    print_list(
        entries, nothing, _change_row, (("AT", "AGENT", "EVENT", "VERSIONS", "CHANGE"), _change_row), as_json=as_json
    )


def _change_row(entry: AuditEntry) -> tuple[str, ...]:
    event, _, versions = entry.what.partition(" ")
    agent = entry.user_id.removeprefix("agent ")
    return (local_time(entry.at), *map(one_line, (agent, event, versions)), entry.outcome)


def _print_event(printer: Printer, one: RegisteredEvent) -> None:
    made = one.definition
    by = f"{one_line(plain_name(one.agent))} {one.role}"
    printer.line((one_line(made.event_name), BOLD), (f"  {by}, {made.topic}, version {one_line(made.version)}", DIM))
    told = {
        "": made.description,
        "use": made.when_to_use,
        "not for": made.not_for,
        "approval": made.approval.when if made.approval else "",
        "payload": json_line(made.payload_schema),
        "response": json_line(made.response_schema) if made.response_schema else "",
    }
    for label, text in told.items():
        if text:
            printer.line(one_line(text), indent=_INDENT, label=f"{label:<9}" if label else "")


def _names(agent: DiscoveredAgent, roles: Collection[EventRole]) -> str:
    found = dict.fromkeys(made.event_name for role, made in agent.events if role in roles)
    return ", ".join(map(one_line, found))


def _agent_row(agent: DiscoveredAgent) -> tuple[str, ...]:
    made = dict.fromkeys([_names(agent, (EventRole.MAKES,)), *(one_line(one.event_name) for one in agent.produced)])
    heard = _names(agent, (*TAKEN, EventRole.AWAITS))
    about = (one_line(agent.name), str(agent.kind), one_line(agent.version), "yes" if agent.live else "gone")
    return (*about, heard, ", ".join(filter(None, made)))


def _agent_cells(agent: DiscoveredAgent) -> tuple[Part, ...]:
    name, kind, version, lives, takes, makes = _agent_row(agent)
    return clip(name, 32), kind, clip(version, 16), lives, clip(takes, 60), clip(makes, 200)


def _row(finding: EventFinding) -> tuple[str, ...]:
    """Return the problem, then each event and its takers."""
    cells = [(one_line(one.event_name), ",".join(map(one_line, one.agents))) for one in finding.events]
    return (str(finding.problem), *(cell for pair in cells for cell in pair))


def _print(printer: Printer, findings: list[EventFinding]) -> None:
    for number, (problem, same) in enumerate(groupby(findings, lambda one: one.problem)):
        found = list(same)
        if number:
            printer.line()
        printer.line((f"{len(found)} {_TITLES[problem]}", WAITING))
        printer.line((ADVICE[problem], DIM), indent=_INDENT)
        for one in found:
            parts = [part for event in one.events for part in (", ", *_parts(event))]
            printer.line(*parts[1:], indent=_INDENT)


def _parts(event: FoundEvent) -> tuple[Part, Part]:
    some = ", ".join(one_line(agent) for agent in event.agents[:_MOST_AGENTS])
    more = ", …" if len(event.agents) > _MOST_AGENTS else ""
    return (clip(one_line(event.event_name), 60), BOLD), f" ({some}{more})"
