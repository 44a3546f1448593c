"""Upkeep part of a store: removal for good."""

from collections.abc import Callable
from functools import partial

from soorma_ai.features.upkeep import erasure, sql_retention
from soorma_ai.features.upkeep.ports import AgeConditions
from soorma_ai.kernel.ports import Forgotten, Pruned
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart, writing
from soorma_ai.kernel.sql.tables import registry
from soorma_ai.kernel.sql.tenant_scope import HOUSE


class SqlUpkeep(StorePart):
    begin_forgetting = writing(erasure.begin, HOUSE)

    async def forget(self, limit: int, tenant_id: str | None = None, user_id: str | None = None) -> Forgotten:
        batch = partial(erasure.go_on, limit=limit, tenant_id=tenant_id, user_id=user_id)
        return await self.database.write(lambda db: _forget(db, self.database.routes, batch), is_long=True)

    async def tenants(self) -> list[str]:
        return await self.database.read(sql_retention.tenants)

    async def prune(self, old: AgeConditions, limit: int, *, after: str | None = None, dry_run: bool = False) -> Pruned:
        statements = tuple(statement for one in self.database.features.removals for statement in one.old)
        batch = partial(sql_retention.prune, old=old, statements=statements, limit=limit, after=after, dry_run=dry_run)
        if dry_run:
            return (await self.database.read(batch))[0]
        return await self.write(lambda db: _prune(db, self.database.routes, batch), HOUSE, is_long=True)


def _forget(db: Connection, routes: registry.Routes, batch: Callable[[Connection], Forgotten]) -> Forgotten:
    found = batch(db)
    _note_removal(db, routes)
    return found


def _prune(db: Connection, routes: registry.Routes, batch: Callable[[Connection], tuple[Pruned, bool]]) -> Pruned:
    found, has_written = batch(db)
    if has_written:
        _note_removal(db, routes)
    return found


def _note_removal(db: Connection, routes: registry.Routes) -> None:
    """Forget which parts of prompts are stored, in other processes too, and the plans in hand."""
    db.parts.clear()
    db.note_unknown()
    routes.forget()
