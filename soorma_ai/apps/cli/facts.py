"""Facts for `soorma doctor`, looked up without disturbing a running application."""

import asyncio
import os
import platform
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.single_writer.lock import OwnerInfo, owner_of
from soorma_ai.adapters.sqlite.file.files import schema_of
from soorma_ai.api.server.tenant_stats import TENANT_STATS
from soorma_ai.apps.cli.diagnosis import (
    CHANGED_DAYS,
    Broker,
    DiagnosisFacts,
    Life,
    Origin,
    ServerState,
    Setting,
    StoreFile,
)
from soorma_ai.apps.cli.store_access import PAUSE_SECONDS, read_only_client, server_client
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import ConfigError, Forbidden, SoormaError
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.kernel.domain.limits import MAX_BACKLOG
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import AuditRow
from soorma_ai.kernel.rules.arrival.contracts import REGISTERED
from soorma_ai.kernel.rules.schemas.combine import object_in
from soorma_ai.kernel.runtime.client.intake import count_waiting
from soorma_ai.kernel.runtime.handling.process.model_forms import read_forms
from soorma_ai.kernel.sql.schema import VERSION
from soorma_ai.settings import (
    BACKLOG,
    BUS_URL,
    DEFAULT_BUS_URL,
    PROMPTS_DIR,
    SERVER_URL,
    STORE_URL,
    TOKEN,
    hide_password,
    is_postgres,
    nats_url,
    read_settings,
    sqlite_path,
)
from soorma_ai.surfaces.options import Access
from soorma_ai.surfaces.options import ServerOption as Asked

MOST = 100
OWNER_SECONDS = 3.0
OWNER_TRIES = 20
SERVER_SECONDS = 5.0
_KEY_ENDING = "_API_KEY"
# The extras, and the distribution by which one tells that it is installed.
_LIBRARIES = {
    "llm": "litellm",
    "direct": "tenacity",
    "server": "PyJWT",
    "a2a": "a2a-sdk",
    "cassettes": "vcrpy",
    "postgres": "psycopg",
    "nats": "nats-py",
}


async def inspect(access: Access, origins: Mapping[str, Origin]) -> DiagnosisFacts:
    """Return the facts for the diagnosis. `origins` are those of the store, the server and its token."""
    clock = SystemClock()
    server = store = life = broker = None
    if access.server is not None:
        server, life = await _server(access.server, clock.now())
    else:
        store, life = await _store(access)
        broker = await _broker(os.environ.get(BUS_URL) or DEFAULT_BUS_URL)
    now = clock.now()
    return DiagnosisFacts(
        now=now,
        zone=f"{now.astimezone():%Z}",
        versions=(
            ("soorma-ai", version("soorma-ai")),
            ("Python", platform.python_version()),
            ("SQLite", sqlite3.sqlite_version),
        ),
        settings=_settings(access, origins),
        keys=sorted(name for name, value in os.environ.items() if name.endswith(_KEY_ENDING) and value),
        libraries=[(extra, _version_of(name)) for extra, name in _LIBRARIES.items()],
        schema=VERSION,
        most_backlog=_max_backlog(),
        store=store,
        server=server,
        life=life,
        broker=broker,
    )


async def _broker(url: str) -> Broker | None:
    """Return how the broker stands, if the bus is one."""
    try:
        named = nats_url(url)
        if named is None:
            return None
        from soorma_ai.adapters.nats.probe import look_at

        found = await look_at(named.servers, named.namespace, hide_password(url))
    except ModuleNotFoundError:
        return Broker(fault="a bus on NATS needs its client: pip install 'soorma-ai[nats]'")
    except ConfigError as error:
        # What is wrong with the URL is said of the setting.
        return Broker(fault=str(error)) if not _bus_fault(url) else None
    except SoormaError as error:
        return Broker(fault=str(error))
    return Broker(f"nats-server {found.server}", found.waiting)


def _bus_fault(url: str | None) -> str:
    try:
        nats_url(url or DEFAULT_BUS_URL)
    except ConfigError as error:
        return str(error)
    return ""


