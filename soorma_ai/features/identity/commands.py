"""`soorma keys`: API keys of programs and people."""

from datetime import datetime, timedelta

import click
from msgspec.structs import asdict

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens.api_keys import new_key
from soorma_ai.features.identity.keys import key_ring_of
from soorma_ai.kernel.domain.identity import AgentRights, ApiKey
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.surfaces.ids import only_one
from soorma_ai.surfaces.options import Access, Age, Id, as_json, must_mean_a_store, with_access
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, GOOD, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import ago

MOST_KEYS = 1_000_000
_TITLES = ("KEY", "USER", "ROLES", "AGENT", "MADE", "STATUS")
_VALID, _REVOKED, _EXPIRED = "valid", "revoked", "expired"


@click.group()
def keys() -> None:
    """Make, list and revoke API keys."""


@keys.command()
@click.option("--user", "user_id", required=True, metavar="NAME", help="The user of the key.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role of the user; repeatable.")
@click.option(
    "--expires", type=Age(), metavar="AGE", help="Validity, such as 36h, 90d or 8w; by default until it is revoked."
)
@click.option("--agent", metavar="NAME", help="The agent of this key.")
@click.option("--takes", multiple=True, metavar="EVENT", help="An event the agent may take; repeatable.")
@click.option("--makes", multiple=True, metavar="EVENT", help="An event the agent may make; repeatable.")
@as_json
@with_access
def create(
    access: Access,
    *,
    user_id: str,
    roles: tuple[str, ...],
    expires: timedelta | None,
    agent: str | None,
    takes: tuple[str, ...],
    makes: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a key for a user of the tenant, and print its token, once: the store keeps its hash only."""
    must_mean_a_store()
    if agent is None and (takes or makes):
        raise click.UsageError("--takes and --makes are the rights of an agent: name it with --agent")
    if not user_id or not access.tenant_id or agent == "" or "" in (*roles, *takes, *makes):
        raise click.UsageError("a name has at least one character")
    now = SystemClock().now()
    rights = AgentRights(agent, frozenset(takes), frozenset(makes)) if agent is not None else None
    until = now + expires if expires is not None else None
    key, token = new_key(access.tenant_id, user_id, now, roles=roles, agent=rights, expires_at=until)
    open_store(access).keep(lambda client: client.keys.add(key))
    if as_json:
        print_json({"key_id": key.key_id, "token": token, "expires_at": key.expires_at})
    else:
        Printer().line(token)
        Printer(stderr=True).line(f"key {key.key_id} of {one_line(user_id)}; it is shown only once")


@keys.command()
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_access
def ls(access: Access, limit: int, as_json: bool) -> None:
    """List keys, the newest first, with revoked and expired ones."""
    must_mean_a_store()
    found, now = (
        open_store(access).look_into_store(lambda client: key_ring_of(client).ls(limit=limit)),
        SystemClock().now(),
    )
    if as_json:
        print_json([_describe(key) for key in found])
    else:
        print_list(found, "no keys", lambda key: _row(key, now), (_TITLES, lambda key: _cells(key, now)), as_json=False)


@keys.command()
@click.argument("key", type=Id())
@as_json
@with_access
def revoke(access: Access, key: str, as_json: bool) -> None:
    """End a key, given by its id or the beginning of it, for good."""
    must_mean_a_store()
    key_id = open_store(access).look_into_store(lambda client: _find(client, key))
    is_revoked = open_store(access).keep(lambda client: client.keys.revoke(key_id))
    if as_json:
        print_json({"key_id": key_id, "revoked": is_revoked})
    else:
        Printer().line("revoked" if is_revoked else "it was revoked already:", f" key {key_id}")
    if not is_revoked:
        raise click.exceptions.Exit(1)


async def _find(client: Client, beginning: str) -> str:
    known = [key.key_id for key in await key_ring_of(client).ls(limit=MOST_KEYS)]
    return only_one("key", f" of tenant {client.person.tenant_id!r}", beginning, known)


def _status(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return _REVOKED
    return _EXPIRED if key.expires_at is not None and now >= key.expires_at else _VALID


def _describe(key: ApiKey) -> dict[str, object]:
    return {name: value for name, value in asdict(key).items() if name != "secret_hash"}


def _row(key: ApiKey, now: datetime) -> tuple[str, ...]:
    names = (key.user_id, ",".join(sorted(key.roles)), key.agent.name if key.agent else "")
    return (key.key_id, *map(one_line, names), key.made_at.isoformat(), _status(key, now))


def _cells(key: ApiKey, now: datetime) -> tuple[Part, ...]:
    status = _status(key, now)
    return (
        key.key_id,
        clip(one_line(key.user_id), 24),
        clip(one_line(", ".join(sorted(key.roles))), 40),
        clip(one_line(key.agent.name if key.agent else ""), 24),
        ago(key.made_at, now),
        (status, GOOD if status == _VALID else BAD),
    )
