"""`soorma dev`: agents, their platform over HTTP with its pages, and a live log, with reload of changed sources."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
from click.core import ParameterSource

from soorma_ai.agents.agent import Agent
from soorma_ai.apps.cli.failures import UserCodeError, failure_of
from soorma_ai.apps.cli.file_watch import Times, look, next_change
from soorma_ai.apps.cli.follow.watch import Watch
from soorma_ai.apps.cli.host import DEFAULT_HOST, DEFAULT_PORT, HostOptions, host
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.package_files import find_shipped
from soorma_ai.apps.cli.session import describe_agents, log_by
from soorma_ai.apps.cli.view.live import Manner, Voice
from soorma_ai.errors import NotFound, SoormaError
from soorma_ai.kernel.domain.people import Person
from soorma_ai.local_client import LocalClient as Client
from soorma_ai.platform import Platform, stop_by_signal
from soorma_ai.surfaces.options import LOCAL_USER, Access, Sound, with_access, with_voice
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BOLD, DIM, Printer

DEMO = "offline:agents"
# Apart from the store of an application, in whose directory this may be tried.
DEMO_STORE = "sqlite:///soorma-demo.db"
DEMO_GOAL = "order.received"
DEMO_ORDER = {"order_id": "A1", "sku": "lathe", "quantity": 1, "amount": "12000.00"}
MANAGER = "manager"
_MOST_NAMED = 3


@click.command()
@click.argument("app", metavar="[MODULE:APP]", required=False)
@click.option(
    "--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 for a free one."
)
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role of yours; repeatable.")
@click.option("--reload/--no-reload", default=True, show_default=True, help="Reload when a source changes.")
@with_voice
@with_access
def dev(access: Access, app: str | None, *, port: int, roles: tuple[str, ...], reload: bool, sound: Sound) -> None:
    """Run agents during development: their platform on this machine over HTTP, its console, and a live log.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    A change of a .py or .j2 file below it reloads everything, and plans continue. Without APP, the order example runs
    offline, with a script in the place of a model; you play the manager.
    """
    if app is None:
        access, reload, roles = _of_demo(access), False, (*roles, MANAGER)
    voice = Voice(Manner(sound.is_quiet, sound.as_json, is_timed=True, is_brief=not sound.is_verbose), access)
    log_by(voice, sound.log_level)
    before = _look() if reload else None
    agents = _agents(app, before)
    if agents is not None:
        hosted = HostOptions(agents, roles)
        if not asyncio.run(_dev(access, hosted, port, before, voice, is_demo=app is None)):
            return
    _begin_anew()


def _of_demo(access: Access) -> Access:
    if click.get_current_context().get_parameter_source("store") is not ParameterSource.DEFAULT:
        return access
    return Access(DEMO_STORE, access.tenant_id, f"{access.flags} --store {DEMO_STORE}")


def _agents(app: str | None, before: Times | None) -> Sequence[Agent] | None:
    """Return the agents; None when they could not be loaded, and a source has changed since."""
    try:
        return load_agents(DEMO, find_shipped("demo")) if app is None else load_agents(app)
    except (SoormaError, UserCodeError) as error:
        if before is None:
            raise
        failure_of(error).show()
    Printer(stderr=True).line(("Waiting for a change of a source. Press Ctrl-C to stop.", DIM))
    with suppress(KeyboardInterrupt):
        _tell_change(asyncio.run(next_change(Path.cwd(), before)))
        return None
    raise click.exceptions.Exit(0)


async def _dev(
    access: Access, hosted: HostOptions, port: int, before: Times | None, voice: Voice, *, is_demo: bool
) -> bool:
    """Return whether a source has changed; False when told to stop."""
    from soorma_ai.api.server.serve import listen

    stop, has_changed = stop_by_signal(), False

    async def watch(since: Times) -> None:
        nonlocal has_changed
        _tell_change(await next_change(Path.cwd(), since))
        has_changed = True
        stop.set()

    async def beside(platform: Platform, url: str) -> None:
        voice.remark("Listening on ", (url, BOLD), f' (local access only, as user "{LOCAL_USER}").')
        voice.remark(describe_agents(hosted.agents, access))
        log = Watch(platform.services, voice)
        await log.begin()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(log.go_on())
                if before is not None:
                    tasks.create_task(watch(before))
                if is_demo:
                    voice.remark((await _order(platform, access), ""))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    listener = listen(DEFAULT_HOST, port, is_open=True)
    try:
        await host(access, hosted, listener, stop, beside)
    finally:
        listener.close()
    return has_changed


async def _order(platform: Platform, access: Access) -> str:
    """Give the shop its first order, once for a store, and return the next step."""
    client = Client(platform.services, Person(access.tenant_id, LOCAL_USER))
    plan = await client.submit(DEMO_GOAL, DEMO_ORDER, idempotency_key="the first order")
    with suppress(NotFound):  # it has not begun
        if (await plan.status()).is_final:
            another = shlex.quote(json.dumps({**DEMO_ORDER, "order_id": "A2"}))
            return f"The first order has ended; another: soorma submit {DEMO_GOAL} --data {another}{access.flags}"
    return f"You play the manager: approve an order of $12,000 in the console, or by `soorma inbox{access.flags}`."


def _tell_change(paths: Sequence[str]) -> None:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    named = ", ".join(one_line(os.path.relpath(path)) for path in paths[:_MOST_NAMED])
    Printer(stderr=True).line((f"Reloading: {named}{more} changed.", DIM))


def _look() -> Times:
    times, is_all = look(Path.cwd())
    if not is_all:
        Printer(stderr=True).line((f"Many files below {Path.cwd()}: only some of the sources are watched.", DIM))
    return times


def _begin_anew() -> None:
    """Restart: replace this process, with its old modules, by the same command."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
