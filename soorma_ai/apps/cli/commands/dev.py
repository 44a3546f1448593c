"""`soorma dev`: agents, their platform over HTTP with its pages, and a live log, begun anew when a source changes."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from traceback import print_exc

import click
from click.core import ParameterSource

from soorma_ai.agents.agent import Agent
from soorma_ai.apps.cli.commands.events import newest_events, print_event
from soorma_ai.apps.cli.file_watch import Times, look, next_change
from soorma_ai.apps.cli.host import DEFAULT_HOST, DEFAULT_PORT, HostOptions, host
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.package_files import find_shipped
from soorma_ai.apps.cli.session import log_to_stderr
from soorma_ai.errors import NotFound, SoormaError
from soorma_ai.kernel.domain.people import Person
from soorma_ai.local_client import LocalClient as Client
from soorma_ai.platform import Platform, stop_by_signal
from soorma_ai.settings import hide_password
from soorma_ai.surfaces.options import LOCAL_USER, Access, with_access
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, Printer

DEMO = "offline:agents"
# Apart from the store of an application, in whose directory this may be tried.
DEMO_STORE = "sqlite:///soorma-demo.db"
DEMO_GOAL = "order.received"
DEMO_ORDER = {"order_id": "A1", "sku": "lathe", "quantity": 1, "amount": "12000.00"}
MANAGER = "manager"
_MOST_NAMED = 3


@click.command()
@click.argument("app", metavar="[MODULE:APP]", required=False)
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role that you have; again for more.")
@click.option("--reload/--no-reload", default=True, show_default=True, help="Begin anew when a source changes.")
@with_access
def dev(access: Access, app: str | None, *, port: int, roles: tuple[str, ...], reload: bool) -> None:
    """Run agents while you write them: their platform on this machine over HTTP, with its pages, and a live log.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    When a .py or .j2 file below it changes, everything begins anew, and plans go on where they were. Without APP, a
    shop takes an order, offline, by a script in the place of a model; you are its manager.
    """
    log_to_stderr()
    if app is None:
        access, reload, roles = _of_demo(access), False, (*roles, MANAGER)
    before = _look() if reload else None
    agents = _agents(app, before)
    if agents is None or asyncio.run(_dev(access, HostOptions(agents, roles), port, before, is_demo=app is None)):
        _begin_anew()


def _of_demo(access: Access) -> Access:
    if click.get_current_context().get_parameter_source("store") is not ParameterSource.DEFAULT:
        return access
    return Access(DEMO_STORE, access.tenant_id, f"{access.flags} --store {DEMO_STORE}")


def _agents(app: str | None, before: Times | None) -> Sequence[Agent] | None:
    """Return the agents; None when they could not be loaded, and a source has changed since."""
    try:
        return load_agents(DEMO, find_shipped("demo")) if app is None else load_agents(app)
    except Exception as error:
        if before is None:
            raise
        if isinstance(error, SoormaError):
            Printer(stderr=True).line((one_line(str(error)), BAD))
        else:
            print_exc()
    Printer(stderr=True).line(("waiting for a source to change; Ctrl-C stops", DIM))
    with suppress(KeyboardInterrupt):
        _tell_change(asyncio.run(next_change(Path.cwd(), before)))
        return None
    raise click.exceptions.Exit(0)


async def _dev(access: Access, hosted: HostOptions, port: int, before: Times | None, *, is_demo: bool) -> bool:
    """Return whether a source has changed; False when told to stop."""
    from soorma_ai.api.server.serve import listen

    stop, has_changed = stop_by_signal(), False

    async def watch(since: Times) -> None:
        nonlocal has_changed
        _tell_change(await next_change(Path.cwd(), since))
        has_changed = True
        stop.set()

    async def beside(platform: Platform, url: str) -> None:
        client = Client(platform.services, Person(access.tenant_id, LOCAL_USER))
        running = ", ".join(one_line(agent.name) for agent in hosted.agents)
        printer = Printer(stderr=True)
        printer.line((url, BOLD), (f"  {running} on {hide_password(access.store_url)}; Ctrl-C stops", DIM))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(follow_log(client))
                if before is not None:
                    tasks.create_task(watch(before))
                if is_demo:
                    printer.line(await _order(client, access.flags))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    listener = listen(DEFAULT_HOST, port, is_open=True)
    try:
        await host(access, hosted, listener, stop, beside)
    finally:
        listener.close()
    return has_changed


async def follow_log(client: Client) -> None:
    """Print the tenant's events as they come."""
    printer = Printer()
    async for event in newest_events(client, None, 0, follow=True):
        print_event(printer, event)


async def _order(client: Client, flags: str) -> str:
    """Give the shop its first order, once for a store, and return what there is to do about it."""
    plan = await client.submit(DEMO_GOAL, DEMO_ORDER, idempotency_key="the first order")
    with suppress(NotFound):  # it has not begun
        if (await plan.status()).is_final:
            another = shlex.quote(json.dumps({**DEMO_ORDER, "order_id": "A2"}))
            return f"The first order has ended; another: soorma submit {DEMO_GOAL} --data {another}{flags}"
    return f"An order of $12,000 asks its manager, who is you: there, or by `soorma inbox{flags}`."


def _tell_change(paths: Sequence[str]) -> None:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    named = ", ".join(one_line(os.path.relpath(path)) for path in paths[:_MOST_NAMED])
    Printer(stderr=True).line((f"changed: {named}{more}; beginning anew", DIM))


def _look() -> Times:
    times, is_all = look(Path.cwd())
    if not is_all:
        Printer(stderr=True).line((f"there is much below {Path.cwd()}: only some of its sources are watched", DIM))
    return times


def _begin_anew() -> None:
    """Run the very same command in the place of this process, in which old modules are loaded."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
