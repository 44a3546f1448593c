"""A platform opened for agents that run in this process."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack

from soorma_ai.adapters.owner.lock import AlreadyOwned
from soorma_ai.agents.agent import Agent
from soorma_ai.cli.options import Access
from soorma_ai.cli.store_access import MOST_TRIES, PAUSE_SECONDS, PURPOSE
from soorma_ai.platform import Platform
from soorma_ai.terminal.escapes import one_line, printable


async def open_platform(stack: AsyncExitStack, access: Access, agents: Sequence[Agent]) -> Platform:
    """Open a platform, after another `soorma` command that owns the file for a moment. Raise AlreadyOwned."""
    purpose = ", ".join(agent.name for agent in agents)
    for _ in range(MOST_TRIES):
        try:
            return await stack.enter_async_context(Platform(access.store_url, purpose=purpose))
        except AlreadyOwned as other:
            if other.info.purpose != PURPOSE:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
    return await stack.enter_async_context(Platform(access.store_url, purpose=purpose))


class _ForTerminals(logging.Formatter):
    """Format each record as one line, but for the traceback of a bug."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(f"{record.levelname.lower()}: {record.message}")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_ForTerminals())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
