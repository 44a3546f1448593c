"""Calls about forks over HTTP. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.forks.records import ForkedPlan
from soorma_ai.kernel.domain.parameters import Id, Note, Ordinal, Short


class AsyncForks:
    """Forks: new plans that begin with the beginning of another."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def fork(
        self,
        plan_id: Id,
        at: Ordinal,
        *,
        model: Short = "",
        note: Note = "",
        dry: bool = False,
        act: bool = False,
        key: Short = "",
    ) -> ForkedPlan:
        """Begin a fork of a plan: a new plan with its steps up to the decision `at`, which it asks its model anew.

        Each request of the fork is held for a person, and an approved one is sent only with `act`. With `dry`, a
        request has the recorded reply of an equal one, and the fork stops at the first other request. `model` answers
        in the place of the planner's model; the model is told the `note`. The same `key` begins one fork. Raise
        NotFound, Forbidden, ConfigError for a faulty model, and LocalProtocolError for a plan that cannot be forked."""
        return await self._caller.read(
            post(
                "plans",
                plan_id,
                "forks",
                body={"at": at, "model": model, "note": note, "dry": dry, "act": act, "key": key},
            ),
            ForkedPlan,
        )


BlockingForksKind = TypeVar("BlockingForksKind", bound=AsyncForks, covariant=True)


class BlockingForks(Blocking[BlockingForksKind]):
    """Forks: new plans that begin with the beginning of another."""

    fork = blocking(AsyncForks.fork)
