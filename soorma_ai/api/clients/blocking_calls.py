"""Calls of the kernel that block. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.asynchronous import AsyncKernelClient
from soorma_ai.api.clients.blocking import following
from soorma_ai.api.clients.blocks import Blocking, blocking, streaming
from soorma_ai.api.clients.views import AsyncRegistry


class BlockingRegistry(Blocking[AsyncRegistry]):
    """Agents and their events."""

    find = blocking(AsyncRegistry.find)
    discover = blocking(AsyncRegistry.discover)
    query = blocking(AsyncRegistry.query)
    events = blocking(AsyncRegistry.events)
    get_event = blocking(AsyncRegistry.get_event)
    get_event_schema = blocking(AsyncRegistry.get_event_schema)
    backlogs = blocking(AsyncRegistry.backlogs)
    deregister = blocking(AsyncRegistry.deregister)


BlockingCallsKind = TypeVar("BlockingCallsKind", bound=AsyncKernelClient, covariant=True)


class BlockingCalls(Blocking[BlockingCallsKind]):
    """Calls of the kernel, as one person of one tenant."""

    submit = following(AsyncKernelClient.submit)
    cancel = blocking(AsyncKernelClient.cancel)
    resume = blocking(AsyncKernelClient.resume)
    resume_all = blocking(AsyncKernelClient.resume_all)
    plans = blocking(AsyncKernelClient.plans)
    plan = blocking(AsyncKernelClient.plan)
    follow = following(AsyncKernelClient.follow)
    request = blocking(AsyncKernelClient.request)
    ask = blocking(AsyncKernelClient.ask)
    reply = blocking(AsyncKernelClient.reply)
    publish = blocking(AsyncKernelClient.publish)
    events = blocking(AsyncKernelClient.events)
    find_events = blocking(AsyncKernelClient.find_events)
    waits = blocking(AsyncKernelClient.waits)
    wait = blocking(AsyncKernelClient.wait)
    find_waits = blocking(AsyncKernelClient.find_waits)
    whoami = blocking(AsyncKernelClient.whoami)
    answer = blocking(AsyncKernelClient.answer)
    events_stream = streaming(AsyncKernelClient.events_stream)

    @property
    def registry(self) -> BlockingRegistry:
        """Calls about agents and events."""
        return BlockingRegistry(self.calls.registry)
