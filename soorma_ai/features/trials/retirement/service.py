"""Calls about models: their use, and their replacement, for operators of a tenant."""

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.records import ModelReplacement, ModelSwitch, ModelUse, TokenPrice
from soorma_ai.features.trials.retirement.rules import is_cheaper
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.parameters import Name
from soorma_ai.kernel.rules.authority import Owner, check, may
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import must_be_outside

CALLS = CallTable()
# A price below the known one weakens budgets.
LOWER_PRICE = Right("lower the price of a model", Act.GRANT)
FREE = "price=(0, 0) or `--price 0 0` for a free one"


class ModelCalls(OperatorCalls):
    """Models of planners, and their replacements. Every call raises Forbidden without the role of an operator."""

    @CALLS("GET /models", Act.MANAGE, "list_models", key="models")
    async def models(self) -> list[ModelUse]:
        """Return the models of planners with the number of their open plans, and the replacements in force."""
        check(self.person, CALLS["models"], Owner(self.person.tenant_id), "")
        return [*await self.services.store.part(MODELS).model_uses(self.person.tenant_id)]

    @CALLS("POST /models/retire", Act.MANAGE, "retire_model", raises=(ConfigError,))
    async def retire_model(self, model: Name, to: Name, *, price: TokenPrice | None = None) -> ModelSwitch:
        """Replace a `model` by the model `to`, for all open plans and new ones of the tenant, and resume plans at rest
        with the former. `price` is the new one's, in US dollars per token in and per token out.

        Every process asks the new model from its next question on. Raise ConfigError for a circle, for a model that
        cannot be asked here, for an unknown price, and for a price below the known one by anybody but the root.
        """
        must_be_outside()
        check(self.person, CALLS["retire_model"], Owner(self.person.tenant_id), "")
        price = (float(price[0]), float(price[1])) if price else None
        reasoner = self.services.models.find(to, price)
        reasoner.check()
        if reasoner.cost_of(1, 1) is None:
            raise ConfigError(f"the price of {to} is not known, and plans have budgets: give it, as {FREE}")
        if price is not None:
            self._check_price(to, price)
        made = ModelReplacement(model, to, self._now(), price)
        async with self._changing("retire_model", f"{model} to {to}") as change:
            return await change.store.part(MODELS).replace_model(self.person.tenant_id, made)

    def _check_price(self, model: str, price: TokenPrice) -> None:
        """Raise ConfigError for a price below the known one: plans would exceed their budgets in US dollars. The root
        of the store may give it."""
        is_below = is_cheaper(price, self.services.models.find(model))
        if is_below and not may(self.person, LOWER_PRICE, Owner(self.person.tenant_id)):
            raise ConfigError(
                f"price={price} is below the known price of {model}, and plans would exceed their budgets: leave it "
                "out, or give it as the root of the store"
            )

    @CALLS("POST /models/restore", Act.MANAGE, "restore_model", raises=(NotFound,))
    async def restore_model(self, model: Name) -> ModelSwitch:
        """Remove the replacement of a `model`, so that its planners ask it again. Raise NotFound for a model without a
        replacement."""
        must_be_outside()
        check(self.person, CALLS["restore_model"], Owner(self.person.tenant_id), "")
        async with self._changing("restore_model", model) as change:
            return await change.store.part(MODELS).restore_model(self.person.tenant_id, model, self._now())


def models_of(client: OperatorCalls) -> ModelCalls:
    """Return the calls about models of a client's person."""
    made = ModelCalls(client.services, client.person)
    made.caller = client.caller
    return made
