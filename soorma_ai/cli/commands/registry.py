"""`soorma registry`: the events that agents have registered."""

from collections.abc import Sequence
from itertools import groupby

import click

from soorma_ai.cli.options import Access, as_json, with_platform
from soorma_ai.cli.store_access import look_up
from soorma_ai.clients.platform_client import PlatformClient
from soorma_ai.core.selection.check import ADVICE, Finding, FoundEvent, check_events
from soorma_ai.domain.registry import RegisteredEvent
from soorma_ai.domain.values import clip
from soorma_ai.terminal.escapes import one_line
from soorma_ai.terminal.printing import BOLD, DIM, WAITING, Part, Printer, print_json

_TITLES = {"no_description": "without a description", "same_words": "told in the same words"}
_INDENT = 2
_MOST_AGENTS = 3


@click.group()
def registry() -> None:
    """Look at what agents have registered."""


@registry.command()
@as_json
@with_platform
def check(access: Access, as_json: bool) -> None:
    """Name events that planners will not find or cannot tell apart.

    Says what to do about them, and exits with 1 where there are any. Looks at the requests and goals that agents take,
    those of agents that are gone too.
    """
    registered = look_up(access, _load)
    findings, printer = check_events(registered), Printer()
    if as_json:
        print_json([{"problem": one.problem, "advice": ADVICE[one.problem], "events": one.events} for one in findings])
    elif not findings:
        Printer(stderr=True).line("every event can be found by what it says of itself")
    elif printer.is_plain:
        printer.rows(_row(one) for one in findings)
    else:
        _print(printer, findings)
    if findings:
        raise click.exceptions.Exit(1)


async def _load(client: PlatformClient) -> Sequence[RegisteredEvent]:
    return await client.registry.events(live=False)


def _row(finding: Finding) -> tuple[str, ...]:
    """Return the problem, and then each event and the agents that take it."""
    cells = [(one_line(one.event_name), ",".join(map(one_line, one.agents))) for one in finding.events]
    return (str(finding.problem), *(cell for pair in cells for cell in pair))


def _print(printer: Printer, findings: list[Finding]) -> None:
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
