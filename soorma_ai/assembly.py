"""Composition root: the only module with all adapters, loaded by the first opened platform."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.adapters.clock import HostClock, SteadyClock, SystemClock
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.single_writer.control import ControlSocket, Converse
from soorma_ai.adapters.single_writer.lock import OwnerLock
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.embeddings.embedding import Embedding
from soorma_ai.errors import ConfigError, SoormaError
from soorma_ai.features.dead_letters.extension import EXTENSION as DEAD_LETTERS
from soorma_ai.features.event_subscriptions.extension import EXTENSION as EVENT_SUBSCRIPTIONS
from soorma_ai.features.federation.extension import EXTENSION as FEDERATION
from soorma_ai.features.federation.neighbourhood import Neighbourhood
from soorma_ai.features.human_tasks.extension import EXTENSION as HUMAN_TASKS
from soorma_ai.features.identity.extension import EXTENSION as IDENTITY
from soorma_ai.features.knowledge.extension import EXTENSION as KNOWLEDGE
from soorma_ai.features.plan_memory.extension import EXTENSION as PLAN_MEMORY
from soorma_ai.features.push.extension import EXTENSION as PUSH
from soorma_ai.features.remote.extension import EXTENSION as REMOTE
from soorma_ai.features.retrieval.extension import EXTENSION as RETRIEVAL
from soorma_ai.features.tracking.extension import EXTENSION as TRACKING
from soorma_ai.features.trials.extension import EXTENSION as TRIALS
from soorma_ai.features.upkeep.extension import EXTENSION as UPKEEP
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.domain.limits import STATEMENT_SECONDS, Limits
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import Frozen
from soorma_ai.kernel.extension import Extension, context_parts, feature_set
from soorma_ai.kernel.ports import Brought, Bus, Clock, Embedder, FormStore, ModelSettings, Reasoner, Store
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Observer, Services
from soorma_ai.kernel.runtime.handling.process.counters import Counters
from soorma_ai.kernel.runtime.handling.process.model_forms import StoredForms
from soorma_ai.kernel.runtime.handling.process.models import Models
from soorma_ai.kernel.runtime.handling.process.signals import Signals
from soorma_ai.kernel.runtime.loops.intake import TakeCopies, refuse_copies
from soorma_ai.kernel.runtime.loops.supervisor import Supervisor
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.settings import OTEL, Settings, hide_password, is_postgres, nats_url, sqlite_path

if TYPE_CHECKING:
    from soorma_ai.adapters.models.known_forms import FormMemory

Loop = Callable[[], Coroutine[None, None, None]]

# The features, all of which are on unless a program says otherwise.
EVERY = (
    DEAD_LETTERS,
    EVENT_SUBSCRIPTIONS,
    FEDERATION,
    IDENTITY,
    KNOWLEDGE,
    HUMAN_TASKS,
    PLAN_MEMORY,
    PUSH,
    REMOTE,
    RETRIEVAL,
    TRACKING,
    TRIALS,
    UPKEEP,
)
ALL_FEATURES = feature_set(EVERY)

# Between two looks at the clock of a database.
LOOK_SECONDS = 30.0


class Overrides(Struct, frozen=True):
    """Objects of the program, in place of the settings' choices."""

    store: Store | None = None
    bus: Bus | None = None
    clock: Clock | None = None
    embedder: Embedder | None = None
    limits: Limits = Limits()


