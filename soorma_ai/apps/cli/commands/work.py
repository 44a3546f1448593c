"""`soorma submit`, `request` and `publish`: work for agents of another process."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import click
from msgspec import Struct

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.api.clients.protocol import PlanCalls
from soorma_ai.apps.cli.store_access import ANSWER_SECONDS, CommandRunner
from soorma_ai.apps.cli.view.progress import ProgressView, Stage, stage_of_plan, stage_of_request, watched
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import DeadlineExceeded, Held, NotFound, PlanFailed
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.surfaces.options import Access, JsonObjectParam, as_json, with_person, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, GOOD, WAITING, Printer, print_json
from soorma_ai.surfaces.terminal.wording import json_line, short_id

LONGEST_WAIT = 3_600.0
_A_LOOK = ANSWER_SECONDS / 2
RESULT = 480

T = TypeVar("T")

_data = click.option(
    "--data", type=JsonObjectParam(), default="{}", metavar="JSON|@FILE", help="The data of the event."
)
_key = click.option("--key", metavar="TEXT", help="Idempotency key: a repeated key adds no work.")
_session = click.option("--session", metavar="ID", help="The session.")
_wait = click.option(
    "--wait",
    type=click.FloatRange(0, LONGEST_WAIT),
    default=0.0,
    metavar="SECONDS",
    help="Wait for the end, and show the progress.",
)


class _SubmittedGoal(Struct, frozen=True):
    plan_id: str
    goal_id: str


@click.command()
@click.argument("goal")
@_data
@click.option("--planner", metavar="NAME", help="The planner, if several take the goal.")
@_key
@_session
@_wait
@with_person
@as_json
@with_platform
def submit(
    access: Access,
    goal: str,
    data: dict[str, Any],
    *,
    planner: str | None,
    key: str | None,
    session: str | None,
    wait: float,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Submit GOAL to its planner in the application on the store, or in the next one."""
    runner = CommandRunner(access, Person(access.tenant_id, user_id, roles))
    key = key or SystemClock().new_id()

    async def give(client: PlatformClient) -> _SubmittedGoal:
        plan = await client.submit(goal, data, idempotency_key=key, planner=planner, session_id=session)
        return _SubmittedGoal(plan.plan_id, plan.goal_id)

    made = _exit_if_held(lambda: runner.steer(give), as_json=as_json)
    if wait:
        _end(runner, made, wait, as_json=as_json)
    elif as_json:
        print_json({"plan_id": made.plan_id, "goal_id": made.goal_id})
    else:
        Printer().line(("submitted", GOOD), f" {one_line(goal)}, plan {made.plan_id}")
        _say_nobody(runner)


