"""Calls about models over HTTP. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.retirement.records import ModelSwitch, ModelUse, TokenPrice
from soorma_ai.kernel.domain.parameters import Name


class AsyncModels:
    """Models of planners, and their replacements."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def models(self) -> list[ModelUse]:
        """Return the models of planners with the number of their open plans, and the replacements in force."""
        return await self._caller.read_key(get("models"), "models", list[ModelUse])

    async def retire_model(self, model: Name, to: Name, *, price: TokenPrice | None = None) -> ModelSwitch:
        """Replace a `model` by the model `to`, for all open plans and new ones of the tenant, and resume plans at rest
        with the former. `price` is the new one's, in US dollars per token in and per token out.

        Every process asks the new model from its next question on. Raise ConfigError for a circle, for a model that
        cannot be asked here, for an unknown price, and for a price below the known one by anybody but the root."""
        return await self._caller.read(
            post("models", "retire", body={"model": model, "to": to, "price": price}), ModelSwitch
        )

    async def restore_model(self, model: Name) -> ModelSwitch:
        """Remove the replacement of a `model`, so that its planners ask it again. Raise NotFound for a model without a
        replacement."""
        return await self._caller.read(post("models", "restore", body={"model": model}), ModelSwitch)


BlockingModelsKind = TypeVar("BlockingModelsKind", bound=AsyncModels, covariant=True)


class BlockingModels(Blocking[BlockingModelsKind]):
    """Models of planners, and their replacements."""

    models = blocking(AsyncModels.models)
    retire_model = blocking(AsyncModels.retire_model)
    restore_model = blocking(AsyncModels.restore_model)