async def assemble(
    opened: AsyncExitStack,
    settings: Settings,
    purpose: str,
    given: Overrides,
    extensions: Sequence[Extension] | None = None,
) -> tuple[Services, Supervisor]:
    """Open the parts of a platform, with these extensions or those of the settings. `opened` closes them, the last one
    first, even after an error of one. A store of the program's own has features of its own."""
    build_models()
    extensions = chosen_extensions(settings) if extensions is None else extensions
    signals, store = Signals(), given.store
    clock = SteadyClock(given.clock) if given.clock else await _open_clock(opened, settings.store_url, store)
    path = None if store or is_postgres(settings.store_url) else sqlite_path(settings.store_url)
    owner = opened.enter_context(OwnerLock.take(path, purpose=purpose)) if path else None
    store = store or _make_store(settings, extensions)
    opened.push_async_callback(store.close)
    services = _make_services(settings, given, extensions, store, clock, signals)
    opened.push_async_callback(services.long_calls.close)
    supervisor: Supervisor | None = None

    def arrived(arrival: Arrival) -> None:
        # While the bus is opened other processes write already; whoever is started looks for what is there.
        if supervisor is not None:
            supervisor.note_arrival(arrival)

    store.notify(signals.signal_commit, arrived)
    await store.open(clock.now())
    # The bus is that of the store, whose name only an open one knows.
    beside = _loops_of(extensions, services)
    others = Neighbourhood()
    bus = given.bus or await _open_bus(opened, settings, services, others, beside)
    supervisor = Supervisor(services, bus, _taker_of_copies(services, others))
    supervisor.beside |= beside
    opened.push_async_callback(supervisor.stop)
    if owner is not None:
        await _open_control(opened, owner, services)
    return services, supervisor


def _make_services(
    settings: Settings, given: Overrides, extensions: Sequence[Extension], store: Store, clock: Clock, signals: Signals
) -> Services:
    live = _live(extensions, store)
    return Services(
        store,
        clock,
        PromptFiles(*settings.prompts_dirs),
        signals,
        max_backlog=settings.max_backlog,
        limits=given.limits,
        models=Models(reasoners_of(StoredForms(store, clock))),
        choose_model=next((one.choose_model for one in live if one.choose_model), None),
        parts=context_parts(live),
        observers=observers_of(extensions, signals.tallies),
        embedding=Embedding(given.embedder) if given.embedder else None,
    )


async def _open_control(opened: AsyncExitStack, owner: OwnerLock, services: Services) -> None:
    """Serve the control socket; only the user of this process can open it."""
    control = ControlSocket(owner.info.socket, partial(_begin_to_converse, services))
    await control.start()
    opened.push_async_callback(control.close)


def _loops_of(extensions: Sequence[Extension], services: Services) -> dict[str, Loop]:
    """Return the loops of the active features, by their names."""
    return {
        name: partial(loop, services) for one in _live(extensions, services.store) for name, loop in one.loops.items()
    }


def observers_of(extensions: Sequence[Extension], counters: Counters) -> tuple[Observer, ...]:
    """Return the observers of these features."""
    return tuple(one.observe(counters) for one in extensions if one.observe)


def chosen_extensions(settings: Settings) -> tuple[Extension, ...]:
    """Return the features of a platform. OpenTelemetry is loaded only where the settings name it."""
    if not settings.otel:
        return EVERY
    try:
        from soorma_ai.features.otel.extension import extension
    except ModuleNotFoundError as error:
        raise ConfigError(f"{OTEL} is set, and {error.name} is missing: pip install 'soorma-ai[otel]'") from error
    return (*EVERY, extension(settings.otel))


def _live(extensions: Sequence[Extension], store: Store) -> list[Extension]:
    return [one for one in extensions if one.name in store.features]


def _make_store(settings: Settings, extensions: Sequence[Extension]) -> Store:
    features = feature_set(extensions)
    return make_store(settings.store_url, features, statement_timeout=settings.statement_timeout)


def make_store(
    url: str,
    features: FeatureSet = ALL_FEATURES,
    *,
    read_only: bool = False,
    statement_timeout: float = STATEMENT_SECONDS,
) -> Store:
    """Return the store of a URL, not open yet. Raise ConfigError for a store outside of this installation."""
    if not is_postgres(url):
        path = sqlite_path(url)
        return SqliteStore(path, features, read_only=read_only) if read_only else SqliteStore(path, features)
    try:
        from soorma_ai.adapters.postgres.store import PostgresStore
    except ImportError as error:
        raise _no_driver(error) from error
    return PostgresStore(url, features, read_only=read_only, statement_timeout=statement_timeout)


async def make_clock(store_url: str) -> Clock:
    """Return the clock of a store. All processes of one database share the clock of its server."""
    if not is_postgres(store_url):
        return SystemClock()
    clock = HostClock()
    await asyncio.to_thread(_look_at_clock, clock, store_url)
    return clock


