"""Plans as lines of a list: for people at a terminal of any width, and for programs."""

from datetime import datetime, timedelta

from soorma_ai.context_parts.progress import Awaited, PlanLine
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, ExpectationKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.rules.plans.waiting import need_of
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import GAP, Part, status_part
from soorma_ai.surfaces.terminal.wording import cost, short_id, span

TITLES = ("PLAN", "STATUS", "AGE", "TOKENS", "SPENT", "GOAL", "WAITS FOR, OR WHY IT ENDED")
LEAST_GOAL, LONGEST_GOAL = 10, 40
LONGEST_REST = 200
MOST_AWAITED = 2
# What stands before the goal at its longest: a short id, a status, "59 min", "999.9k" and ">$999.99".
_BEFORE = 8 + 9 + 6 + 6 + 8 + 6 * GAP


def row(plan: PlanRecord, state: str, line: PlanLine | None) -> tuple[str, ...]:
    """Return id, status, goal, planner, beginning, why it ended or sleeps, tokens, dollars; the last two are empty
    where they are not known, as the dollars are once the price of a call is unknown."""
    why = plan.reason or state or _need(line)
    said = map(one_line, (plan.goal_event, plain_name(plan.agent), plan.created_at.isoformat(), why))
    dollars = line.spent.cost_usd if line else None
    spent = (str(line.spent.tokens) if line else "", "" if dollars is None else f"{dollars:.6f}")
    return (plan.plan_id, plan.status, *said, *spent)


def cells(plan: PlanRecord, state: str, line: PlanLine | None, now: datetime, width: int) -> tuple[Part, ...]:
    """Return the cells below `TITLES`; those before the last one fit side by side into so many columns, from 60 on."""
    end = plan.updated_at if plan.status.is_final else now
    room = max(LEAST_GOAL, min(LONGEST_GOAL, width - _BEFORE))
    return (
        short_id(plan.plan_id),
        status_part(plan.status),
        " ".join(span(max(end - plan.created_at, timedelta(0))).split()[:2]),
        short_count(line.spent.tokens) if line else "",
        short_cost(line.spent) if line else "",
        clip(one_line(plan.goal_event), room),
        clip(one_line(_rest(plan, state, line)), LONGEST_REST),
    )


def short_count(number: int) -> str:
    """Return a number in at most six characters: `999`, `12.3k`, `4.5M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def short_cost(spent: Spent) -> str:
    """Return dollars in at most eight characters: `$0.0123`, `>$0.0123` where more is of unknown price, `unknown`."""
    if spent.cost_usd is not None:
        return cost(spent.cost_usd)
    return f">{cost(spent.at_least_usd)}" if spent.at_least_usd > 0 else "unknown"


def _rest(plan: PlanRecord, state: str, line: PlanLine | None) -> str:
    awaited = line.awaits if line and not plan.status.is_final else ()
    shown = [_wait_of(one) for one in awaited[:MOST_AWAITED]]
    if len(awaited) > MOST_AWAITED:
        shown.append("and more")
    why = state or _need(line)
    return plan.reason or "; ".join((*shown, *([why] if why else [])))


def _need(line: PlanLine | None) -> str:
    """Say why one of the plan's tree needs an operator, where the plan itself does not sleep."""
    return need_of(line.blocked) if line and line.blocked else ""


def _wait_of(one: Awaited) -> str:
    """Return the people or agents of a plan's wait, and its subject."""
    if one.kind in FOR_PEOPLE:
        return f"{', '.join(one.whom) or 'anybody'}: {one.what}"
    return f"no agent takes {one.what}" if one.kind is ExpectationKind.OFFER else f"answer to {one.what}"
