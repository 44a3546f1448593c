"""Long-term memory, for each way to reach a platform."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from soorma_ai import Forbidden, LocalProtocolError, NotFound, Platform, PlatformClient

ODD_KEY = "a/b ?#%..search"


async def test_knowledge_is_kept_searched_shown_and_deleted(client: PlatformClient) -> None:
    memory = client.memory
    key = await memory.store_knowledge("Refunds take 14 days.", title="refunds", tags=["policy"], source="faq")
    named = await memory.store_knowledge("Shipping is free.", key=ODD_KEY, metadata={"year": 2030}, expires_in=3600)
    assert named == ODD_KEY
    (found,) = await memory.search_knowledge("how long does a refund take?")
    assert (found.key, found.content, found.title, found.tags) == (key, "Refunds take 14 days.", "refunds", ("policy",))
    assert (found.source, found.by, found.shelf.user_id) == ("faq", "client", "local")
    assert [memo.key for memo in await memory.search_knowledge()] == [ODD_KEY, key]
    assert [memo.key for memo in await memory.search_knowledge(limit=1)] == [ODD_KEY]
    odd = await memory.get_knowledge(ODD_KEY)
    assert odd is not None and odd.metadata == {"year": 2030}
    assert odd.expires_at is not None and odd.expires_at - odd.at == timedelta(hours=1)
    assert await memory.delete_knowledge(ODD_KEY) is True
    assert await memory.delete_knowledge(ODD_KEY) is False
    assert await memory.get_knowledge(ODD_KEY) is None


async def test_conditions_of_a_search_are_all_met(client: PlatformClient) -> None:
    memory = client.memory
    await memory.store_knowledge("cats", key="a", tags=["x", "y"], source="faq", metadata={"n": 1})
    await memory.store_knowledge("cats", key="b", tags=("x",), metadata={"n": 2})
    for query in ("cats", ""):
        assert {memo.key for memo in await memory.search_knowledge(query, tags=["x"])} == {"a", "b"}
        assert [memo.key for memo in await memory.search_knowledge(query, tags=["x", "y"])] == ["a"]
        assert [memo.key for memo in await memory.search_knowledge(query, source="faq", owner="client")] == ["a"]
        assert [memo.key for memo in await memory.search_knowledge(query, metadata={"n": 2})] == ["b"]
        assert await memory.search_knowledge(query, owner="bot") == []


async def test_knowledge_stored_again_replaces_the_earlier_one(client: PlatformClient) -> None:
    memory = client.memory
    await memory.store_knowledge("cats", key="k")
    await memory.store_knowledge("dogs", key="k")
    assert await memory.search_knowledge("cats") == []
    assert [memo.content for memo in await memory.search_knowledge()] == ["dogs"]


async def test_shared_knowledge_is_for_all_users_of_the_tenant_to_read(
    platform: Platform, client: PlatformClient
) -> None:
    memory = client.memory
    await memory.store_knowledge("cats", key="k", shared=True)
    await memory.store_knowledge("cats", key="k")
    ben = platform.as_user(tenant_id="default", user_id="ben")
    for one, shared, count in ((memory, None, 2), (memory, True, 1), (memory, False, 1), (ben.memory, None, 1)):
        assert len(await one.search_knowledge("cats", shared=shared)) == count
    with pytest.raises(Forbidden):
        await ben.memory.store_knowledge("lies", key="k", shared=True)
    with pytest.raises(Forbidden):
        await ben.memory.delete_knowledge("k", shared=True)
    assert await memory.delete_knowledge("k", shared=True)
    assert await ben.memory.search_knowledge() == []


async def test_an_operator_sees_and_steers_anothers_memory(platform: Platform, client: PlatformClient) -> None:
    ben = platform.as_user(tenant_id="default", user_id="ben").memory
    await ben.store_knowledge("cats", key="k")
    memory = client.memory
    assert await memory.search_knowledge("cats") == []
    assert len(await memory.search_knowledge("cats", user_id="ben")) == 1
    assert (await memory.get_knowledge("k", user_id="ben")) == await ben.get_knowledge("k")
    await memory.store_knowledge("dogs", key="k", user_id="ben")
    assert [memo.content for memo in await ben.search_knowledge()] == ["dogs"]
    assert await memory.delete_knowledge("k", user_id="ben")
    with pytest.raises(NotFound, match="no memory of 'local'"):
        await ben.search_knowledge("cats", user_id="local")


async def test_interactions_are_kept_by_agent_the_newest_first(client: PlatformClient) -> None:
    memory = client.memory
    for n in range(3):
        await memory.log_interaction("bot", "user", f"question {n}", {"n": n})
    key = await memory.log_interaction("other", "agent", "an answer")
    history = await memory.get_recent_history("bot", limit=2)
    assert [(memo.title, memo.content, memo.metadata) for memo in history] == [
        ("user", "question 2", {"n": 2}),
        ("user", "question 1", {"n": 1}),
    ]
    assert [memo.key for memo in await memory.search_interactions("other", "answers")] == [key]
    assert await memory.search_interactions("bot", "answers") == []


async def test_skills_are_found_for_all_agents_and_for_one(client: PlatformClient) -> None:
    memory = client.memory
    await memory.store_skill("polite", "Say please.", when_to_use="writing to a customer")
    await memory.store_skill("legal", "Name the law.", when_to_use="writing to a customer", agent="lawyer")
    await memory.store_skill("house", "Be brief with a customer.", shared=True)
    assert {memo.key for memo in await memory.get_relevant_skills("a customer writes")} == {"polite", "house"}
    lawyer = await memory.get_relevant_skills("a customer writes", agent="lawyer")
    assert {memo.key for memo in lawyer} == {"polite", "legal", "house"}
    assert await memory.get_relevant_skills("tax return") == []
    assert await memory.delete_skill("legal") is False
    assert await memory.delete_skill("legal", agent="lawyer") is True


REFUSED: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "nothing": lambda memory: memory.store_knowledge(""),
    "too much": lambda memory: memory.store_knowledge("x" * 40_000),
    "no Unicode": lambda memory: memory.store_knowledge("\ud800"),
    "no JSON": lambda memory: memory.store_knowledge("x", metadata={"a": {1}}),
    "an empty key": lambda memory: memory.store_knowledge("x", key=""),
    "a time that is over": lambda memory: memory.store_knowledge("x", expires_in=0),
    "no limit": lambda memory: memory.search_knowledge("x", limit=0),
    "a great limit": lambda memory: memory.search_knowledge("x", limit=101),
    "letters for tags": lambda memory: memory.search_knowledge("x", tags="abc"),
    "no agent": lambda memory: memory.get_recent_history(""),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_an_invalid_call_of_memory_is_refused(client: PlatformClient, what: str) -> None:
    with pytest.raises(LocalProtocolError):
        await REFUSED[what](client.memory)
    assert await client.memory.search_knowledge() == []
