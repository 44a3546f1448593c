"""Choice of the model of a question, by the replacements in force."""

from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.rules import find_replacement
from soorma_ai.kernel.ports import Reasoner
from soorma_ai.kernel.runtime.handling.handling import Services


async def choose_model(services: Services, tenant_id: str, reasoner: Reasoner) -> Reasoner:
    """Return the reasoner in the place of this one. Raise ConfigError for a model without one here."""
    part = services.store.find(MODELS)
    if part is None:
        return reasoner
    found = find_replacement(reasoner.model, await part.replacements(tenant_id))
    return reasoner if found is None else services.models.in_place_of(reasoner, found.to, found.price)
