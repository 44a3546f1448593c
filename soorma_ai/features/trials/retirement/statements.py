"""Statements for replaced models."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from soorma_ai.errors import NotFound
from soorma_ai.features.trials.retirement.records import ModelReplacement, ModelSwitch, ModelUse
from soorma_ai.features.trials.retirement.rules import (
    Replacements,
    check_replacement,
    find_replacement,
    model_in_force,
    planners_of,
)
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.sql import apply
from soorma_ai.kernel.sql.codec import Codec, add_row, registration
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import StorePart, reading
from soorma_ai.kernel.sql.sweep import LIVE
from soorma_ai.kernel.sql.tables.plans import blocked_plans
from soorma_ai.kernel.sql.tenant_scope import TenantScope

_REPLACEMENT = Codec(ModelReplacement)
# Plans at rest that one switch resumes.
MOST_RESUMED = 10_000
# Not by the index of the tenant, which has ended plans too.
_OPEN = f"""
    SELECT count(*), coalesce(sum(CASE WHEN status = 'paused' THEN 1 ELSE 0 END), 0) FROM plan
    WHERE status IN ({", ".join(f"'{status}'" for status in LIVE)}) AND +tenant = ?
        AND agent IN (SELECT value FROM json_each(?))
"""


def find_replacements(db: Reader, tenant_id: str) -> Replacements:
    query = "SELECT body FROM model_replacement WHERE tenant = ? ORDER BY model"
    found = [_REPLACEMENT.record(body) for (body,) in db.execute(query, (tenant_id,)).fetchall()]
    return {one.model: one for one in found}


def _find_planners(db: Reader, tenant_id: str) -> list[Registration]:
    query = "SELECT body FROM agent WHERE tenant IS NULL OR tenant = ? ORDER BY agent"
    found = [registration(body) for (body,) in db.execute(query, (tenant_id,)).fetchall()]
    return [one for one in found if one.model and not one.store]


def find_uses(db: Reader, tenant_id: str) -> list[ModelUse]:
    known, planners = find_replacements(db, tenant_id), _find_planners(db, tenant_id)
    models = sorted({*known, *(one.model for one in planners), *(one.to for one in known.values())})
    return [_use_of(db, tenant_id, model, [one for one in planners if one.model == model], known) for model in models]


def _use_of(db: Reader, tenant_id: str, model: str, planners: Sequence[Registration], known: Replacements) -> ModelUse:
    count, parked = _count_open(db, tenant_id, planners)
    return ModelUse(model, _names(planners), count, parked, find_replacement(model, known))


def _names(planners: Iterable[Registration]) -> tuple[str, ...]:
    return tuple(plain_name(one.agent) for one in planners)


def _count_open(db: Reader, tenant_id: str, planners: Sequence[Registration]) -> tuple[int, int]:
    count, parked = db.execute(_OPEN, (tenant_id, _keys(planners))).fetchone()
    return count, parked


def _keys(planners: Iterable[Registration]) -> str:
    return json.dumps([one.agent for one in planners])


def replace_model(db: Connection, tenant_id: str, made: ModelReplacement) -> ModelSwitch:
    known = find_replacements(db, tenant_id)
    check_replacement(made, known)
    planners = _asking(made.model, _find_planners(db, tenant_id), known)
    add_row(
        db,
        "model_replacement",
        "ON CONFLICT (tenant, model) DO UPDATE SET body = excluded.body",
        tenant=tenant_id,
        model=made.model,
        body=_REPLACEMENT.text(made),
    )
    models = model_in_force(made.model, known), model_in_force(made.model, {**known, made.model: made})
    return _switch(db, tenant_id, models, planners, made.at)


def restore_model(db: Connection, tenant_id: str, model: str, now: datetime) -> ModelSwitch:
    known = find_replacements(db, tenant_id)
    if model not in known:
        raise NotFound(f"{model} is not replaced; `soorma models ls` lists the replaced models")
    planners = _asking(model, _find_planners(db, tenant_id), known)
    db.execute("DELETE FROM model_replacement WHERE tenant = ? AND model = ?", (tenant_id, model))
    return _switch(db, tenant_id, (model_in_force(model, known), model), planners, now)


def _asking(model: str, planners: Sequence[Registration], known: Replacements) -> list[Registration]:
    """Return the planners with this model in their chain of replacements."""
    without = {name: one for name, one in known.items() if name != model}
    return planners_of(model, planners, without)


def _switch(
    db: Connection, tenant_id: str, models: tuple[str, str], planners: Sequence[Registration], now: datetime
) -> ModelSwitch:
    count, parked = _count_open(db, tenant_id, planners)
    resumed = 0
    for one in planners:
        held = blocked_plans(db, MOST_RESUMED, agent=one.agent, tenant_id=tenant_id)
        resumed += sum([apply.resume(db, plan.plan_id, now) for plan in held])
    return ModelSwitch(*models, _names(planners), count, parked, resumed)


class SqlModels(StorePart):
    model_uses = reading(find_uses)

    async def replacements(self, tenant_id: str) -> Replacements:
        kept = self.database.tenant_rows(find_replacements)
        if (known := kept.known(tenant_id)) is not None:
            return known
        scope = TenantScope(tenant_id)
        return await self.database.read(partial(kept.read, tenant_id=tenant_id), scope, is_single=True)

    async def replace_model(self, tenant_id: str, made: ModelReplacement) -> ModelSwitch:
        return await self._change(partial(replace_model, tenant_id=tenant_id, made=made), made.at)

    async def restore_model(self, tenant_id: str, model: str, now: datetime) -> ModelSwitch:
        return await self._change(partial(restore_model, tenant_id=tenant_id, model=model, now=now), now)

    async def _change(self, change: Callable[[Connection], ModelSwitch], now: datetime) -> ModelSwitch:
        def changing(db: Connection) -> ModelSwitch:
            done = change(db)
            self.database.routes.forget()
            return done

        switch, _ = await self.publish(changing, now, is_long=True)
        return switch
