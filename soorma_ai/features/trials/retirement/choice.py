"""Choice of the model of a question, by the replacements in force."""

from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.rules import Replacements, find_replacement, model_in_force
from soorma_ai.kernel.ports import Reasoner
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.models import Models


async def choose_model(services: Services, tenant_id: str, reasoner: Reasoner) -> Reasoner:
    """Return the reasoner in the place of this one. Raise ConfigError for a model without one here."""
    part = services.store.find(MODELS)
    if part is None:
        return reasoner
    known = await part.replacements(tenant_id)
    found = find_replacement(reasoner.model, known)
    chosen = reasoner if found is None else services.models.in_place_of(reasoner, found.to, found.price)
    return _replace_fallbacks(services.models, chosen, known)


def _replace_fallbacks(models: Models, reasoner: Reasoner, known: Replacements) -> Reasoner:
    """Return the reasoner with the models in force as its fallbacks. One whose price its table does not know is left
    out: a plan with a budget could not be asked."""
    before = models.fallbacks_of(reasoner)
    if known.keys().isdisjoint(before):
        return reasoner
    after = tuple(dict.fromkeys(model_in_force(name, known) for name in before))
    after = tuple(name for name in after if name != reasoner.model)
    priced = tuple(name for name in after if name in before or models.find(name).cost_of(1, 1) is not None)
    return models.with_fallbacks(reasoner, priced)
