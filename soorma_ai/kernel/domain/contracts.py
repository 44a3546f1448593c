"""Open work that a changed event breaks."""

from soorma_ai.kernel.domain.records import Record


class BrokenWork(Record, frozen=True):
    """Open work that a narrower event would break. `subject` is the id of its question or request, or its state."""

    kind: str
    """Kind: approval, request, reply, wait or state."""
    subject: str
    """Id of the question or the request, or the name of the state."""
    event_name: str
    """Name of the event."""
    plan_id: str | None
    """Plan; None without one."""
    reason: str
    """Reason, in one sentence."""

    def __str__(self) -> str:
        whose = f"plan {self.plan_id}, " if self.plan_id else ""
        return f"{whose}{self.kind} {self.subject} ({self.reason})"
