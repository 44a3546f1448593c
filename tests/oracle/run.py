"""The oracle: plans with known decisions, through the real path, by a model that is often wrong at first.

    PLANS=folder RATE=0.25 SEED=1 python tests/oracle/run.py [--without validation|offer|gate] [--only WORD] [--every N]

Ends with 0 only if every plan went exactly as it should, and nothing invalid was published.
"""

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from judge import Ending, Verdict
from material import Material, Plan, is_there, read
from scripted import Habit, Models, PlanModel, refusal
from switches import CHECKS, without
from world import Told, World

from soorma_ai import Platform
from soorma_ai.testing.model_server import ModelServer

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PLANS = ROOT.parent / "shared" / "data" / "plans-dev"
TOGETHER = 60  # plans in one store
AT_ONCE = 8
EVERY_REFUSING = 6
SHOWN, MOST_REASONS = 400, 6


@dataclass(frozen=True)
class Options:
    folder: Path = PLANS
    rate: float = 0.25
    seed: int = 1
    without: str | None = None
    only: str = ""
    every: int = 1
    mode: str = "json_schema"


@dataclass
class Outcome:
    """`wrong` is by plan, what was not as it should be."""

    plans: int = 0
    published: int = 0
    invalid: int = 0
    calls: int = 0
    tokens: int = 0
    found_inside: int = 0
    corrupted: Counter[str] = field(default_factory=Counter[str])
    wrong: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def exact(self) -> int:
        return self.plans - len(self.wrong)

    @property
    def passed(self) -> bool:
        return self.plans > 0 and not self.wrong and not self.invalid


async def go(plans: Sequence[Plan], habits: dict[str, Habit], material: Material, options: Options) -> Outcome:
    """Every plan once, some in one store at a time, and judged when they have all ended."""
    outcome = Outcome()
    for start in range(0, len(plans), TOGETHER):
        some = list(plans[start : start + TOGETHER])
        with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
            models = Models(material, some, habits)
            await go_together(models, Path(folder, "store.db"), options, outcome)
    return outcome


async def go_together(models: Models, store: Path, options: Options, outcome: Outcome) -> None:
    with ModelServer(models.respond) as server:
        worlds = [World(model.plan, server.url, options.mode) for model in models.of.values()]
        told = await live(worlds, store)
    verdicts = judged(store, options.folder, models)
    for world, heard, verdict in zip(worlds, told, verdicts, strict=True):
        add(outcome, world, models.of[world.plan.id], heard, verdict)


async def live(worlds: list[World], store: Path) -> list[Told]:
    """Each plan in a tenant of its own, so that it is offered its own events."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(*(agent for world in worlds for agent in world.agents()))

        async def one(world: World) -> Told:
            async with turns:
                return await world.live(platform.as_user(tenant_id=world.plan.id, user_id="customer"))

        return await asyncio.gather(*map(one, worlds))


def judged(store: Path, folder: Path, models: Models) -> list[Verdict]:
    """By another process, from what is in the file."""
    wanted = {id: asdict(ending) if (ending := ending_of(model)) else None for id, model in models.of.items()}
    command = [sys.executable, str(HERE / "judge.py"), str(store), str(folder)]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the judge failed:\n{done.stderr}")
    return [Verdict(**verdict) for verdict in json.loads(done.stdout)]


def ending_of(model: PlanModel) -> Ending | None:
    declined = model.habit.refusal
    return Ending(declined.at, declined.code, declined.because) if declined else None


def add(outcome: Outcome, world: World, model: PlanModel, heard: Told, verdict: Verdict) -> None:
    ending = ending_of(model)
    wrong = [verdict.differs] if verdict.differs else []
    if ending is None and heard != Told(result=world.plan.steps[-1]["result"]):
        wrong.append(f"the caller got {heard}")
    if ending is not None and ending.because not in heard.reason:
        wrong.append(f"the caller of a plan that was refused got {heard}")
    if ending is not None and model.step != ending.at:
        wrong.append(f"the model was asked up to step {model.step}, though it refused step {ending.at}")
    if verdict.answers != model.calls - model.unanswered:
        wrong.append(f"{verdict.answers} answers are in the journal, {model.calls - model.unanswered} were given")
    wrong += [*verdict.invalid, *world.surprises, *model.complaints]
    if wrong:
        outcome.wrong[world.plan.id] = wrong
    outcome.plans += 1
    outcome.published += verdict.published
    outcome.invalid += len(verdict.invalid)
    outcome.calls += model.calls
    outcome.tokens += verdict.tokens
    outcome.found_inside += model.taken_as_they_were
    outcome.corrupted += model.corrupted


def chosen(material: Material, options: Options) -> list[Plan]:
    return [plan for plan in material.plans if options.only in plan.id][:: options.every]


def run(options: Options) -> tuple[Outcome, Outcome]:
    """(the plans, some of them again with a model that refuses)"""
    material = read(options.folder)
    plans = chosen(material, options)
    refused = plans[::EVERY_REFUSING]
    habits = {plan.id: Habit(options.rate, options.seed) for plan in plans}
    refusing = {plan.id: replace(habits[plan.id], refusal=refusal(number, plan)) for number, plan in enumerate(refused)}
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
    started = time.perf_counter()
    outcome, refused = run(options)
    report(outcome, refused, time.perf_counter() - started)
    return 0 if outcome.passed and refused.passed else 1


def report(outcome: Outcome, refused: Outcome, seconds: float) -> None:
    for title, reasons in [*outcome.wrong.items(), *((f"{id} (refused)", why) for id, why in refused.wrong.items())]:
        print(f"{title}:", *(f"\n    {reason[:SHOWN]}" for reason in reasons[:MOST_REASONS]))
    print("corrupted:", ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.corrupted.items())) or "none")
    print(
        f"{outcome.calls} model calls, {outcome.tokens} tokens, {outcome.published} requests published, "
        f"{outcome.found_inside} answers found in prose or fences, {seconds:.1f} s"
    )
    print(f"refused: {refused.exact}/{refused.plans} plans failed with the reason, and their callers were told")
    print(
        f"oracle: {outcome.exact}/{outcome.plans} plans exact, {outcome.invalid + refused.invalid} invalid events "
        f"published, {outcome.corrupted.total()} answers corrupted"
    )


def read_options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", choices=CHECKS, help="run on a product that does not make this check")
    parser.add_argument("--only", default="", help="only plans whose id holds this")
    parser.add_argument("--every", type=int, default=1, help="only every so many")
    parser.add_argument(
        "--mode", default="json_schema", choices=("json_schema", "tools"), help="how the model is asked"
    )
    given = parser.parse_args(arguments)
    return Options(
        folder=Path(os.environ.get("PLANS") or PLANS),
        rate=float(os.environ.get("RATE") or 0.25),
        seed=int(os.environ.get("SEED") or 1),
        **vars(given),
    )


if __name__ == "__main__":
    # Agents that answer with an error, and answers that are refused, are what this is about.
    logging.getLogger("soorma_ai").setLevel(logging.CRITICAL)
    sys.exit(main())
