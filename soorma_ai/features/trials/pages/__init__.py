"""Pages about trials: plans by today's rules, the first difference of one, and a judgement of a decision."""

import json
from typing import cast

from msgspec import Struct
from starlette.types import ASGIApp

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.trials.cases.loop import name_of_set
from soorma_ai.features.trials.cases.records import CaseKind
from soorma_ai.features.trials.cases.service import CALLS as CASE_CALLS
from soorma_ai.features.trials.cases.service import cases_of
from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.features.trials.retirement.records import ModelUse
from soorma_ai.features.trials.retirement.service import CALLS as MODEL_CALLS
from soorma_ai.features.trials.retirement.service import models_of
from soorma_ai.features.trials.service import TRY_PLAN, trials_of
from soorma_ai.features.trials.shadow.records import ShadowReport
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.authority import Owner, may
from soorma_ai.kernel.runtime.views.plans import own_plan
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get, post

PLANS = 20
# Seconds for the trials of a page; the plans behind them are tried one by one.
TRIED_WITHIN = 2.0
SHADOWS = 5
OUTCOMES = 10
LONGEST_CASE = 100_000
DONE = {
    str(CaseKind.RIGHT): "The decision is kept as a case: right.",
    str(CaseKind.SHOULD): "The decision is kept as a case, with the wanted payload.",
    str(CaseKind.WRONG): "The decision is kept as a case: wrong.",
}


class TriedPlan(Struct, frozen=True):
    """A plan with its trial; without one beyond the time of the page."""

    plan: PlanRecord
    trial: PlanTrial | None = None


class CaseForm(Struct, frozen=True):
    """Form of a judgement: the name of its set, and the recorded payload as text."""

    name: str
    wanted: str


async def list_trials(visitor: PageContext) -> ASGIApp:
    """Try the newest plans by today's code, registry, rules and prompts."""
    client = visitor.client
    plans = [one for one in await client.plans(limit=PLANS) if may(client.person, TRY_PLAN, one.lineage)]
    clock = client.services.clock
    end, tried = clock.monotonic() + TRIED_WITHIN, list[TriedPlan]()
    for plan in plans:
        trial = await trials_of(client).trial(plan.plan_id) if clock.monotonic() < end else None
        tried.append(TriedPlan(plan, trial))
    uses = await _find_uses(visitor)
    return visitor.frame.page(
        "trials.html",
        title="Trials",
        section="/plans",
        tried=tried,
        uses=uses,
        shadows=await _find_shadows(visitor, uses),
    )


async def _find_uses(visitor: PageContext) -> list[ModelUse]:
    """Return the models in use, for operators."""
    person = visitor.client.person
    if not may(person, MODEL_CALLS["models"], Owner(person.tenant_id)):
        return []
    return await models_of(visitor.client).models()


async def _find_shadows(visitor: PageContext, uses: list[ModelUse]) -> list[ShadowReport]:
    """Return the latest outcomes of shadows, as far as there are any."""
    planners = sorted({planner for one in uses for planner in one.planners})
    found = [await trials_of(visitor.client).shadow_report(one, limit=OUTCOMES) for one in planners]
    return [one for one in found if one.trials or one.unanswered][:SHADOWS]


async def show_trial(visitor: PageContext) -> ASGIApp:
    """Show the trial of one plan, with its first difference."""
    client, plan_id = visitor.client, visitor.part("plan_id")
    plan = await own_plan(client.services, client.person, plan_id, TRY_PLAN)
    trial = await trials_of(client).trial(plan_id)
    return visitor.frame.page(
        "trial.html", title=f"Trial of plan {plan_id[:8]}", section="/plans", plan=plan, trial=trial
    )


async def judge_decision(visitor: PageContext) -> ASGIApp:
    """Keep a decision with a person's judgement as a case."""
    plan_id, said, kind = visitor.part("plan_id"), visitor.part("number"), visitor.form_value("kind")
    if not (said.isascii() and said.isdigit() and 0 < len(said) < 9):
        raise NotFound(f"no decision {said[:40]!r} of plan {plan_id[:80]}: give its number")
    if kind not in DONE:
        raise LocalProtocolError(f"{kind[:40]!r} is no judgement; there are {', '.join(DONE)}")
    should = _read_wanted(visitor.form_value("should")) if kind == CaseKind.SHOULD else None
    name = name_of_set(visitor.form_value("name").strip())
    await cases_of(visitor.client).add_case(plan_id, int(said), name, CaseKind(kind), should=should)
    return visitor.frame.see_other("plans", plan_id, "decisions", said, done=kind)


def _read_wanted(text: str) -> JsonObject:
    """Return the wanted payload, or the whole wanted answer. Raise LocalProtocolError."""
    try:
        value: object = json.loads(text[:LONGEST_CASE])
    except ValueError as error:
        raise LocalProtocolError(f"the wanted payload is no JSON: {error}; go back and correct it") from error
    if not isinstance(value, dict):
        raise LocalProtocolError("the wanted payload is no JSON object; go back and give it as one")
    return cast(JsonObject, value)


def case_form(visitor: PageContext, planner: str, entry: JournalEntry) -> CaseForm | None:
    """Return the form of a judgement; None without the right to it, and for an answer without an effect."""
    person = visitor.client.person
    if entry.is_refused or not may(person, CASE_CALLS["add_case"], Owner(person.tenant_id)):
        return None
    step = entry.value.get("step") if isinstance(entry.value, dict) else None
    wanted = entry.value
    if isinstance(step, dict):
        wanted = next((step[name] for name in ("data", "result") if name in step), entry.value)
    return CaseForm(name_of_set(planner), json.dumps(wanted, indent=2, ensure_ascii=False))


ROUTES: tuple[PageRoute, ...] = (
    get("/trials", list_trials),
    get("/trials/{plan_id}", show_trial),
    post("/plans/{plan_id}/decisions/{number}/case", judge_decision),
)
