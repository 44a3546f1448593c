"""An agent as a process of its own."""

from typing import ClassVar, Protocol


class Runner(Protocol):
    """Runs agents in a process until SIGINT or SIGTERM: beside a store, or by the server of a `url`."""

    def __call__(self, *agents: "AgentProcess", url: str | None = None, token: str | None = None) -> None: ...


class AgentProcess:
    """Base of agents. The package sets `runner`, its composition root, at its import."""

    runner: ClassVar[Runner]

    def run(self, *, url: str | None = None, token: str | None = None) -> None:
        """Run this agent as a process, from the environment, until SIGINT or SIGTERM. With the `url` of a server
        (SOORMA_URL) and a `token` (SOORMA_TOKEN) it is an agent of the platform of that server."""
        AgentProcess.runner(self, url=url, token=token)
