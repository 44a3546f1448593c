"""The oracle: plans with known decisions, through the real path, by a model with frequent wrong first answers.

    PLANS=folder RATE=0.25 SEED=1 WIRE=direct FORM=json_schema python tests/oracle/run.py [--only WORD] [--every N]
    STRANGERS=2000 BYSTANDERS=1 OFFER_TOKENS=4000 python tests/oracle/run.py [--nothing-hidden]

WIRE is the protocol to the model, FORM the form of its answers. STRANGERS is the number of other events, among which a
plan has to find its own, in requests of about OFFER_TOKENS; they belong to BYSTANDERS agents, by default to one. ACTION
varies the plans: publish_all, need, delegate, see_result, from, give_up. --without takes a check out of the product.

Exits with 0 only if every plan went exactly as expected, and nothing invalid was published; among strangers all but a
few plans, and all with nothing hidden.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from actions import PLAYS, play
from judge import Ending, Verdict
from material import Material, Plan, is_there, read, registry_beside
from offered import ASKS, FIND, NEED
from scripted import Habit, Models, PlanModel, name_of, refusal
from switches import CHECKS, without
from wires import WIRES
from wires.loopback import Loopback
from world import PlanReply, World, bystanders

from soorma_ai import Agent, Platform

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PLANS = ROOT.parent / "shared" / "data" / "plans-dev"
TOGETHER = 60  # plans in one store
AT_ONCE = 8
EVERY_REFUSING = 6
SHOWN, MOST_REASONS = 400, 6
FORMS = ("json_schema", "tools")
ENOUGH_AMONG_STRANGERS = 0.95


@dataclass(frozen=True)
class Options:
    """`nothing_hidden`: each request has room for all events, so no model needs to search."""

    folder: Path = PLANS
    rate: float = 0.25
    seed: int = 1
    wire: str = "direct"
    form: str = "json_schema"
    strangers: int = 0
    bystanders: int = 1
    offer_tokens: int | None = None
    nothing_hidden: bool = False
    without: str | None = None
    action: str = ""
    only: str = ""
    every: int = 1

    @property
    def enough(self) -> float:
        """The share of plans required to be exact."""
        return ENOUGH_AMONG_STRANGERS if self.strangers and not self.nothing_hidden else 1.0


@dataclass
class Outcome:
    """`wrong` has the faults by plan. `asked` counts models' questions about events, `unasked` plans without such
    questions."""

    plans: int = 0
    published: int = 0
    invalid: int = 0
    calls: int = 0
    decisions: int = 0
    tokens: int = 0
    repeated: int = 0
    compared: int = 0
    sent: int = 0
    found_inside: int = 0
    unasked: int = 0
    hid: int = 0
    corrupted: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    wrong: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def exact(self) -> int:
        return self.plans - len(self.wrong)

    def count(self, model: PlanModel) -> None:
        self.calls += model.calls
        self.decisions += model.step + 1
        self.sent += model.tokens
        self.repeated += model.repeated
        self.compared += model.compared
        self.found_inside += model.taken_as_they_were
        self.hid += model.hid
        self.corrupted += model.corrupted
        self.asked += model.asked

    def passed(self, options: Options) -> bool:
        found = self.plans > 0 and not self.invalid and self.exact >= options.enough * self.plans
        return found and not (options.nothing_hidden and (self.hid or self.asked[FIND]))


async def go(plans: Sequence[Plan], habits: dict[str, Habit], material: Material, options: Options) -> Outcome:
    """Run every plan once, several in one store at a time, and judge them after their ends."""
    outcome = Outcome()
    for start in range(0, len(plans), TOGETHER):
        some = list(plans[start : start + TOGETHER])
        with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
            models = Models(material, some, habits, WIRES[options.wire])
            others = bystanders(material.registry, options.bystanders)
            await go_together(models, Path(folder, "store.db"), options, outcome, others)
    return outcome


async def go_together(
    models: Models, store: Path, options: Options, outcome: Outcome, others: Sequence[Agent] = ()
) -> None:
    with Loopback(models.respond) as server:
        worlds = [
            World(plan, _model_of(plan, server, options), _model_of(plan.helper, server, options))
            for plan in (model.plan for model in models.of.values())
        ]
        told = await live(worlds, store, others)
    verdicts = judge_store(store, options, models)
    for world, heard, verdict in zip(worlds, told, verdicts, strict=True):
        add(outcome, world, models, heard, verdict)


def _model_of(plan: Plan | None, server: Loopback, options: Options) -> dict[str, Any]:
    """Return the options of the planner's model; none for no plan."""
    if plan is None:
        return {}
    wire = WIRES[options.wire]
    model = {"reasoning_model": wire.model, "api_base": server.address(name_of(plan), wire), "api_key": "any"}
    room = {} if options.offer_tokens is None else {"offer_tokens": options.offer_tokens}
    return {**model, "mode": options.form, **wire.options, **room}


