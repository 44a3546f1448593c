"""Result and changes of a fork."""

from msgspec import Struct

from soorma_ai.kernel.domain.plans import Fork
from soorma_ai.kernel.domain.records import Record


class ForkedPlan(Record, frozen=True):
    """Fork of a plan, with its `origin`. `unanswered` are requests and waits that were open at its decision: none of
    them is open in the fork."""

    plan_id: str
    origin: Fork
    unanswered: tuple[str, ...] = ()


class ForkChange(Struct, frozen=True):
    """Changes of a fork: another model, a note for it, its way with requests. See `Fork`."""

    model: str = ""
    note: str = ""
    acts: bool = False
    is_dry: bool = False