async def _open_clock(opened: AsyncExitStack, store_url: str, given: Store | None) -> Clock:
    """Return the clock of a store, and compare it with the store's as long as the platform is open."""
    clock = SystemClock() if given else await make_clock(store_url)
    if isinstance(clock, HostClock):
        looking = asyncio.create_task(_keep_looking(clock, store_url))
        opened.push_async_callback(asyncio.wait, [looking])
        opened.callback(looking.cancel)
    return clock


async def _keep_looking(clock: HostClock, store_url: str) -> None:
    while True:
        await clock.sleep(LOOK_SECONDS)
        with suppress(SoormaError):  # a server that is away for a while; the clock goes on
            await asyncio.to_thread(_look_at_clock, clock, store_url)


def _look_at_clock(clock: HostClock, store_url: str) -> None:
    try:
        from soorma_ai.features.upkeep.postgres import time_at
    except ImportError as error:
        raise _no_driver(error) from error
    clock.keep_to(time_at(store_url))


def _no_driver(error: ImportError) -> ConfigError:
    return ConfigError(f"a store on PostgreSQL needs psycopg ({error}): pip install 'soorma-ai[postgres]'")


async def _open_bus(
    opened: AsyncExitStack, settings: Settings, services: Services, others: Neighbourhood, beside: dict[str, Loop]
) -> Bus:
    """Connect to the broker of the settings, if any, in the name of this store. With federation on, the loops `beside`
    agents work together with the other stores there."""
    url = nats_url(settings.bus_url)
    if url is None:
        return LocalBus()
    try:
        from soorma_ai.adapters.nats.bus import NatsBus
    except ModuleNotFoundError as error:
        raise ConfigError("a bus on NATS needs its client: pip install 'soorma-ai[nats]'") from error
    store_id = await services.store.name(services.clock.new_id())
    bus = NatsBus(url.servers, url.namespace, hide_password(settings.bus_url), store_id)
    await bus.open()
    opened.push_async_callback(bus.close)
    if FEDERATION.name in services.store.features:
        from soorma_ai.features.federation.loop import empty_mailboxes, keep_announcing, say_goodbye, send_receipts

        opened.push_async_callback(say_goodbye, services, bus)
        beside["announcing"] = partial(keep_announcing, services, others, bus)
        beside["mailboxes"] = partial(empty_mailboxes, services, others, bus)
        beside["receipts"] = partial(send_receipts, services, others, bus)
    return bus


def _taker_of_copies(services: Services, others: Neighbourhood) -> TakeCopies:
    """Return the receiver of events of other stores: without federation, it refuses them."""
    return partial(_take_copies, services, others) if FEDERATION.name in services.store.features else refuse_copies


async def _take_copies(services: Services, others: Neighbourhood, brought: Sequence[Brought]) -> None:
    # The rules for what arrives are the store's, and loaded with it.
    from soorma_ai.features.federation.exchange import take_copies

    await take_copies(services, others, brought)


async def _begin_to_converse(services: Services) -> Converse:
    """Load the modules of the control socket off the loop: this takes some tenths of a second."""

    def load() -> Converse:
        from soorma_ai.api.server.local import conversation
        from soorma_ai.operations import OWNER_OPERATIONS

        return conversation(Client(services, Person()), OWNER_OPERATIONS)

    return await asyncio.to_thread(load)


def build_models() -> None:
    """Build pydantic's lazy models while there is one thread: older versions of pydantic fail at a concurrent first
    use."""
    for model in (EventEnvelope, *Frozen.__subclasses__()):
        model.model_rebuild()


def reasoners_of(forms: FormStore | None) -> Callable[[ModelSettings], Reasoner]:
    """Return the function that makes reasoners. They share their knowledge of models' forms."""

    @cache
    def memory() -> "FormMemory":
        from soorma_ai.adapters.models.known_forms import FormMemory

        return FormMemory(forms)

    def make_reasoner(settings: ModelSettings) -> Reasoner:
        from soorma_ai.adapters.models import LiteLLMReasoner  # of no use to who brings a reasoner, or plans nothing

        return LiteLLMReasoner(
            settings.model,
            api_base=settings.api_base,
            api_key=settings.api_key,
            temperature=settings.temperature,
            memory=memory(),
            **settings.extra,
        )

    return make_reasoner
