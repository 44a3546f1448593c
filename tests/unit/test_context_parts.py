"""Parts of a context that features bring: each is refused where its feature is off."""

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.memos import MemoKind, Recollection
from soorma_ai.kernel.ports.context import ContextParts

OFF: ContextParts[object] = ContextParts()


def test_long_term_memory_of_a_feature_that_is_off_is_refused() -> None:
    with pytest.raises(ConfigError, match="long-term memory is off"):
        OFF.memos(object())


def test_the_toolkit_of_a_feature_that_is_off_is_refused() -> None:
    with pytest.raises(ConfigError, match="the toolkit of events is off"):
        OFF.toolkit(object())


async def test_recall_of_a_feature_that_is_off_is_refused() -> None:
    with pytest.raises(ConfigError, match="long-term memory is off"):
        await OFF.recall(object(), Recollection((MemoKind.KNOWLEDGE,), 100), "ships")
