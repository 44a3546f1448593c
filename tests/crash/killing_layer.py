"""An event fatal to its process becomes a dead letter after its attempts, and its sender gets the failure."""

import json

from life import FINISHED
from outcome import end_of
from trial import Program, Stage, Trial

from soorma_ai.kernel.rules.delivery.disposition import MAX_ATTEMPTS

LAYER = "killing event"


def trial(stage: Stage, program: Program, bug: str = "") -> Trial:
    with stage.case(program, bug) as case:
        # In a run the fatal call cannot be identified, so its first death counts as no attempt of any.
        counted = [1] * program.options.get("in_a_run", 0) + list(range(1, MAX_ATTEMPTS + 1))
        ended = None
        while ended != FINISHED and case.lives <= len(counted):
            ended = case.live()
        if ended != FINISHED:
            case.violations.append(f"the process still dies after {case.lives} lives")
        end = end_of(case.home.store, case.account)
        dead = [json.loads(row) for row in end["dead letters"]]
        if len(dead) != 1 or not dead[0][2].startswith("spent:"):
            case.violations.append(f"dead letters: {dead}")
        attempts = [row["attempt"] for row in case.account.notes("killed")]
        if attempts != counted:
            case.violations.append(f"attempts counted: {attempts}")
        told = {(row["event"], row["code"]) for row in case.account.notes("reply")}
        if told != {tuple(reply) for reply in program.options.get("replies", ())}:
            case.violations.append(f"replies: {sorted(told)}")
        return case.done(LAYER, program.name)
