"""Answers of several subjects."""

from pydantic import BaseModel, ConfigDict

from soorma_ai.errors import Held


class Made(BaseModel):
    """Base of answers that are no records of the domain."""

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
