"""Asks the questions of sampled decisions again, one after the other, beside the plans."""

import asyncio
from pathlib import Path

from soorma_ai.errors import SoormaError
from soorma_ai.features.trials.shadow.records import Sample
from soorma_ai.features.trials.shadow.sampling import DecisionSampler
from soorma_ai.kernel.domain.values import account_of
from soorma_ai.kernel.ports import Prompts
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn

# Seconds of real time for one question; a silent model is left, with its reservation.
ASKED_WITHIN = 300.0


async def keep_asking(services: Services) -> None:
    """Ask the questions of sampled decisions, for as long as the process lives."""
    sampler = next(one for one in services.observers if isinstance(one, DecisionSampler))
    while True:
        sample = await sampler.next_sample()
        try:
            async with asyncio.timeout(ASKED_WITHIN):
                await _ask_again(services, sample)
        except (SoormaError, TimeoutError) as error:
            warn("shadow_not_asked", agent=sample.planner, reason=error)
        except Exception as error:  # a reasoner of the program's own
            warn("shadow_failed", agent=sample.planner, reason=account_of(error))


async def _ask_again(services: Services, sample: Sample) -> None:
    # Few programs have shadows.
    from soorma_ai.features.trials.shadow.asking import ask_again, prompts_of

    folder = sample.shadow.change.prompts
    prompts: Prompts = prompts_of(Path(folder), services.prompts) if folder else services.prompts
    await ask_again(services, sample, prompts)
