"""Event types reserved for the platform."""

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.states import ANNOUNCEMENTS
from soorma_ai.kernel.domain.stores import RECEIPT, REQUEST_UNKNOWN
from soorma_ai.kernel.rules.waits.replies import PLATFORM_ONLY, check_author, platform_only
from soorma_ai.kernel.rules.waits.wakeups import WAKE_EVENTS


def test_the_list_of_platform_events_is_complete() -> None:
    assert {*ANNOUNCEMENTS, *WAKE_EVENTS, RECEIPT, REQUEST_UNKNOWN} == PLATFORM_ONLY
    assert all("only the platform publishes it" in platform_only(one) for one in PLATFORM_ONLY)
    assert platform_only("order.placed") == ""


@pytest.mark.parametrize("event_type", sorted(PLATFORM_ONLY - WAKE_EVENTS))
def test_a_client_or_agent_cannot_publish_a_platform_event(event_type: str) -> None:
    with pytest.raises(LocalProtocolError, match="only the platform publishes it"):
        check_author(event_type)


@pytest.mark.parametrize("event_type", ["order.placed", *sorted(WAKE_EVENTS)])
def test_other_events_and_wake_ups_may_be_published(event_type: str) -> None:
    check_author(event_type)
