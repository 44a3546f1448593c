"""Sampling of committed decisions for shadows."""

import asyncio
from collections import deque
from collections.abc import Sequence

from soorma_ai.features.trials.shadow.records import Sample, decision_id_of, is_chosen
from soorma_ai.kernel.domain.effects import Disposition, Effect
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.ports import Settlement
from soorma_ai.kernel.runtime.handling.handling import Handling, Observer

# Decisions that wait for their shadow; beyond that, further ones are left out.
MOST_WAITING = 1_000


class DecisionSampler(Observer):
    """Sampler of the decisions of this process, after their commit. Those of forks are none of them."""

    def __init__(self) -> None:
        self._waiting: deque[Sample] = deque()
        self._came = asyncio.Event()

    def committed(
        self, handling: Handling, disposition: Disposition, effects: Sequence[Effect], bill: Sequence[Settlement]
    ) -> None:
        shadow = handling.services.shadows.get(handling.agent)
        if shadow is None or (handling.has_plan and handling.plan.fork is not None):
            return
        lineage = handling.working_lineage
        for entry in (one.entry for one in bill if one.entry is not None and not one.entry.is_refused):
            if len(self._waiting) < MOST_WAITING and is_chosen(decision_id_of(entry), shadow.share):
                planner = plain_name(handling.agent)
                self._waiting.append(Sample(lineage.tenant_id, lineage.user_id, planner, entry, shadow))
                self._came.set()

    async def next_sample(self) -> Sample:
        """Return the first waiting decision, once there is one."""
        while not self._waiting:
            self._came.clear()
            await self._came.wait()
        return self._waiting.popleft()
