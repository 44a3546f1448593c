"""The client of a platform in this process: the kernel's calls and those of each feature."""

from collections.abc import Collection

from soorma_ai.features.dead_letters.service import LetterCalls
from soorma_ai.features.human_tasks.service import Inbox
from soorma_ai.features.identity.keys import KeyRing
from soorma_ai.features.knowledge.service import PersonMemos
from soorma_ai.features.plan_memory.service import PlanMemory
from soorma_ai.features.plan_memory.sessions import SessionService
from soorma_ai.features.tracking.service import PlanReader
from soorma_ai.features.trials.cases.service import CaseCalls
from soorma_ai.features.trials.forks.service import ForkCalls
from soorma_ai.features.trials.retirement.service import ModelCalls
from soorma_ai.features.trials.service import TrialCalls
from soorma_ai.features.upkeep.service import UpkeepCalls
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.runtime.client.client import Client


class Memory(PlanMemory, PersonMemos):
    """The working memory of plans, and long-term memory."""


class LocalClient(
    Client, CaseCalls, ForkCalls, LetterCalls, ModelCalls, PlanReader, SessionService, TrialCalls, UpkeepCalls
):
    """Client of one person of one tenant, with the calls of all features: `inbox` for claims, absences and links,
    `keys` for API keys, `memory` for plans and long-term memory, `tracker` for progress."""

    def as_user(self, *, tenant_id: str, user_id: str, roles: Collection[str] = ()) -> "LocalClient":
        """Return the same calls for a person with these `roles`; establish the person's identity beforehand."""
        return self._of(super().as_user(tenant_id=tenant_id, user_id=user_id, roles=roles))

    def as_caller(self, caller: Caller) -> "LocalClient":
        """Return the same calls for an authenticated `caller`. Changes by it are recorded; see `audit`."""
        return self._of(super().as_caller(caller))

    def _of(self, made: Client) -> "LocalClient":
        client = LocalClient(self.services, made.person)
        client.caller = made.caller
        return client

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.services, self.person, self.caller)

    @property
    def keys(self) -> KeyRing:
        return KeyRing(self.services, self.person, self.caller)

    @property
    def memory(self) -> Memory:
        return Memory(self.services, self.person, self.caller)