async def live(worlds: list[World], store: Path, others: Sequence[Agent]) -> list[PlanReply]:
    """Run each plan in a tenant of its own, to be offered its own events and those of others."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(*others, *(agent for world in worlds for agent in world.agents()))

        async def one(world: World) -> PlanReply:
            async with turns:
                return await world.live(platform.as_user(tenant_id=world.plan.id, user_id="customer"))

        return await asyncio.gather(*map(one, worlds))


def judge_store(store: Path, options: Options, models: Models) -> list[Verdict]:
    """Judge a store's file by another process."""
    wanted = {id: asdict(ending) if (ending := ending_of(model)) else None for id, model in models.of.items()}
    command = [sys.executable, str(HERE / "judge.py"), str(store), str(options.folder), options.action]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the judge failed:\n{done.stderr}")
    return [Verdict(**verdict) for verdict in json.loads(done.stdout)]


def ending_of(model: PlanModel) -> Ending | None:
    declined, last = model.habit.refusal, model.plan.steps[-1]
    if declined:
        return Ending(declined.at, declined.how.code, declined.how.because)
    if last["decision"] == "GIVE_UP":
        because = re.escape("; missing: ".join((last["reason"], "; ".join(last["missing"]))))
        return Ending(len(model.plan.steps) - 1, "gave_up", because)
    return None


def add(outcome: Outcome, world: World, models: Models, heard: PlanReply, verdict: Verdict) -> None:
    model = models.of[world.plan.id]
    asked = models.models_of(world.plan)
    ending = ending_of(model)
    wrong = [verdict.differs] if verdict.differs else []
    if ending is None and heard != PlanReply(result=world.plan.steps[-1]["result"]):
        wrong.append(f"the caller got {heard}")
    if ending is not None and not ending.fits(heard.reason):
        wrong.append(f"the caller of a plan that was refused got {heard}")
    if ending is not None and model.step != ending.at:
        wrong.append(f"the model was asked up to step {model.step}, though it refused step {ending.at}")
    answered = sum(one.calls - one.unanswered for one in asked)
    if verdict.answers != answered:
        wrong.append(f"{verdict.answers} answers are in the journal, {answered} were given")
    wrong += [*verdict.invalid, *world.surprises, *(complaint for one in asked for complaint in one.complaints)]
    if wrong:
        outcome.wrong[world.plan.id] = wrong
    outcome.plans += 1
    outcome.published += verdict.published
    outcome.invalid += len(verdict.invalid)
    outcome.tokens += verdict.tokens
    outcome.unasked += not any(ASKS & one.asked.keys() for one in asked)
    for one in asked:
        outcome.count(one)


def choose_plans(material: Material, options: Options) -> list[Plan]:
    return [plan for plan in material.plans if options.only in plan.id][:: options.every]


