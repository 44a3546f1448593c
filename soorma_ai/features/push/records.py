"""Pushes: messages about one task to one URL."""

from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import derived_id


class PushMessage(Struct, frozen=True):
    """Message to be posted, by its number in the push."""

    number: int
    body: str


class TaskPush(Record, frozen=True):
    """Push of a task's states to a URL, of one user, through one gateway.

    `token`, `scheme` and `credentials` are the receiver's, and go with each message. `mark` is the last noted state,
    `number` that of the last message; `pending` are the messages without a receipt, in order. After `failures` in a row
    the next one is posted at `post_at`. `is_over`: the last state is noted.
    """

    tenant_id: str
    user_id: str
    task_id: str
    push_id: str
    gateway: str
    url: str
    begun_at: datetime
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    mark: str = ""
    number: int = 0
    pending: tuple[PushMessage, ...] = ()
    failures: int = 0
    post_at: datetime | None = None
    is_over: bool = False

    @property
    def receiver(self) -> tuple[str, str, str, str, str]:
        return self.gateway, self.url, self.token, self.scheme, self.credentials

    def message_id(self, number: int) -> str:
        """Return the id of a message, the same in every try."""
        begun = self.begun_at.isoformat()
        return derived_id("push", self.tenant_id, self.user_id, self.task_id, self.push_id, begun, str(number))
