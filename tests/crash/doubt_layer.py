"""A payment without idempotency keys is made at most once for each "not done" of a person, for a kill at any point."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trial import KILLED, Program, Stage, Trial

LAYER = "doubt"

IN_THE_MIDDLE = ("charge.before:1", "charge.told:1", "charge.after:1")

_DONE: Mapping[str, Any] = {"says": {"outcome": "done", "result": {"paid": True}}}
_NOT_DONE: Mapping[str, Any] = {"says": {"outcome": "not_done"}}

DONE = Program(
    "a payment that was made", Path(__file__).with_name("doubtful_payment.py"), lambda end: (), options=_DONE
)
NOT_DONE = replace(DONE, name="a payment that was not made", options=_NOT_DONE)
# Planted: the payment is declared as safe to repeat.
REPEATED = replace(DONE, name="a payment that is made again", options={**_DONE, "effects": "keyed"})


def run(stage: Stage, program: Program, chosen: Sequence[str]) -> list[Trial]:
    return stage.all(lambda point: trial(stage, program, point), chosen)


def all_positions(stage: Stage) -> list[str]:
    passed = stage.crashless(DONE).passed
    return [f"{name}:{n}" for name, count in sorted(passed.items()) for n in range(1, count + 1)]


def trial(stage: Stage, program: Program, point: str) -> Trial:
    with stage.case(program) as case:
        killed = case.live(point=point) == KILLED
        case.last_life()
        account = case.account
        asked = len({row["reason"] for row in account.notes("asked")})
        payments = len(account.effects)
        most = 2 if program is NOT_DONE and asked else 1
        if payments > most:
            case.violations.append(f"{payments} payments")
        if payments == 0 and not asked:
            case.violations.append("no payment, and no person was asked")
        if not account.notes("reply", case.lives)[0]["success"]:
            case.violations.append("the caller was told that it failed")
        if killed and point.startswith("charge.") and not asked:
            case.violations.append("it was killed in the middle, and no person was asked")
        if not killed and asked:
            case.violations.append("there was no kill, and a person was asked")
        return case.done(LAYER, f"{program.name}, {point}")