def run(options: Options) -> tuple[Outcome, Outcome]:
    """Return the outcome of the plans, and of some of them again with a refusing model."""
    material = play(read(options.folder, options.strangers), options.action)
    plans, wire = choose_plans(material, options), WIRES[options.wire]
    refused = plans[::EVERY_REFUSING]
    habits = {plan.id: Habit(options.rate, options.seed) for plan in plans}
    refusing = {
        plan.id: replace(habits[plan.id], refusal=refusal(number, plan, wire)) for number, plan in enumerate(refused)
    }
    with without(options.without):
        return (
            asyncio.run(go(plans, habits, material, options)),
            asyncio.run(go(refused, refusing, material, options)),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_options(arguments)
    if not is_there(options.folder):
        print(f"no plans in {options.folder}: give PLANS=folder with plans.jsonl, events.jsonl and policies.json")
        return 2
    if options.strangers and not registry_beside(options.folder).is_file():
        print(f"no events of others at {registry_beside(options.folder)}: leave STRANGERS out")
        return 2
    started = time.perf_counter()
    outcome, refused = run(options)
    report(outcome, refused, time.perf_counter() - started, options)
    return 0 if outcome.passed(options) and refused.passed(options) else 1


def report(outcome: Outcome, refused: Outcome, seconds: float, options: Options) -> None:
    tell_wrong(outcome, refused)
    print("corrupted:", ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.corrupted.items())) or "none")
    print(
        f"{outcome.calls} model calls, {outcome.tokens} tokens, {outcome.published} requests published, "
        f"{outcome.found_inside} answers found in prose, fences or text, {seconds:.1f} s"
    )
    if outcome.compared:
        print(f"{outcome.repeated / outcome.compared:.0%} of a decision's request is the beginning of the one before")
    if options.strangers:
        print(
            f"among {options.strangers} events of others: {outcome.unasked}/{outcome.plans} plans without asking, "
            f"{outcome.asked[FIND] / outcome.plans:.2f} {FIND} and {outcome.asked[NEED] / outcome.plans:.2f} {NEED} a "
            f"plan; {outcome.calls / outcome.decisions:.2f} calls and {outcome.sent / outcome.decisions:.0f} tokens a "
            f"decision; {outcome.hid} requests did not show all"
        )
    print(f"refused: {refused.exact}/{refused.plans} plans failed with the reason, and their callers were told")
    print(
        f"oracle: {outcome.exact}/{outcome.plans} plans exact, {outcome.invalid + refused.invalid} invalid events "
        f"published, {outcome.corrupted.total()} answers corrupted"
    )


def tell_wrong(outcome: Outcome, refused: Outcome) -> None:
    for title, reasons in [*outcome.wrong.items(), *((f"{id} (refused)", why) for id, why in refused.wrong.items())]:
        print(f"{title}:", *(f"\n    {reason[:SHOWN]}" for reason in reasons[:MOST_REASONS]))


def read_options(arguments: Sequence[str] | None) -> Options:
    given_by = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", choices=CHECKS, help="run on a product that does not make this check")
    parser.add_argument("--only", default="", help="only plans with this text in their id")
    parser.add_argument("--every", type=int, default=1, help="only every so many")
    parser.add_argument("--nothing-hidden", action="store_true", help="each request has to show all events")
    parser.add_argument("--wire", default=given_by("WIRE") or "direct", help="how the model is spoken to")
    parser.add_argument("--form", default=given_by("FORM") or "json_schema", help="how it is asked")
    parser.add_argument("--action", default=given_by("ACTION") or "", help="how the plans are played")
    given = parser.parse_args(arguments)
    for name, known in (("wire", WIRES), ("form", FORMS), ("action", ("", *PLAYS))):
        if getattr(given, name) not in known:
            parser.error(f"{name.upper()}={getattr(given, name)} is none of {', '.join(known)}")
    return Options(
        folder=Path(given_by("PLANS") or PLANS),
        rate=float(given_by("RATE") or 0.25),
        seed=int(given_by("SEED") or 1),
        strangers=int(given_by("STRANGERS") or 0),
        bystanders=int(given_by("BYSTANDERS") or 1),
        offer_tokens=int(given_by("OFFER_TOKENS") or 0) or None,
        **vars(given),
    )


if __name__ == "__main__":
    # Errors of agents and refused answers are the purpose here.
    logging.getLogger("soorma_ai").setLevel(logging.CRITICAL)
    sys.exit(main())
