"""Ledger of trials in the process of a store's owner, through its control socket."""

from soorma_ai.api.clients.messages import post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.records import TrialCall


class OwnerTrialLedger:
    """Ledger of the tenant of the caller."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def trial_calls(self, tenant_id: str, question: str, model: str) -> list[TrialCall]:
        body = {"question": question, "model": model}
        return await self._caller.read_key(post("trial-calls", "find", body=body), "calls", list[TrialCall])

    async def open_trial_call(self, call: TrialCall) -> None:
        await self._caller.ask(post("trial-calls", "open", body={"trial_call": call}))

    async def close_trial_call(self, call: TrialCall) -> None:
        await self._caller.ask(post("trial-calls", "close", body={"trial_call": call}))
