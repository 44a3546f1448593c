"""`soorma run`: agents in this process, and a goal for them."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import click

from soorma_ai.agents.agent import Agent
from soorma_ai.cli.follow.pursuit import pursue, waits_of
from soorma_ai.cli.follow.responders import Always, AtTheKeyboard, Responder
from soorma_ai.cli.loading import load_agents
from soorma_ai.cli.options import Access, JsonObjectParam, as_json, with_access, with_person
from soorma_ai.cli.running import log_to_stderr, open_platform
from soorma_ai.cli.view.waits import print_commands, print_wait
from soorma_ai.domain.people import AnswerDecision, Person
from soorma_ai.domain.plans import PlanDetails, PlanStatus
from soorma_ai.errors import NotFound
from soorma_ai.platform import stop_by_signal
from soorma_ai.runtime.client.client import Client
from soorma_ai.settings import hide_password
from soorma_ai.terminal.escapes import one_line
from soorma_ai.terminal.printing import BAD, DIM, Printer, print_json
from soorma_ai.terminal.wording import short_id

DONE, STOPPED, FAILED, WAITS = 0, 1, 3, 4


class Answers(StrEnum):
    ASK = "ask"
    APPROVE = "approve"
    REJECT = "reject"
    NONE = "none"


@dataclass(frozen=True)
class Goal:
    event: str
    data: dict[str, Any]
    key: str | None
    answers: Answers
    waits_for_end: bool
    as_json: bool


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.argument("goal", required=False)
@click.option("--data", type=JsonObjectParam(), metavar="JSON|@FILE", help="The goal's data.")
@click.option(
    "--wait/--no-wait", "waits_for_end", default=True, help="Follow the plan to its end, or submit and leave."
)
@click.option(
    "--answer",
    "answers",
    type=click.Choice([str(way) for way in Answers]),
    help="Who answers what the plan asks: you, always yes, always no, nobody.  [default: ask on a terminal, else none]",
)
@click.option("--key", metavar="IDEMPOTENCY_KEY", help="The same key submits the goal once, and finds the same plan.")
@with_person
@as_json
@with_access
def run(
    access: Access,
    app: str,
    goal: str | None,
    *,
    data: dict[str, Any] | None,
    waits_for_end: bool,
    answers: str | None,
    key: str | None,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Run agents, and pursue a goal with them if one is given.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    Without GOAL they run until Ctrl-C or SIGTERM.
    """
    log_to_stderr()
    agents = load_agents(app)
    if goal is None and (data is not None or key is not None or answers is not None or not waits_for_end):
        raise click.UsageError("--data, --key, --answer and --no-wait need a GOAL")
    usual = Answers.ASK if sys.stdin.isatty() and sys.stderr.isatty() else Answers.NONE
    way = Answers(answers) if answers else usual
    pursued = Goal(goal, data or {}, key, way, waits_for_end, as_json) if goal is not None else None
    person = Person(access.tenant_id, user_id, roles)
    raise click.exceptions.Exit(asyncio.run(_run(access, agents, pursued, person)))


async def _run(access: Access, agents: Sequence[Agent], goal: Goal | None, person: Person) -> int:
    stop = stop_by_signal()
    async with AsyncExitStack() as stack:
        platform = await open_platform(stack, access, agents)
        await platform.start(*agents)
        if goal is not None:
            return await _pursue(Client(platform.services, person), goal, access, stop)
        names = ", ".join(one_line(agent.name) for agent in agents)
        Printer(stderr=True).line((f"{names} on {hide_password(access.store_url)}; Ctrl-C stops", DIM))
        await stop.wait()
        return DONE


async def _pursue(client: Client, goal: Goal, access: Access, stop: asyncio.Event) -> int:
    handle = await client.submit(goal.event, goal.data, idempotency_key=goal.key)
    Printer(stderr=True).line((f"plan {handle.plan_id}", DIM))
    if goal.waits_for_end:
        await _follow(client, handle.plan_id, goal, stop)
        return await _print_end(client, handle.plan_id, goal, access)
    print_json({"plan_id": handle.plan_id}) if goal.as_json else Printer().line(handle.plan_id)
    return DONE


async def _follow(client: Client, plan_id: str, goal: Goal, stop: asyncio.Event) -> None:
    """Return when the plan has ended, when only people can move it and nobody here will, or when told to stop."""
    progress, woken = Printer(stderr=True), client.services.signals.watch()
    responder = _responder(goal.answers, client, progress, woken)
    following = asyncio.create_task(pursue(client, plan_id, responder, progress, woken))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((following, stopping), return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
    finally:
        following.cancel()
        stopping.cancel()
        await asyncio.gather(following, stopping, return_exceptions=True)
        await responder.leave()
        client.services.signals.unwatch(woken)


def _responder(way: Answers, client: Client, printer: Printer, woken: asyncio.Event) -> Responder:
    match way:
        case Answers.ASK:
            return AtTheKeyboard(client, printer, woken.set)
        case Answers.APPROVE | Answers.REJECT:
            return Always(AnswerDecision(way), client, printer)
        case Answers.NONE:
            return Responder()


async def _print_end(client: Client, plan_id: str, goal: Goal, access: Access) -> int:
    """Print how the plan stands, and return the exit code that says the same."""
    progress = Printer(stderr=True)
    plan: PlanDetails | None = None
    with suppress(NotFound):
        plan = await client.plan(plan_id)
    waits = await waits_of(client, plan_id)
    if goal.as_json:
        outcome = {"status": plan.status, "result": plan.result, "reason": plan.reason} if plan else {"status": None}
        print_json({"plan_id": plan_id, **outcome, "waits": waits})
    if plan is not None and plan.status is PlanStatus.COMPLETED:
        if not goal.as_json:
            print_json(plan.result)
        return DONE
    if plan is not None and plan.status.is_final:
        progress.line((f"plan {short_id(plan_id)} {plan.status}", BAD))
        return FAILED
    for wait in waits:
        if goal.answers is not Answers.ASK:  # else it has been shown already
            print_wait(progress, wait, goal.event, client.services.clock.now())
        print_commands(progress, wait, access)
    status = plan.status if plan else "not begun"
    answered = "its questions are answered and " if waits else ""
    progress.line((f"plan {short_id(plan_id)} is {status}; it goes on when {answered}its agents run", DIM))
    return WAITS if waits else STOPPED