@click.command()
@click.argument("event")
@_data
@click.option(
    "--wait",
    type=click.FloatRange(0, LONGEST_WAIT),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait for the reply; 0 prints the id of the request.",
)
@_key
@_session
@with_person
@as_json
@with_platform
def request(
    access: Access,
    event: str,
    data: dict[str, Any],
    *,
    wait: float,
    key: str | None,
    session: str | None,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Send the request EVENT to its agent, and print the reply."""
    runner = CommandRunner(access, Person(access.tenant_id, user_id, roles))
    key = key or SystemClock().new_id()
    request_id = _exit_if_held(
        lambda: runner.steer(lambda client: client.ask(event, data, idempotency_key=key, session_id=session)),
        as_json=as_json,
    )
    _say_nobody(runner)
    reply = _reply_to(runner, request_id, wait if runner.has_owner else 0, is_quiet=as_json)
    if reply is None:
        if as_json:
            print_json({"request_id": request_id})
        else:
            Printer().line(("asked", WAITING), f" {one_line(event)}, request {request_id}: no reply yet")
        return
    is_good = reply.get("success") is not False
    if as_json:
        print_json(reply)
    else:
        said = reply.get("result") if is_good else reply.get("error")
        Printer().line((one_line(event), GOOD if is_good else BAD), f" {json_line(said, RESULT)}")
    if not is_good:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("event")
@click.option(
    "--topic",
    type=click.Choice([str(topic) for topic in EventTopic]),
    default=str(EventTopic.BUSINESS_FACTS),
    show_default=True,
    help="Topic of the event.",
)
@_data
@click.option("--plan", metavar="ID", help="The waiting plan, by its whole id.")
@click.option("--correlation", metavar="ID", help="The reply key.")
@_key
@_session
@with_person
@as_json
@with_platform
def publish(
    access: Access,
    event: str,
    data: dict[str, Any],
    *,
    topic: str,
    plan: str | None,
    correlation: str | None,
    key: str | None,
    session: str | None,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Publish EVENT for its subscribers."""
    runner = CommandRunner(access, Person(access.tenant_id, user_id, roles))
    key = key or SystemClock().new_id()
    event_id = _exit_if_held(
        lambda: runner.steer(
            lambda client: client.publish(
                topic, event, data, idempotency_key=key, correlation_id=correlation, plan_id=plan, session_id=session
            )
        ),
        as_json=as_json,
    )
    if as_json:
        print_json({"event_id": event_id})
    else:
        Printer().line(("published", GOOD), f" {one_line(event)} {event_id}")
        _say_nobody(runner)


def _reply_to(runner: CommandRunner, request_id: str, wait: float, *, is_quiet: bool) -> JsonObject | None:
    """Return the reply to a request, and show its progress meanwhile. None without a reply in time."""

    async def look(client: PlatformClient, left: float, view: ProgressView) -> JsonObject:
        async def stage() -> Stage:
            return stage_of_request(await client.tracker.request(request_id))

        return await watched(client.reply(request_id, timeout=left), stage, view)

    with ProgressView(is_quiet=is_quiet) as view:
        return _within(wait, lambda left: runner.steer(lambda client: look(client, left, view)))


def _exit_if_held(do: Callable[[], T], *, as_json: bool) -> T:
    """Return the submitted work; print a needed approval, and exit with 4."""
    try:
        return do()
    except Held as held:
        if as_json:
            print_json({"wait_id": held.wait_id, "request_id": held.request_id})
        else:
            Printer().line(("held", WAITING), f" for an approval: soorma approve {short_id(held.wait_id)}")
        raise click.exceptions.Exit(4) from held


def _end(runner: CommandRunner, made: _SubmittedGoal, wait: float, *, as_json: bool) -> None:
    """Print how the plan ended; exit with 3 where it failed, and with 4 where it has not ended in time."""

    async def look(client: PlatformClient, left: float, view: ProgressView) -> tuple[PlanStatus, Any]:
        plan: PlanCalls = await client.follow(made.plan_id)

        async def stage() -> Stage:
            with suppress(NotFound):  # no planner has started it yet
                return stage_of_plan(await client.tracker.plan_progress(made.plan_id))
            return Stage(None, "no planner has started it yet")

        try:
            return PlanStatus.COMPLETED, await watched(plan.result(timeout=left), stage, view)
        except PlanFailed as failed:
            return await plan.status(), failed.reason

    with ProgressView(is_quiet=as_json) as view:
        found = _within(wait, lambda left: runner.steer(lambda client: look(client, left, view)))
    status, what = found or (None, None)
    if as_json:
        print_json({"plan_id": made.plan_id, "status": status, ("result" if _is_good(status) else "reason"): what})
    elif found is None:
        Printer().line(("goes on", WAITING), f" plan {made.plan_id}: soorma plans show {short_id(made.plan_id)}")
    else:
        told = json_line(what, RESULT) if _is_good(status) else one_line(str(what))
        Printer().line((str(status), GOOD if _is_good(status) else BAD), f" {told}")
    if not _is_good(status):
        raise click.exceptions.Exit(4 if found is None else 3)


def _is_good(status: PlanStatus | None) -> bool:
    return status is PlanStatus.COMPLETED


def _within(seconds: float, look: Callable[[float], T]) -> T | None:
    """Poll for a result within so many seconds, in calls short enough for the owner to answer in time."""
    left = seconds
    while left > 0:
        try:
            return look(min(left, _A_LOOK))
        except DeadlineExceeded:
            left -= _A_LOOK
    return None


def _say_nobody(runner: CommandRunner) -> None:
    if not runner.has_owner:
        Printer(stderr=True).line("No agents running on this store; the work waits for their start.")
