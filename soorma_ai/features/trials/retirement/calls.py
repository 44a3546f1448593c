"""Calls about models. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.trials.retirement.records import ModelSwitch, ModelUse, TokenPrice
from soorma_ai.kernel.domain.parameters import Name


class ModelCalls(Protocol):
    """Models of planners, and their replacements."""

    async def models(self) -> list[ModelUse]: ...

    async def retire_model(self, model: Name, to: Name, *, price: TokenPrice | None = None) -> ModelSwitch: ...

    async def restore_model(self, model: Name) -> ModelSwitch: ...
