"""What several subjects answer."""

from pydantic import BaseModel, ConfigDict

from soorma_ai.api.server.operation import Form, Seconds
from soorma_ai.errors import Held


class Made(BaseModel):
    """Base of answers that are made here; the others are the nouns of the domain."""

    model_config = ConfigDict(frozen=True)


class HeldAnswer(Made):
    """The request waits for an approval: for an answer to `wait_id`. Its reply is found by `request_id`, or by the same
    call with the same Idempotency-Key."""

    request_id: str
    wait_id: str
    detail: str

    @classmethod
    def of(cls, held: Held) -> "HeldAnswer":
        return cls(request_id=held.request_id, wait_id=held.wait_id, detail=str(held))


class Patience(Form):
    """`wait`: seconds for which an answer that is not there yet is waited for."""

    wait: Seconds = 0
