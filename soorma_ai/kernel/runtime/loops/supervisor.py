"""Everything that runs in the background of a platform, started together and stopped gently."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Protocol

from soorma_ai.errors import ConfigError, TransientError
from soorma_ai.kernel.domain.expectations import SUSPECTS, Arrival
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.ports import Bus, Delivery
from soorma_ai.kernel.rules.plans.lifecycle import is_overdue
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.handler_task import GRACE_SECONDS, LEASE, ShieldedTask
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.loops.consume import Consumer, handle_suspects
from soorma_ai.kernel.runtime.loops.intake import TakeCopies, refuse_copies, take_in
from soorma_ai.kernel.runtime.loops.relay import offer_untaken, relay, tell
from soorma_ai.kernel.runtime.loops.timers import keep_alive, keep_leases, keep_sweeping, run_timers

DRAIN_SECONDS = 10.0
# Seconds for which the end of a process waits for its store, at each of two last steps.
STORE_SECONDS = 2.0
PAUSE_AFTER_FAULT = 1.0


class ConsumerAgent(Protocol):
    """An agent, as far as the supervisor needs it."""

    name: str
    max_in_flight: int
    handler_timeout: timedelta

    @property
    def agent_id(self) -> str: ...

    def routes(self) -> Sequence[Route]: ...

    def registration(self) -> Registration: ...

    async def started(self, services: Services) -> None: ...

    async def stopped(self) -> None: ...


class Supervisor:
    """`take_copies` takes events of other stores. `beside` are loops of others, by their names, that run for as long as
    agents do."""

    def __init__(self, services: Services, bus: Bus, take_copies: TakeCopies = refuse_copies) -> None:
        self._services = services
        self._bus = bus
        self._take_copies = take_copies
        self._agents: list[ConsumerAgent] = []
        self._consumers: dict[str, Consumer] = {}
        self._tasks: set[ShieldedTask[None]] = set()
        self._names: list[str] = []
        self._has_begun = False
        self.beside: dict[str, Callable[[], Coroutine[None, None, None]]] = {}

    async def start(self, agents: Sequence[ConsumerAgent]) -> None:
        """Start agents. Consumption begins after the registration and the start of all; if one fails, none has started.

        Raise ConfigError for two agents of one name, even during the other's start.
        """
        services = self._services
        async with AsyncExitStack() as undoing:
            for agent in agents:
                self._take_name(agent.agent_id)
                undoing.callback(self._names.remove, agent.agent_id)
            await services.store.registry.register([agent.registration() for agent in agents], services.clock.now())
            undoing.push_async_callback(services.store.registry.leave, [agent.agent_id for agent in agents])
            for agent in agents:
                await agent.started(services)
                undoing.push_async_callback(agent.stopped)
            undoing.pop_all()
        for agent in agents:
            self._agents.append(agent)
            services.presence.add(agent.agent_id)
        if not self._has_begun:
            self._has_begun = True
            await self._begin()
        for agent in agents:
            consumer = Consumer(agent.agent_id, agent.routes(), services, agent.max_in_flight, agent.handler_timeout)
            self._consumers[agent.agent_id] = consumer
            self._run(f"consume:{agent.agent_id}", consumer.run)
            self._run(f"limits:{agent.agent_id}", consumer.keep_limits)
        services.signals.outbox.set()
        services.signals.timers.set()
        services.signals.registered.set()
        self._run("hand over", lambda: offer_untaken(services))
        services.signals.agent(SUSPECTS).set()

    async def _begin(self) -> None:
        """Begin the loops for all agents."""
        services = self._services
        await self._bus.subscribe(lambda brought: take_in(services, brought, self._take_copies))
        if not self._bus.is_broker:
            services.store.deliver(_AgentHands(self._consumers), LEASE)
        self._run("relay", lambda: relay(services, self._bus))
        self._run("timers", lambda: run_timers(services))
        self._run("leases", lambda: keep_leases(services, self._in_hand, self._interrupt, self._end_vain))
        self._run("heartbeat", lambda: keep_alive(services))
        self._run("sweep", lambda: keep_sweeping(services))
        for name, work in self.beside.items():
            self._run(name, work)
        self._run("suspects", lambda: handle_suspects(services, self._consumers.__getitem__))

    async def stop(self) -> None:
        """Finish the deliveries in hand; slow ones are cancelled and delivered again later, and those without an end
        even then are left behind."""
        if self._consumers:
            draining = [asyncio.ensure_future(consumer.drain()) for consumer in self._consumers.values()]
            _, slow = await asyncio.wait(draining, timeout=DRAIN_SECONDS)
            for one in slow:
                one.cancel()
        hands = {task: hand for consumer in self._consumers.values() for task, hand in consumer.in_hand.items()}
        for task in self._tasks:
            task.stop()
        for hand in hands.values():
            hand.stop()
        if hands:
            await asyncio.wait(hands, timeout=GRACE_SECONDS)
        for task, hand in hands.items():
            if not task.done():
                hand.leave()
        await self._end([*self._tasks, *hands])
        async with AsyncExitStack() as stopping:
            stopping.push_async_callback(self._leave)
            for agent in reversed(self._agents):
                stopping.push_async_callback(_let_go, agent)

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Wait for cancelled tasks. A wait for a silent store is left behind: its deliveries are free at the end of
        their lease."""
        if not tasks:
            return
        _, stuck = await asyncio.wait(tasks, timeout=STORE_SECONDS)
        for task in stuck:
            task.cancel()
            warn("task_left_behind", task=task.get_name(), reason="the store does not answer")

    async def _leave(self) -> None:
        """Tell the store that these agents have ended, as far as it answers in time."""
        leaving = asyncio.ensure_future(self._services.store.registry.leave(self._services.presence.names))
        done, _ = await asyncio.wait([leaving], timeout=STORE_SECONDS)
        if not done:
            leaving.cancel()
            warn("leave_failed", reason="the store does not answer; who looks finds these agents silent")
            return
        leaving.result()

    def _take_name(self, name: str) -> None:
        if name in self._names:
            raise ConfigError(f"two agents are called {plain_name(name)}; deliveries are kept by name, so rename one")
        self._names.append(name)

    def _in_hand(self) -> list[Delivery]:
        hands = [hand for consumer in self._consumers.values() for hand in consumer.in_hand.values()]
        return [hand.delivery for hand in hands if not hand.has_ended]

    def _interrupt(self, deliveries: Sequence[Delivery]) -> None:
        for consumer in self._consumers.values():
            consumer.interrupt(lambda delivery: delivery in deliveries)

    def note_arrival(self, arrival: Arrival) -> None:
        """Wake the receivers of an arrival, and end handlings made obsolete by it."""
        tell(self._services.signals, arrival)
        for plan_id in arrival.stops:
            self._run(f"interrupt:{plan_id}", partial(self._interrupt_plan, plan_id))

    async def _end_vain(self) -> None:
        """Interrupt obsolete handlings without a signal here, as from another process. A delivery after that has seen
        the change, and goes on; so does the end of the plan itself."""
        if self._services.is_remote:  # the process of the store tells
            return
        # The rules for what arrives are the store's, and loaded with it.
        from soorma_ai.kernel.rules.arrival.arrival import plan_to_stop

        first = [one for one in self._in_hand() if one.fence == 1 and plan_to_stop(one.event) is None]
        for plan_id in {plan_id for one in first for plan_id in (one.owner, one.event.plan_id) if plan_id}:
            await self._interrupt_plan(plan_id, first)

    async def _interrupt_plan(self, plan_id: str, only: Sequence[Delivery] | None = None) -> None:
        """Interrupt the turn of a plan past its time, and all work for a cancelled one. The plan's row decides, and not
        the event."""
        store, now = self._services.store, self._services.clock.now()
        plan = await store.plans.plan(plan_id)
        reason = plan.cancel_requested if plan else await store.plans.cancellation(plan_id)
        is_cancelled = reason is not None
        if is_cancelled or (plan is not None and is_overdue(plan, now)):
            among = self._in_hand() if only is None else only
            self._interrupt(
                [one for one in among if one.owner == plan_id or (is_cancelled and one.event.plan_id == plan_id)]
            )

    def _run(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        task = ShieldedTask(self._keep_running(name, work), name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep_running(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run a loop again after the absence of its needs, and after a fault; this is a bug, and is reported."""
        while True:
            try:
                await work()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # A handler has cancelled what this was waiting for.
                warn("loop_cancelled", loop=name)
            except TransientError as error:
                warn("loop_failed", loop=name, reason=error)
                await self._services.clock.sleep(PAUSE_AFTER_FAULT)
            except Exception as error:
                warn("loop_broke", bug=error, loop=name)
                await self._services.clock.sleep(PAUSE_AFTER_FAULT)
            else:
                return


class _AgentHands:
    """Hands of the agents of this process, as a store sees them."""

    def __init__(self, consumers: Mapping[str, Consumer]) -> None:
        self._consumers = consumers

    def take(self, agent: str, *, freed: bool = False) -> bool:
        consumer = self._consumers.get(agent)
        return consumer is not None and consumer.reserve(freed=freed)

    def give_back(self, agent: str) -> None:
        self._consumers[agent].give_back()

    def start(self, delivery: Delivery) -> None:
        self._consumers[delivery.agent].take_over(delivery)

    def note_queued(self, agent: str) -> None:
        if consumer := self._consumers.get(agent):
            consumer.note_queued()

    def note_claim(self, agent: str, found: int) -> None:
        if consumer := self._consumers.get(agent):
            consumer.note_claim(found)


async def _let_go(agent: ConsumerAgent) -> None:
    """Tell an agent that it has ended. A hook of its own that does not end is left behind."""
    stopping = asyncio.ensure_future(agent.stopped())
    done, _ = await asyncio.wait([stopping], timeout=DRAIN_SECONDS)
    if not done:
        stopping.cancel()
        warn("hook_left_behind", agent=agent.name, reason="its on_shutdown did not end")
        return
    stopping.result()
