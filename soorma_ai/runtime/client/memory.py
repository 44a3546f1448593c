"""Working memory from outside of every handler, where a call acts at once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from soorma_ai.core.memory import json_value, number
from soorma_ai.domain.identity import Caller
from soorma_ai.domain.memory import AppendMemory, DropMemory, IncrementMemory, MemoryChange, MemoryKey, StoreMemory
from soorma_ai.domain.people import Person
from soorma_ai.domain.values import Json
from soorma_ai.errors import VersionConflict
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading
from soorma_ai.runtime.views.audit import changing


class PlanMemory:
    """The working memory of plans that a person sees; every call raises NotFound for another, and a change Forbidden
    for one that they may not steer."""

    def __init__(self, services: Services, person: Person, caller: Caller | None = None) -> None:
        self._services = services
        self._person = person
        self._caller = caller

    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value, None for what is not there."""
        return (await self._services.store.memory.recall(await self._at("memory.retrieve", key, plan_id))).value

    async def keys(self, plan_id: str) -> list[str]:
        await reading.own_plan(self._services, self._person, plan_id, "memory.keys")
        return await self._services.store.memory.memory_keys(self._person.tenant_id, plan_id)

    async def store(self, key: str, value: Any, plan_id: str) -> None:
        async with self._changing("memory.store", key, plan_id) as at:
            await self._do(StoreMemory(at, json_value(key, value)))

    async def increment(self, key: str, by: int | float, plan_id: str) -> None:
        """Add to a number; what is not there counts as 0."""
        async with self._changing("memory.increment", key, plan_id) as at:
            await self._do(IncrementMemory(at, number(key, by)))

    async def append(self, key: str, value: Any, plan_id: str) -> None:
        """Add to a list; what is not there counts as an empty one."""
        async with self._changing("memory.append", key, plan_id) as at:
            await self._do(AppendMemory(at, (json_value(key, value),)))

    async def delete(self, key: str, plan_id: str) -> bool:
        """Remove a value. False when there was nothing."""
        async with self._changing("memory.delete", key, plan_id) as at:
            return await self._remove(at)

    async def cleanup(self, plan_id: str) -> int:
        """Remove everything of the plan, and return how many keys that were."""
        async with self._changing("memory.cleanup", "", plan_id) as at:
            keys = await self._services.store.memory.memory_keys(at.tenant_id, plan_id)
            return sum([await self._remove(replace(at, key=key)) for key in keys])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        return {key: await self.retrieve(key, plan_id) for key in await self.keys(plan_id)}

    async def _at(self, call: str, key: str, plan_id: str) -> MemoryKey:
        await reading.own_plan(self._services, self._person, plan_id, call)
        return MemoryKey(self._person.tenant_id, plan_id, key)

    @asynccontextmanager
    async def _changing(self, call: str, key: str, plan_id: str) -> AsyncGenerator[MemoryKey]:
        async with changing(self._services, self._caller, call, f"{plan_id} {key}"):
            yield await self._at(call, key, plan_id)

    async def _remove(self, at: MemoryKey) -> bool:
        while (found := await self._services.store.memory.recall(at)).exists:
            try:
                await self._do(DropMemory(at, found.version))
            except VersionConflict:
                continue
            return True
        return False

    async def _do(self, change: MemoryChange) -> None:
        must_be_outside()
        await self._services.store.memory.memorize([change], self._services.clock.now())
