"""The part of a store for events that are kept for other stores."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from soorma_ai.kernel.ports import Delivery, StoreKey

FEATURE = "federation"


class Mail(Protocol):
    """Mailboxes of other stores."""

    async def mailboxes(self) -> list[str]:
        """Return the mailboxes of other stores with waiting events."""
        ...

    async def claim_mail(self, mailbox: str, now: datetime, lease: timedelta, fresh: int, again: int) -> list[Delivery]:
        """Claim from a mailbox as `claim` does from an agent's inbox: up to `fresh` deliveries without an earlier
        claim, and up to `again` others."""
        ...

    async def claim_named(
        self, mailbox: str, tenant_id: str, event_ids: Sequence[str], now: datetime, lease: timedelta
    ) -> list[Delivery]:
        """Claim the open deliveries of these events of a tenant, even from their holders."""
        ...


MAIL: StoreKey[Mail] = StoreKey("mail", feature=FEATURE)
