"""NATS subjects: one token for each name, and different tokens for different names."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as some

from soorma_ai.adapters.nats.subjects import (
    is_named_so,
    message_id,
    registry_subject,
    sender_of,
    subject_between,
    subject_of,
    subjects_of,
    token,
)
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.testing.clock import START


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("default", "default"),
        ("order.placed", "order%2Eplaced"),
        ("a b", "a%20b"),
        ("*", "%2A"),
        (">", "%3E"),
        ("", "%"),
        ("%", "%25"),
        ("a/b", "a%2Fb"),
        ("naïve", "na%C3%AFve"),
        ("x\r\nPUB y 0", "x%0D%0APUB%20y%200"),
        ("\udcff", "%ED%B3%BF"),
    ],
)
def test_a_name_is_one_token(name: str, quoted: str) -> None:
    assert token(name) == quoted


@given(some.text())
def test_every_name_comes_back_from_its_token(name: str) -> None:
    made = token(name)
    assert made and made.isascii() and made.isprintable()
    assert not set(made) & set(" .*>")
    assert (unquote(made, errors="surrogatepass") if name else "%") == (name or made)


def test_a_subject_has_store_tenant_topic_and_type() -> None:
    event = EventEnvelope(
        id="1", source="s", type="order.placed", topic=EventTopic.BUSINESS_FACTS, time=START, tenant_id="a.b"
    )
    assert subject_of("soorma", "s-1", event) == "soorma.s-1.a%2Eb.business-facts.order%2Eplaced"
    assert subjects_of("soorma", "s.1") == "soorma.s%2E1.>"
    assert subjects_of("soorma") == "soorma.>"


def test_a_repeated_message_has_the_same_id_and_every_other_a_different_one() -> None:
    name = message_id("ns.one.acme.facts.paid", b'{"id":"1"}', 0)
    assert name == message_id("ns.one.acme.facts.paid", b'{"id":"1"}', 0)
    others = {
        message_id("ns.two.acme.facts.paid", b'{"id":"1"}', 0),
        message_id("ns.one.globex.facts.paid", b'{"id":"1"}', 0),
        message_id("ns.one.acme.facts.paid", b'{"id":"2"}', 0),
        message_id("ns.one.acme.facts.paid", b'{"id":"1"}', 1),
    }
    assert len(others | {name}) == 5
    assert all(is_named_so(message_id("s.acme", b"{}", count), "s.acme", b"{}") for count in (0, 1, 12))
    assert not is_named_so(name, "ns.one.globex.facts.paid", b'{"id":"1"}')
    assert not is_named_so("", "s.acme", b"{}")


@given(some.text(), some.text(), some.text())
def test_a_subject_between_stores_names_its_sender(store: str, tenant: str, sender: str) -> None:
    event = EventEnvelope(
        id="1", source="s", type="part.make", topic=EventTopic.ACTION_REQUESTS, time=START, tenant_id=tenant
    )
    subject = subject_between("ns", store, event, sender)
    assert subject.startswith(f"{subject_of('ns', store, event)}.")
    assert subject_between("ns", store, event, sender_of(subject) or "") == subject
    assert sender_of(subject_of("ns", store, event)) is None


def test_a_tenants_agents_and_shared_ones_are_announced_under_different_subjects() -> None:
    assert registry_subject("ns", "s.1", "acme") == "ns.registry.s%2E1.acme"
    subjects = {registry_subject("ns", "s", tenant) for tenant in (None, "", "%", "%%")}
    assert len(subjects) == 4
