"""Names of agents: a namespace for each tenant, and one for the shared agents."""

import pytest
from contract.store_kit import event

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM
from soorma_ai.kernel.domain.names import agent_key, agent_meant, plain_name
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, Registration, Subscription
from soorma_ai.kernel.rules.arrival.takers import Index
from unit.kit import puts_of

OWN, SHARED, ELSEWHERE = "pay@acme", "pay", "pay@globex"
PAID = EventDefinition(event_name="work.asked")


@pytest.mark.parametrize(("tenant", "name"), [(None, "pay"), ("acme", "pay"), ("a@b", "pay"), ("a/b", "p a y")])
def test_a_key_has_name_and_tenant_and_is_the_key_of_itself(tenant: str | None, name: str) -> None:
    key = agent_key(tenant, name)
    assert plain_name(key) == name
    assert agent_key(tenant, key) == key
    assert Registration(key, AgentKind.TOOL, tenant_id=tenant) == Registration(name, AgentKind.TOOL, tenant_id=tenant)


def test_no_two_agents_have_one_key() -> None:
    pairs = [(tenant, name) for tenant in (None, "a", "b", "a@b", "@", "b@a") for name in ("a", "b", "c")]
    assert len({agent_key(*pair) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(("tenant", "name"), [(None, "pay@acme"), ("globex", "pay@acme"), (None, "pay@"), ("a", "b@")])
def test_a_name_spelled_like_a_key_of_another_tenant_is_refused(tenant: str | None, name: str) -> None:
    with pytest.raises(ConfigError, match=r"an agent cannot be called 'pay@|an agent cannot be called 'b@"):
        Registration(name, AgentKind.TOOL, tenant_id=tenant)


@pytest.mark.parametrize(
    ("asker", "keys", "meant"),
    [
        (CLIENT, (SHARED, OWN), OWN),
        ("clerk@acme", (OWN, SHARED), OWN),
        ("clerk", (OWN, SHARED), SHARED),
        (SYSTEM, (OWN, SHARED), SHARED),
        (CLIENT, (SHARED,), SHARED),
        ("clerk", (OWN,), OWN),
        ("clerk", ("other",), None),
    ],
)
def test_a_name_means_the_agent_nearest_to_its_requester(asker: str, keys: tuple[str, ...], meant: str | None) -> None:
    assert agent_meant("pay", asker, keys) == meant


def test_a_key_means_one_agent_only() -> None:
    assert agent_meant(OWN, "clerk", (SHARED, OWN)) == OWN
    assert agent_meant(ELSEWHERE, CLIENT, (SHARED, OWN)) is None


def test_a_request_to_a_name_goes_to_no_namesake() -> None:
    index = Index([_tool("pay", None), _tool("pay", "acme"), _tool("pay", "globex")])
    asked = event("e-1", "work.asked", tenant="acme").model_copy(update={"target": "pay"})
    for source, taker in ((CLIENT, OWN), ("clerk@acme", OWN), ("clerk", SHARED)):
        takers, _ = puts_of(index, asked.model_copy(update={"source": source}))
        assert [put.agent for put in takers] == [taker]
    everybody, _ = puts_of(index, asked.model_copy(update={"target": None}))
    assert {put.agent for put in everybody} == {OWN, SHARED}
    assert index.is_taken(asked)
    assert not index.is_taken(asked.model_copy(update={"target": ELSEWHERE}))


def _tool(name: str, tenant: str | None) -> Registration:
    subscribed = (Subscription(PAID.topic, PAID.event_name),)
    return Registration(
        name, AgentKind.TOOL, tenant_id=tenant, events=((EventRole.TAKES, PAID),), subscriptions=subscribed
    )