def _settings(access: Access, origins: Mapping[str, Origin]) -> Sequence[Setting]:
    found = [Setting(STORE_URL, hide_password(access.store_url), origins["store"])]
    if access.server is not None:
        found = [Setting(SERVER_URL, hide_password(access.server.url), origins["url"])]
        found.append(Setting(TOKEN, "set" if access.server.token else "not set", origins["token"]))
    bus = os.environ.get(BUS_URL)
    found.append(Setting(BUS_URL, hide_password(bus or DEFAULT_BUS_URL), _origin(bus), _bus_fault(bus)))
    backlog = os.environ.get(BACKLOG)
    wrong_backlog = "" if _can_read() else "give a number from 1"
    found.append(Setting(BACKLOG, backlog or str(_max_backlog()), _origin(backlog), wrong_backlog))
    prompts = os.environ.get(PROMPTS_DIR)
    missing = [place for place in (prompts or "").split(os.pathsep) if place and not Path(place).is_dir()]
    wrong_prompts = f"no folder at {', '.join(missing)}: make it, or correct {PROMPTS_DIR}" if missing else ""
    found.append(Setting(PROMPTS_DIR, prompts or "the package's own", _origin(prompts), wrong_prompts))
    return found


def _origin(given: str | None) -> Origin:
    return Origin.ENVIRONMENT if given else Origin.DEFAULT


def _can_read() -> bool:
    try:
        read_settings()
    except SoormaError:
        return False
    return True


def _max_backlog() -> int:
    return read_settings().max_backlog if _can_read() else MAX_BACKLOG


def _version_of(distribution: str) -> str:
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return ""


async def _store(access: Access) -> tuple[StoreFile, Life | None]:
    place = hide_password(access.store_url)
    try:
        if is_postgres(access.store_url):
            return await _database(access, place)
        path = sqlite_path(access.store_url)
        if path is None:
            return StoreFile(place, False, fault=f"{place} is in memory: another process sees nothing of it"), None
        place = str(path)
        if not path.is_file():
            return StoreFile(place, False), None
        owner, schema = owner_of(path), schema_of(path)
        size = sum(one.stat().st_size for one in (path, path.with_name(f"{path.name}-wal")) if one.is_file())
        answers = owner is not None and await _answers(owner)
        mode = stat.S_IMODE(path.stat().st_mode)
        file = StoreFile(place, True, size, schema, owner=_describe_owner(owner), answers=answers, mode=mode)
        return file, await _life_of_store(access) if schema == VERSION else None
    except SoormaError as error:
        return StoreFile(place, True, fault=str(error)), None


async def _database(access: Access, place: str) -> tuple[StoreFile, Life | None]:
    """Look at a database, and into one of this version; any other gets its fault."""
    try:
        from soorma_ai.features.upkeep.postgres import look_at

        found = await asyncio.to_thread(look_at, access.store_url)
        ahead = found.at - SystemClock().now()
        file = StoreFile(
            place,
            True,
            None,
            found.schema,
            server=f"PostgreSQL {found.server}",
            ahead=ahead,
            unguarded=found.unguarded,
            holding=tuple((str(one), f"end it: SELECT pg_terminate_backend({one.pid})") for one in found.holding),
        )
        return file, None if 0 < found.schema < VERSION else await _life_of_store(access)
    except ImportError:
        fault = "a store on PostgreSQL needs psycopg: pip install 'soorma-ai[postgres]'"
    except SoormaError as error:
        fault = str(error)
    return StoreFile(place, True, None, fault=fault), None


def _describe_owner(owner: OwnerInfo | None) -> str | None:
    return None if owner is None else f"process {owner.pid or '?'} ({owner.purpose})"


async def _answers(owner: OwnerInfo) -> bool:
    """Return whether the owner takes calls; a new owner gets some time."""
    from soorma_ai.clients.owner import OwnerClient

    for _ in range(OWNER_TRIES):
        with suppress(SoormaError):
            async with OwnerClient(owner.socket, Person(), timeout=OWNER_SECONDS) as client:
                await client.waits(limit=1)
                return True
        await asyncio.sleep(PAUSE_SECONDS)
    return False


