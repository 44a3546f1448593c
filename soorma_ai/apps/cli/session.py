"""A platform opened for agents of this process."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack

from soorma_ai.adapters.single_writer.lock import AlreadyOwned
from soorma_ai.agents.agent import Agent
from soorma_ai.apps.cli.store_access import MOST_TRIES, PAUSE_SECONDS, PURPOSE
from soorma_ai.apps.cli.view.live import Voice, VoiceHandler
from soorma_ai.platform import Platform
from soorma_ai.settings import hide_password
from soorma_ai.surfaces.options import Access
from soorma_ai.surfaces.terminal.escapes import one_line


async def open_platform(stack: AsyncExitStack, access: Access, agents: Sequence[Agent]) -> Platform:
    """Open a platform; wait for another `soorma` command with a short hold on the file. Raise AlreadyOwned."""
    purpose = ", ".join(agent.name for agent in agents)
    for _ in range(MOST_TRIES):
        try:
            return await stack.enter_async_context(Platform(access.store_url, purpose=purpose))
        except AlreadyOwned as other:
            if other.info.purpose != PURPOSE:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
    return await stack.enter_async_context(Platform(access.store_url, purpose=purpose))


def describe_agents(agents: Sequence[Agent], access: Access) -> str:
    """Return the agents, the store, and the key to stop."""
    names = ", ".join(one_line(agent.name) for agent in agents)
    return f"Agents: {names}. Store: {hide_password(access.store_url)}. Press Ctrl-C to stop."


def log_by(voice: Voice, level: str) -> None:
    """Print the log through a voice; of libraries warnings only, at any level."""
    logging.basicConfig(level=logging.WARNING, handlers=[VoiceHandler(voice)])
    if level.upper() != logging.getLevelName(logging.WARNING):
        logging.getLogger("soorma_ai").setLevel(level.upper())
