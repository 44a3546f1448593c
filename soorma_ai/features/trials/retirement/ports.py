"""Port for replaced models."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.features.trials.ports import FEATURE
from soorma_ai.features.trials.retirement.records import ModelReplacement, ModelSwitch, ModelUse
from soorma_ai.features.trials.retirement.rules import Replacements
from soorma_ai.kernel.ports.part_keys import StoreKey


class ReplacedModels(Protocol):
    """Replacements of models, in force for open plans and for new ones."""

    async def replacements(self, tenant_id: str) -> Replacements:
        """Return the replacements of a tenant. They are kept in the process until the next change of the registry."""
        ...

    async def model_uses(self, tenant_id: str) -> Sequence[ModelUse]:
        """Return the models of planners, and the replaced ones."""
        ...

    async def replace_model(self, tenant_id: str, made: ModelReplacement) -> ModelSwitch:
        """Put a replacement in force, and resume plans at rest. Raise ConfigError for a circle."""
        ...

    async def restore_model(self, tenant_id: str, model: str, now: datetime) -> ModelSwitch:
        """Remove the replacement of a model, and resume plans at rest. Raise NotFound."""
        ...


MODELS: StoreKey[ReplacedModels] = StoreKey("replaced models", feature=FEATURE)
