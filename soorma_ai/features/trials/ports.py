"""Port for calls of models in trials."""

from collections.abc import Sequence
from typing import Protocol

from soorma_ai.features.trials.records import TrialCall
from soorma_ai.kernel.ports.part_keys import StoreKey

FEATURE = "trials"


class TrialLedger(Protocol):
    """Ledger of calls, and of their answers. It has no other rows."""

    async def trial_calls(self, tenant_id: str, question: str, model: str) -> Sequence[TrialCall]:
        """Return the calls about a question, the first ones first."""
        ...

    async def open_trial_call(self, call: TrialCall) -> None:
        """Keep the reservation of a call, before it is sent."""
        ...

    async def close_trial_call(self, call: TrialCall) -> None:
        """Keep the cost and the answer of a call, in place of its reservation. Nothing is kept of a removed one."""
        ...


TRIALS: StoreKey[TrialLedger] = StoreKey("trials", feature=FEATURE)
