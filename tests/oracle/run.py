"""The oracle: plans with known decisions, through the real path, by a model that is often wrong at first.

    PLANS=folder RATE=0.25 SEED=1 python tests/oracle/run.py [--without validation|offer|gate] [--only WORD]

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
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(path) for path in (HERE, ROOT) if str(path) not in sys.path]

from judge import Ending, Verdict  # noqa: E402
from material import Material, Plan, is_there, read  # noqa: E402
from scripted import REFUSAL, Habit, Models, PlanModel  # noqa: E402
from switches import CHECKS, without  # noqa: E402
from world import Told, World  # noqa: E402

from soorma_ai import Platform  # noqa: E402
from soorma_ai.testing.model_server import ModelServer  # noqa: E402

PLANS = ROOT.parent / "shared" / "data" / "plans-dev"
TOGETHER = 60  # plans in one store
AT_ONCE = 8
EVERY_REFUSING = 6


@dataclass(frozen=True)
class Options:
    folder: Path = PLANS
    rate: float = 0.25
    seed: int = 1
    without: str | None = None
    only: str = ""
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


async def go(material: Material, plans: Sequence[Plan], habits: dict[str, Habit], options: Options) -> Outcome:
    """Every plan once, some in one store at a time, and judged when they have all ended."""
    outcome = Outcome()
    for start in range(0, len(plans), TOGETHER):
        some = list(plans[start : start + TOGETHER])
        with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
            store = Path(folder, "store.db")
            models = Models(material, some, habits)
            with ModelServer(models.respond) as server:
                worlds = [World(plan, server.url, options.mode) for plan in some]
                told = await live(worlds, store)
            verdicts = judged(store, options.folder, {plan.id: habits[plan.id] for plan in some})
            for world, heard, verdict in zip(worlds, told, verdicts, strict=True):
                add(outcome, world, models.of[world.plan.id], heard, verdict)
    return outcome


async def live(worlds: list[World], store: Path) -> list[Told]:
    """Each plan in a tenant of its own, so that it is offered its own events."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(*(agent for world in worlds for agent in world.agents()))

        async def one(world: World) -> Told:
            async with turns:
                return await world.live(platform.as_user(tenant_id=world.plan.id, user_id="customer"))

        return await asyncio.gather(*map(one, worlds))


def judged(store: Path, folder: Path, habits: dict[str, Habit]) -> list[Verdict]:
    """By another process, from what is in the file."""
    endings = {
        id: None if habit.refuses_at is None else asdict(Ending(habit.refuses_at, REFUSAL))
        for id, habit in habits.items()
    }
    command = [sys.executable, str(HERE / "judge.py"), str(store), str(folder)]
    done = subprocess.run(command, input=json.dumps(endings), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the judge failed:\n{done.stderr}")
    return [Verdict(**verdict) for verdict in json.loads(done.stdout)]


def add(outcome: Outcome, world: World, model: PlanModel, heard: Told, verdict: Verdict) -> None:
    refuses_at = model.habit.refuses_at
    wrong = [verdict.differs] if verdict.differs else []
    if refuses_at is None and (heard.reason or heard.result != world.plan.steps[-1]["result"]):
        wrong.append(f"the caller got {heard}")
    if refuses_at is not None and REFUSAL not in heard.reason:
        wrong.append(f"the caller of a plan that was refused got {heard}")
    if refuses_at is not None and model.step != refuses_at:
        wrong.append(f"asked up to step {model.step}, though it refused step {refuses_at}")
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
    return [plan for plan in material.plans if options.only in plan.id]


def run(options: Options) -> tuple[Outcome, Outcome]:
    """(the plans, some of them again with a model that refuses)"""
    material = read(options.folder)
    plans = chosen(material, options)
    refused = plans[::EVERY_REFUSING]
    right = Habit(options.rate, options.seed)
    with without(options.without):
        outcome = asyncio.run(go(material, plans, {plan.id: right for plan in plans}, options))
        refusing = {
            plan.id: Habit(options.rate, options.seed, refuses_at=number % len(plan.steps))
            for number, plan in enumerate(refused)
        }
        return outcome, asyncio.run(go(material, refused, refusing, options))


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_options(arguments)
    if not is_there(options.folder):
        print(f"no plans in {options.folder}: give PLANS=folder with plans.jsonl, events.jsonl and policies.json")
        return 2
    logging.getLogger("soorma_ai").setLevel(logging.CRITICAL)
    started = time.perf_counter()
    outcome, refused = run(options)
    for id, reasons in [*outcome.wrong.items(), *((f"{id} (refused)", why) for id, why in refused.wrong.items())]:
        print(f"{id}:", *(f"\n    {reason}" for reason in reasons[:6]))
    print("corrupted:", ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.corrupted.items())) or "none")
    print(
        f"{outcome.calls} model calls, {outcome.tokens} tokens, {outcome.published} requests published, "
        f"{outcome.found_inside} answers found in prose or fences, {time.perf_counter() - started:.1f} s"
    )
    print(f"refused: {refused.exact}/{refused.plans} plans failed with the reason, and their callers were told")
    print(
        f"oracle: {outcome.exact}/{outcome.plans} plans exact, {outcome.invalid + refused.invalid} invalid events "
        f"published, {outcome.corrupted.total()} answers corrupted"
    )
    return 0 if outcome.passed and refused.passed else 1


def read_options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", choices=CHECKS, help="run on a product that does not make this check")
    parser.add_argument("--only", default="", help="only plans whose id holds this")
    parser.add_argument("--mode", default="json_schema", choices=("json_schema", "tools"), help="how the model is asked")
    given = parser.parse_args(arguments)
    return Options(
        folder=Path(os.environ.get("PLANS") or PLANS),
        rate=float(os.environ.get("RATE") or 0.25),
        seed=int(os.environ.get("SEED") or 1),
        **vars(given),
    )


if __name__ == "__main__":
    sys.exit(main())
