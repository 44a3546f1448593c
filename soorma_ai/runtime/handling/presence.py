"""The agents of this process are alive as long as it is, however long it was suspended."""

from datetime import datetime, timedelta

from soorma_ai.ports import Registry

HEARTBEAT = timedelta(seconds=60)


class Presence:
    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._last: datetime | None = None

    def add(self, name: str) -> None:
        self.names += (name,)

    async def confirm(self, registry: Registry, now: datetime) -> None:
        """A heart-beat, when the last one is old: before looking who lives, and once a minute."""
        if self.names and (self._last is None or now - self._last >= HEARTBEAT):
            self._last = now
            await registry.heartbeat(self.names, now)
