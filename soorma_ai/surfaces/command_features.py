"""Features of this installation, for commands about the schema of a store. `apps.cli` gives them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from soorma_ai.kernel.sql.storage import FeatureSet

# Key of their loader in the click context: they load every store's statements.
FEATURES = "soorma_ai.features"


def features_of_command() -> "FeatureSet":
    """Return the features, which the command's context loads."""
    load = cast("Callable[[], FeatureSet]", click.get_current_context().meta[FEATURES])
    return load()
