"""Live log of a store while agents run on it."""

from collections import OrderedDict

from soorma_ai.apps.cli.follow.pursuit import PAUSE_PER_LOOK, POLL_SECONDS
from soorma_ai.apps.cli.view.live import Voice
from soorma_ai.errors import TransientError
from soorma_ai.features.tracking.live import LineRows, lines_of, lookups_of
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import until

# What comes faster than it can be told is counted, and not told.
MOST_PER_LOOK = 200
MOST_HANDLINGS = 10_000


class Watch:
    """Prints the events of all tenants, committed from its beginning on, and the decisions behind them."""

    def __init__(self, services: Services, voice: Voice) -> None:
        self._services = services
        self._voice = voice
        self._last = 0
        # The number of answers of a model that were told, by the handling that asked for them.
        self._told: OrderedDict[tuple[str, str], int] = OrderedDict()

    async def begin(self) -> None:
        newest = await self._services.store.events.events(limit=1, newest=True)
        self._last = newest[-1].seq if newest else 0

    async def go_on(self) -> None:
        """Print until cancelled, or until the output is closed: the agents run on."""
        clock, woken = self._services.clock, self._services.signals.watch()
        try:
            while True:
                looked_at = clock.monotonic()
                try:
                    await self.look()
                except TransientError as error:
                    warn("look_failed", reason=error)
                except OSError:
                    return
                # The agents run in this process: leave them most of it.
                await clock.sleep(PAUSE_PER_LOOK * (clock.monotonic() - looked_at))
                await until(woken, clock, POLL_SECONDS)
        finally:
            self._services.signals.unwatch(woken)

    async def look(self) -> None:
        """Print the new events; of many the newest, and the number of the others."""
        rows = await self._services.store.events.events(after=self._last, limit=MOST_PER_LOOK, newest=True)
        # Places may be left out by the store, so that less than a page says that nothing is between.
        if len(rows) == MOST_PER_LOOK and (left_out := rows[0].seq - self._last - 1) > 0:
            self._voice.remark(f"{left_out:,} events came too fast to print (soorma events tail)")
        for row in rows:
            self._last = row.seq
            self._voice.tell_event(lines_of(row.event, await self._find(row.event)))

    async def _find(self, event: EventEnvelope) -> LineRows:
        plans, named = self._services.store.plans, lookups_of(event)
        return LineRows(
            decisions=await self._decisions(*named.handling) if named.handling else (),
            expectation=await plans.expectation(named.expectation_id) if named.expectation_id else None,
            request=await self._services.store.events.event(named.request_id) if named.request_id else None,
        )

    async def _decisions(self, agent: str, cause_id: str) -> list[JournalEntry]:
        """Return the answers of a model in one handling, without the printed ones."""
        found = await self._services.store.plans.journal(agent, cause_id)
        key = (agent, cause_id)
        new = found[self._told.get(key, 0) :]
        if new:
            self._told[key] = len(found)
            self._told.move_to_end(key)
            while len(self._told) > MOST_HANDLINGS:
                self._told.popitem(last=False)
        return new
