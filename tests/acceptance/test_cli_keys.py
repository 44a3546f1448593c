"""`soorma keys` for people and scripts."""

import asyncio
from pathlib import Path

import pytest
from cli_kit import Shop
from places import bytes_of

from soorma_ai import Platform
from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import AgentRights, Caller
from soorma_ai.kernel.domain.people import Person

DONE, ERROR, USAGE = 0, 1, 2


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    async def make() -> None:
        async with Platform(f"sqlite:///{tmp_path / 'shop.db'}"):
            pass

    asyncio.run(make())
    return Shop(tmp_path / "shop.db")


def caller_of(shop: Shop, token: str) -> Caller:
    async def ask() -> Caller:
        async with Platform(f"sqlite:///{shop.store}") as platform:
            return await ApiKeys(platform).authenticate(token)

    return asyncio.run(ask())


def test_a_key_is_shown_once_and_identifies_its_user_roles_and_rights(shop: Shop) -> None:
    agent = ("--agent", "stock", "--takes", "stock.reserve", "--makes", "stock.low")
    made = shop("keys", "create", "--tenant", "acme", "--user", "ann", "--role", "operator", "--expires", "90d", *agent)
    assert made.exit_code == DONE
    token, rights = made.stdout.strip(), AgentRights("stock", frozenset({"stock.reserve"}), frozenset({"stock.low"}))
    key_id = token.split("_")[1]
    assert caller_of(shop, token) == Caller(Person("acme", "ann", frozenset({"operator"})), rights, key_id)
    assert token.encode() not in bytes_of(shop.store)
    assert token.split("_", 2)[2].encode() not in bytes_of(shop.store)
    listed = shop("keys", "ls", "--tenant", "acme").stdout.splitlines()
    assert [line.split("\t")[:4] for line in listed] == [[key_id, "ann", "operator", "stock"]]
    assert listed[0].endswith("valid")
    assert shop("keys", "ls").stdout == ""


def test_a_key_is_revoked_by_a_prefix_of_its_id(shop: Shop) -> None:
    made = shop.json("keys", "create", "--user", "ann")
    key_id = made["key_id"]
    assert shop("keys", "revoke", key_id[:6], "--tenant", "other").exit_code == ERROR
    assert shop("keys", "revoke", key_id[:6]).stdout == f"revoked key {key_id}\n"
    again = shop("keys", "revoke", key_id)
    assert (again.exit_code, "revoked already" in again.stdout) == (ERROR, True)
    with pytest.raises(Unauthenticated, match="was revoked"):
        caller_of(shop, made["token"])
    (listed,) = shop.json("keys", "ls")
    assert listed["revoked_at"] is not None
    assert "secret_hash" not in listed


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("--user", ""),
        ("--user", "ann", "--takes", "x"),
        ("--user", "a", "--expires", "soon"),
        ("--user", "a", "--role", ""),
    ],
)
def test_a_key_without_a_user_or_agent_is_not_created(shop: Shop, wrong: tuple[str, ...]) -> None:
    assert shop("keys", "create", *wrong).exit_code == USAGE
    assert shop("keys", "ls").stdout == ""