async def _life_of_store(access: Access) -> Life:
    async with read_only_client(access) as client:
        store, now = client.services.store, client.services.clock.now()
        newest = await store.events.events(limit=1, newest=True)
        standing = await store.part(TENANT_STATS).tenant_stats(access.tenant_id, now, MOST)
        agents = [(plain_name(one.agent), one.live) for one in await store.registry.agents(now)]
        held = await store.plans.blocked_plans(MOST, tenant_id=access.tenant_id)
        return Life(
            alive=[name for name, is_live in agents if is_live],
            gone=[name for name, is_live in agents if not is_live],
            questions=len(await client.waits(limit=MOST)),
            dead_letters=len(await store.part(LETTERS).dead_letters(access.tenant_id, MOST)),
            untaken=len(await client.tracker.untaken(limit=MOST)),
            most=MOST,
            backlog=await count_waiting(store.queue, read_settings().max_backlog if _can_read() else MOST),
            newest=newest[0].event.time if newest else None,
            unsent=standing.unsent,
            unsent_since=standing.unsent_since,
            blocked=len(held),
            blocked_by=_reason_of(held),
            refused_forms=_refused(await read_forms(store, now)),
            changed=_changed(await client.audit(limit=MOST), now),
        )


def _changed(rows: Sequence[AuditRow], now: datetime) -> list[tuple[str, str]]:
    """Return lately changed events, each with the kind of its last change."""
    since = now - timedelta(days=CHANGED_DAYS)
    entries = [row.entry for row in reversed(rows) if row.entry.call == REGISTERED and row.entry.at >= since]
    return [*{entry.what.partition(" ")[0]: entry.outcome for entry in entries}.items()]


def _refused(forms: Mapping[str, JsonObject]) -> list[tuple[str, str, str]]:
    each = ((model, object_in(known.get("refused"))) for model, known in sorted(forms.items()))
    return [(model, form, str(reason)) for model, refused in each for form, reason in refused.items()]


async def _server(asked: Asked, now: datetime) -> tuple[ServerState, Life | None]:
    try:
        ahead = await _ahead(asked, now)
        async with server_client(asked) as client:
            return ServerState(asked.url, ahead=ahead), await _life_of_server(client)
    except SoormaError as error:
        return ServerState(asked.url, fault=str(error)), None


async def _ahead(asked: Asked, now: datetime) -> timedelta:
    """Return how far the clock of a server is before ours, by the date of its answer."""
    from soorma_ai.api.clients.address import address_of
    from soorma_ai.api.clients.messages import HttpRequest
    from soorma_ai.api.clients.transport import AsyncTransport

    line = AsyncTransport(address_of(asked.url, None), None)
    try:
        async with line.open(HttpRequest("GET", "/readyz"), SERVER_SECONDS) as answer:
            return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC) - now
    except (KeyError, ValueError):  # says no date
        return timedelta()
    finally:
        await line.close()


async def _life_of_server(client: PlatformClient) -> Life:
    agents = [(one.name, one.live) for one in await client.registry.query(live=False)]
    held = [plan for plan in await client.plans(status=PlanStatus.PAUSED, limit=MOST) if plan.blocked]
    return Life(
        alive=[name for name, is_live in agents if is_live],
        gone=[name for name, is_live in agents if not is_live],
        questions=len(await client.waits(limit=MOST)),
        dead_letters=await _count_dead_letters(client),
        untaken=len(await client.tracker.untaken(limit=MOST)),
        most=MOST,
        blocked=len(held),
        blocked_by=_reason_of(held),
    )


def _reason_of(held: Sequence[PlanRecord]) -> str:
    return next((plan.blocked.reason for plan in held if plan.blocked), "")


async def _count_dead_letters(client: PlatformClient) -> int:
    try:
        return len(await client.dead_letters(limit=MOST))
    except Forbidden:  # a user sees none
        return 0
