"""The same calls for programs without an event loop: each is that of `asynchronous`, over a line that blocks."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, Unpack

from soorma_ai.api.clients.address import address_of
from soorma_ai.api.clients.asynchronous import AsyncClient, ClientOptions, bounds_of
from soorma_ai.api.clients.blocks import Blocking, blocking, streaming
from soorma_ai.api.clients.plan import AsyncPlan
from soorma_ai.api.clients.transport import BlockingLine, run
from soorma_ai.api.clients.views import AsyncMemory, AsyncRegistry, AsyncTracker
from soorma_ai.features.human_tasks.client import Inbox

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")


def following(
    call: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, AsyncPlan]],
) -> Callable[Concatenate[Blocking[AsyncClient], P], "Plan"]:
    """Return a call that blocks, and gives a plan of which the same is true."""

    @wraps(call)
    def ask(self: Blocking[AsyncClient], *args: P.args, **named: P.kwargs) -> Plan:
        return Plan(run(call(self.calls, *args, **named)))

    return ask


class Plan(Blocking[AsyncPlan]):
    """A plan to follow. Its id is known from its goal's, before any planner took it."""

    @property
    def plan_id(self) -> str:
        return self.calls.plan_id

    @property
    def goal_id(self) -> str:
        return self.calls.goal_id

    status = blocking(AsyncPlan.status)
    cancel = blocking(AsyncPlan.cancel)
    result = blocking(AsyncPlan.result)
    events = streaming(AsyncPlan.events)
    next_wait = blocking(AsyncPlan.next_wait)
    untaken = blocking(AsyncPlan.untaken)
    describe = blocking(AsyncPlan.describe)


class Memory(Blocking[AsyncMemory]):
    """The working memory of plans; every call raises NotFound for a plan that is not there for who calls."""

    retrieve = blocking(AsyncMemory.retrieve)
    keys = blocking(AsyncMemory.keys)
    store = blocking(AsyncMemory.store)
    delete = blocking(AsyncMemory.delete)
    cleanup = blocking(AsyncMemory.cleanup)
    everything = blocking(AsyncMemory.everything)
    get_plan_context = blocking(AsyncMemory.get_plan_context)
    get_plan_by_correlation = blocking(AsyncMemory.get_plan_by_correlation)
    store_plan_context = blocking(AsyncMemory.store_plan_context)
    get_task_context = blocking(AsyncMemory.get_task_context)
    get_task_by_subtask = blocking(AsyncMemory.get_task_by_subtask)
    store_knowledge = blocking(AsyncMemory.store_knowledge)
    get_knowledge = blocking(AsyncMemory.get_knowledge)
    search_knowledge = blocking(AsyncMemory.search_knowledge)
    delete_knowledge = blocking(AsyncMemory.delete_knowledge)
    log_interaction = blocking(AsyncMemory.log_interaction)
    get_recent_history = blocking(AsyncMemory.get_recent_history)
    search_interactions = blocking(AsyncMemory.search_interactions)
    store_skill = blocking(AsyncMemory.store_skill)
    get_relevant_skills = blocking(AsyncMemory.get_relevant_skills)
    delete_skill = blocking(AsyncMemory.delete_skill)


class Registry(Blocking[AsyncRegistry]):
    """Agents and their events."""

    find = blocking(AsyncRegistry.find)
    discover = blocking(AsyncRegistry.discover)
    query = blocking(AsyncRegistry.query)
    events = blocking(AsyncRegistry.events)
    get_event = blocking(AsyncRegistry.get_event)
    get_event_schema = blocking(AsyncRegistry.get_event_schema)
    backlogs = blocking(AsyncRegistry.backlogs)
    deregister = blocking(AsyncRegistry.deregister)


class Tracker(Blocking[AsyncTracker]):
    """The progress of plans. Every call raises NotFound for what is not there for who calls."""

    plan_progress = blocking(AsyncTracker.plan_progress)
    actions = blocking(AsyncTracker.actions)
    timeline = blocking(AsyncTracker.timeline)
    plans = blocking(AsyncTracker.plans)
    plan_tree = blocking(AsyncTracker.plan_tree)
    session_plans = blocking(AsyncTracker.session_plans)
    delegation_group = blocking(AsyncTracker.delegation_group)
    untaken = blocking(AsyncTracker.untaken)


class Client(Blocking[AsyncClient]):
    """A platform that is served at a URL, as the holder of a token, for programs without an event loop.

    Only what is safe is sent again when an answer is lost; see `AsyncClient`. Close it by `with`, or `close`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """`transport` is another way than TCP, such as `httpx.HTTPTransport(uds=...)`. Raise ConfigError."""
        address = address_of(url, token)
        super().__init__(AsyncClient.over(BlockingLine(address, transport), address.url, bounds_of(options)))

    def __repr__(self) -> str:
        return repr(self.calls).removeprefix("Async")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    close = blocking(AsyncClient.aclose)
    submit = following(AsyncClient.submit)
    request = blocking(AsyncClient.request)
    ask = blocking(AsyncClient.ask)
    reply = blocking(AsyncClient.reply)
    publish = blocking(AsyncClient.publish)
    waits = blocking(AsyncClient.waits)
    wait = blocking(AsyncClient.wait)
    answer = blocking(AsyncClient.answer)
    cancel = blocking(AsyncClient.cancel)
    resume = blocking(AsyncClient.resume)
    resume_all = blocking(AsyncClient.resume_all)
    plans = blocking(AsyncClient.plans)
    plan = blocking(AsyncClient.plan)
    prompt = blocking(AsyncClient.prompt)
    trace = blocking(AsyncClient.trace)
    follow = following(AsyncClient.follow)
    events = blocking(AsyncClient.events)
    events_stream = streaming(AsyncClient.events_stream)
    sessions = blocking(AsyncClient.sessions)
    create_session = blocking(AsyncClient.create_session)
    dead_letters = blocking(AsyncClient.dead_letters)
    dead_letter = blocking(AsyncClient.dead_letter)
    redrive = blocking(AsyncClient.redrive)
    discard = blocking(AsyncClient.discard)

    @property
    def memory(self) -> Memory:
        """Return the calls that read and write the working memory of plans."""
        return Memory(self.calls.memory)

    @property
    def registry(self) -> Registry:
        """Return the calls that find agents and events."""
        return Registry(self.calls.registry)

    @property
    def inbox(self) -> Inbox:
        """Return the calls that do something about questions, beside answering them."""
        return Inbox(self.calls.inbox)

    @property
    def tracker(self) -> Tracker:
        """Return the calls that tell how far plans are."""
        return Tracker(self.calls.tracker)
