"""Events from a bus before they are stored: foreign events get another id and a client's source, and erased events stay
erased."""

import pytest

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM
from soorma_ai.kernel.rules.arrival.strangers import as_written_down
from soorma_ai.kernel.rules.waits.replies import PLATFORM_ONLY
from unit.kit import event

GIVEN = event("order.paid", id="e-1", topic="business-facts", tenant_id="acme", source=SYSTEM, answers="q-1")


def test_an_event_this_store_sent_is_unchanged() -> None:
    assert as_written_down(GIVEN, "acme", is_own=True) is GIVEN


@pytest.mark.parametrize("known", [None, "globex"])
def test_an_erased_event_does_not_come_back(known: str | None) -> None:
    assert as_written_down(GIVEN, known, is_own=True) is None


@pytest.mark.parametrize("known", [None, "globex", "acme"])
def test_a_foreign_event_becomes_a_clients_event_under_a_unique_id(known: str | None) -> None:
    named = as_written_down(GIVEN, known, is_own=False)
    assert named is not None and named.id != GIVEN.id
    assert named == GIVEN.model_copy(update={"id": named.id, "source": CLIENT, "answers": None})
    assert as_written_down(GIVEN, known, is_own=False) == named, "a second copy is the same event"
    of_another = as_written_down(GIVEN.model_copy(update={"tenant_id": "globex"}), "initech", is_own=False)
    assert of_another is not None and of_another.id != named.id


@pytest.mark.parametrize(("topic", "unchecked"), [("action-requests", True), ("action-results", None)])
def test_a_foreign_request_is_checked_at_its_delivery(topic: str, unchecked: bool | None) -> None:
    given = event("pay", id="e-1", topic=topic, unchecked=False)
    named = as_written_down(given, None, is_own=False)
    assert named is not None and named.unchecked is unchecked


@pytest.mark.parametrize("topic", ["notification-events", "plan-events", "system-events", "business-facts"])
@pytest.mark.parametrize("event_type", sorted(PLATFORM_ONLY))
def test_no_foreign_program_publishes_an_event_reserved_for_the_platform(event_type: str, topic: str) -> None:
    given = event(event_type, id="e-1", topic=topic, source=SYSTEM)
    with pytest.raises(RemoteProtocolError, match="only the platform publishes it"):
        as_written_down(given, "acme", is_own=False)
    assert as_written_down(given, given.tenant_id, is_own=True) is given
