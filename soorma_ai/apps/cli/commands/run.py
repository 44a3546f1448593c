"""`soorma run`: agents in this process, and a goal for them."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from typing import Any

import click
from msgspec import Struct

from soorma_ai.agents.agent import Agent
from soorma_ai.apps.cli.follow.pursuit import pursue, waits_of
from soorma_ai.apps.cli.follow.responders import Always, AtTheKeyboard, Others, Responder
from soorma_ai.apps.cli.follow.watch import Watch
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.session import describe_agents, log_by, open_platform
from soorma_ai.apps.cli.view.live import Manner, Voice
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.people import AnswerDecision, Person
from soorma_ai.kernel.domain.plans import PlanDetails, PlanStatus
from soorma_ai.kernel.rules.plans.waiting import need_of
from soorma_ai.kernel.runtime.loops.supervisor import DRAIN_SECONDS
from soorma_ai.local_client import LocalClient as Client
from soorma_ai.platform import stop_by_signal
from soorma_ai.surfaces.options import Access, JsonObjectParam, Sound, as_json, with_access, with_person, with_voice
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, print_json
from soorma_ai.surfaces.terminal.wording import short_id

DONE, STOPPED, FAILED, WAITS = 0, 1, 3, 4


class AnswerPolicy(StrEnum):
    ASK = "ask"
    APPROVE = "approve"
    REJECT = "reject"
    NONE = "none"


class RunGoal(Struct, frozen=True):
    event: str
    data: dict[str, Any]
    key: str | None
    answers: AnswerPolicy
    waits_for_people: bool
    as_json: bool


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.argument("goal", required=False)
@click.option("--data", type=JsonObjectParam(), metavar="JSON|@FILE", help="The goal's data.")
@click.option(
    "--wait/--no-wait",
    "waits_for_people",
    default=True,
    help="Wait for answers from other processes, or end with 4 when only a person can continue.",
)
@click.option(
    "--answer",
    "answers",
    type=click.Choice([str(way) for way in AnswerPolicy]),
    help="Answers to the plan's questions: ask you, always yes, always no, none here.  "
    "[default: ask on a terminal, else none]",
)
@click.option("--key", metavar="IDEMPOTENCY_KEY", help="Idempotency key: a repeated key finds the first plan.")
@with_voice
@with_person
@as_json
@with_access
def run(
    access: Access,
    app: str,
    goal: str | None,
    *,
    data: dict[str, Any] | None,
    waits_for_people: bool,
    answers: str | None,
    key: str | None,
    sound: Sound,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Run agents, and pursue a goal with them if one is given.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    Without GOAL they run until Ctrl-C or SIGTERM, and print to stderr: events, questions with the command to answer
    them, answers, ends and faults. `soorma submit` gives them goals from another terminal.
    """
    is_brief = goal is None and not sound.is_verbose
    voice = Voice(Manner(sound.is_quiet, sound.as_json, is_timed=goal is None, is_brief=is_brief), access)
    log_by(voice, sound.log_level)
    agents = load_agents(app)
    if goal is None and (data is not None or key is not None or answers is not None or not waits_for_people):
        raise click.UsageError("--data, --key, --answer and --no-wait need a GOAL")
    usual = AnswerPolicy.ASK if sys.stdin.isatty() and sys.stderr.isatty() else AnswerPolicy.NONE
    way = AnswerPolicy(answers) if answers else usual
    pursued = RunGoal(goal, data or {}, key, way, waits_for_people, as_json) if goal is not None else None
    person = Person(access.tenant_id, user_id, roles)
    running = _pursue_one(access, agents, pursued, person, voice) if pursued else _serve(access, agents, voice)
    raise click.exceptions.Exit(asyncio.run(running))


async def _serve(access: Access, agents: Sequence[Agent], voice: Voice) -> int:
    """Run agents until a signal to stop, with a live log."""
    stop = stop_by_signal()
    async with AsyncExitStack() as stack:
        platform = await open_platform(stack, access, agents)
        watch = Watch(platform.services, voice)
        await watch.begin()
        await platform.start(*agents)
        voice.remark(describe_agents(agents, access))
        telling = asyncio.create_task(watch.go_on())
        await stop.wait()
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        voice.remark(f"Stopping: running handlers have {DRAIN_SECONDS:.0f} s to finish.")
    voice.remark("Stopped. Unfinished work is on disk and continues at the next start of these agents.")
    return DONE


async def _pursue_one(access: Access, agents: Sequence[Agent], goal: RunGoal, person: Person, voice: Voice) -> int:
    """Run agents until the goal's plan has ended, or rests on people without a responder here."""
    stop = stop_by_signal()
    async with AsyncExitStack() as stack:
        platform = await open_platform(stack, access, agents)
        await platform.start(*agents)
        client = Client(platform.services, person)
        handle = await client.submit(goal.event, goal.data, idempotency_key=goal.key)
        voice.remark(f"plan {handle.plan_id}")
        await _follow(client, handle.plan_id, goal, stop, voice)
        return await _print_end(client, handle.plan_id, goal, voice)


async def _follow(client: Client, plan_id: str, goal: RunGoal, stop: asyncio.Event, voice: Voice) -> None:
    """Return at the end of the plan, at a question without a responder, or at a signal to stop."""
    woken = client.services.signals.watch()
    responder = _responder(goal, client, voice, woken)
    following = asyncio.create_task(pursue(client, plan_id, responder, voice, woken))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((following, stopping), return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        else:
            voice.remark("Stopping: running handlers finish first; the plan continues when its agents start again.")
    finally:
        following.cancel()
        stopping.cancel()
        await asyncio.gather(following, stopping, return_exceptions=True)
        await responder.leave()
        client.services.signals.unwatch(woken)


def _responder(goal: RunGoal, client: Client, voice: Voice, woken: asyncio.Event) -> Responder:
    match goal.answers:
        case AnswerPolicy.ASK:
            return AtTheKeyboard(client, voice.printer, woken.set)
        case AnswerPolicy.APPROVE | AnswerPolicy.REJECT:
            return Always(AnswerDecision(goal.answers), client, voice.printer)
        case AnswerPolicy.NONE if goal.waits_for_people:
            return Others(client, voice)
        case AnswerPolicy.NONE:
            return Responder()


async def _print_end(client: Client, plan_id: str, goal: RunGoal, voice: Voice) -> int:
    """Print the state of the plan, and return its exit code."""
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
        voice.insist((f"plan {short_id(plan_id)} {plan.status}", BAD))
        return FAILED
    for wait in waits:
        # At a keyboard it has been shown already.
        voice.ask(wait, goal.event, client.services.clock.now(), is_known=goal.answers is AnswerPolicy.ASK)
    for one in plan.blocked if plan else ():
        voice.insist((f"plan {short_id(plan_id)}: {one_line(need_of(one))}", BAD))
    if plan is not None and plan.blocked and not waits:
        return WAITS
    status = plan.status if plan else "not started"
    answered = "its questions are answered and " if waits else ""
    voice.insist(f"plan {short_id(plan_id)} is {status}; it continues when {answered}its agents run")
    return WAITS if waits else STOPPED
