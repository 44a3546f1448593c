"""Working memory from outside of every handler, where a call acts at once."""

from typing import Any

from soorma_ai.core.memory import json_value, number
from soorma_ai.domain.memory import AppendMemory, DropMemory, IncrementMemory, MemoryChange, MemoryKey, StoreMemory
from soorma_ai.domain.people import Person
from soorma_ai.domain.values import Json
from soorma_ai.errors import VersionConflict
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading


class PlanMemory:
    """The working memory of plans that a person sees; every call raises NotFound for another, and a change Forbidden
    for one that they may not steer."""

    def __init__(self, services: Services, person: Person) -> None:
        self._services = services
        self._person = person

    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value, None for what is not there."""
        return (await self._services.store.memory.recall(await self._at("memory.retrieve", key, plan_id))).value

    async def keys(self, plan_id: str) -> list[str]:
        await reading.own_plan(self._services, self._person, plan_id, "memory.keys")
        return await self._services.store.memory.memory_keys(self._person.tenant_id, plan_id)

    async def store(self, key: str, value: Any, plan_id: str) -> None:
        await self._do(StoreMemory(await self._at("memory.store", key, plan_id), json_value(key, value)))

    async def increment(self, key: str, by: int | float, plan_id: str) -> None:
        """Add to a number; what is not there counts as 0."""
        await self._do(IncrementMemory(await self._at("memory.increment", key, plan_id), number(key, by)))

    async def append(self, key: str, value: Any, plan_id: str) -> None:
        """Add to a list; what is not there counts as an empty one."""
        await self._do(AppendMemory(await self._at("memory.append", key, plan_id), (json_value(key, value),)))

    async def delete(self, key: str, plan_id: str) -> bool:
        """Remove a value. False when there was nothing."""
        at = await self._at("memory.delete", key, plan_id)
        while (found := await self._services.store.memory.recall(at)).exists:
            try:
                await self._do(DropMemory(at, found.version))
            except VersionConflict:
                continue
            return True
        return False

    async def cleanup(self, plan_id: str) -> int:
        """Remove everything of the plan, and return how many keys that were."""
        await reading.own_plan(self._services, self._person, plan_id, "memory.cleanup")
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        return {key: await self.retrieve(key, plan_id) for key in await self.keys(plan_id)}

    async def _at(self, call: str, key: str, plan_id: str) -> MemoryKey:
        await reading.own_plan(self._services, self._person, plan_id, call)
        return MemoryKey(self._person.tenant_id, plan_id, key)

    async def _do(self, change: MemoryChange) -> None:
        must_be_outside()
        await self._services.store.memory.memorize([change], self._services.clock.now())
