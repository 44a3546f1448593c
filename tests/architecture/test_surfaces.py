"""Each call, route and limit is on every surface: Protocol, clients and pages."""

import re
from inspect import getattr_static, getdoc, iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

from soorma_ai import Limits
from soorma_ai.api.clients import blocking as blocking_plan
from soorma_ai.api.clients import blocking_calls, calls, plan, views
from soorma_ai.api.clients import protocol as plan_protocol
from soorma_ai.clients import asynchronous, blocking
from soorma_ai.clients import protocol as platform_client
from soorma_ai.context_parts import tracker
from soorma_ai.features.human_tasks import calls as inbox_calls
from soorma_ai.features.human_tasks import client
from soorma_ai.features.human_tasks.service import Inbox
from soorma_ai.features.tracking import blocking as tracking_blocking
from soorma_ai.features.tracking import rows as tracking_rows
from soorma_ai.features.tracking.tracker import Tracker
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle
from soorma_ai.kernel.runtime.views.registry import Directory
from soorma_ai.local_client import LocalClient, Memory
from soorma_ai.operations import OPERATIONS

DOCS = Path(__file__).parents[2] / "docs"

# Part: its Protocol, in-process class, async client, blocking client.
PARTS: dict[str, tuple[type, type, type, type]] = {
    "client": (platform_client.PlatformClient, LocalClient, asynchronous.AsyncClient, blocking.Client),
    "plan": (plan_protocol.PlanCalls, PlanHandle, plan.AsyncPlan, blocking_plan.BlockingPlan),
    "memory": (platform_client.MemoryCalls, Memory, asynchronous.AsyncMemory, blocking.Memory),
    "registry": (calls.RegistryCalls, Directory, views.AsyncRegistry, blocking_calls.BlockingRegistry),
    "inbox": (inbox_calls.InboxCalls, Inbox, client.AsyncInbox, client.BlockingInbox),
    "tracker": (tracker.TrackerCalls, Tracker, tracking_rows.AsyncTracker, tracking_blocking.BlockingTracker),
}

# In-process calls without a counterpart over HTTP, with the reason.
IN_PROCESS = {
    "client.as_caller": "the identity of a remote client is its token",
    "client.as_user": "the identity of a remote client is its token",
    "client.event_id": "derives ids for the routes",
    "client.services": "the parts of the platform itself",
    "client.audit": "served at the control socket only",
    "client.check_upgrade": "the new code and its prompts are on this machine",
    "client.forget": "served at the control socket only",
    "client.keys": "served at the control socket only",
    "client.prune": "served at the control socket only",
    "client.trial_ledger": "served at the control socket only",
    "memory.append": "changes a value in its place, without a key to send it again by",
    "memory.increment": "changes a value in its place, without a key to send it again by",
    "registry.live_events": "a page of the console is made of it",
    "inbox.check_link": "the server checks the links that it receives",
    "inbox.look": "the console records a view",
    "inbox.stands_in_for": "a page of the console is made of it",
}


def calls_of(part: type) -> set[str]:
    """Return the public methods and properties of a class."""
    return {name for name in dir(part) if name[0] != "_" and is_call(getattr_static(part, name))}


def is_call(value: object) -> bool:
    return callable(value) or isinstance(value, property)


def faults_of(name: str, protocol: type, local: type, *remote: type) -> list[str]:
    """Compare the in-process calls of a part with its other surfaces."""
    listed = {call.partition(".")[2] for call in IN_PROCESS if call.startswith(f"{name}.")}
    shown = calls_of(protocol)
    faults = [f"{name}.{call} is not in {protocol.__name__}" for call in calls_of(local) - shown - listed]
    for surface in (local, *remote):
        place = f"{surface.__module__}.{surface.__name__}"
        # Ids of a plan are attributes of its in-process and async handles.
        known = calls_of(surface) | set(getattr(surface, "__annotations__", {})) | instance_names(surface)
        faults += [f"{name}.{call} is not in {place}" for call in shown - known]
        faults += [
            f"{name}.{call} takes other parameters in {place}"
            for call in shown & calls_of(surface)
            if parameters(protocol, call) != parameters(surface, call)
        ]
    return sorted(faults)


def differences(waiting: type, blocking: type) -> list[str]:
    """Compare the signatures and docstrings of an async client with those of its blocking twin."""
    shared = calls_of(waiting) & calls_of(blocking)
    members = {call: (getattr_static(waiting, call), getattr_static(blocking, call)) for call in shared}
    return sorted(
        call
        for call, (one, other) in members.items()
        if not isinstance(one, property)
        and (signature(one) != signature(other) or getdoc(one) != getdoc(other) or iscoroutinefunction(other))
    )


def instance_names(surface: type) -> set[str]:
    source = surface.__init__.__code__.co_names if hasattr(surface.__init__, "__code__") else ()
    return set(source)


def parameters(part: type, call: str) -> list[str] | None:
    value: Any = getattr_static(part, call)
    return None if isinstance(value, property) else list(signature(value).parameters)


def missing_routes(page: str) -> list[str]:
    places = [f"{operation.method} {operation.template.removeprefix('/v1')}" for operation in OPERATIONS]
    return [place for place in places if f"`{place}`" not in page]


def missing_limits(page: str) -> list[str]:
    return [name for name in Limits.__struct_fields__ if not re.search(rf"`{name}[`=]|\b{name}=", page)]


@pytest.mark.parametrize("name", PARTS)
def test_every_call_of_the_platform_is_in_the_protocol_and_in_both_clients(name: str) -> None:
    assert faults_of(name, *PARTS[name]) == []


@pytest.mark.parametrize("name", PARTS)
def test_both_clients_have_the_same_signatures_and_docstrings(name: str) -> None:
    _, _, waiting, blocks = PARTS[name]
    assert len(calls_of(waiting) & calls_of(blocks)) >= 4
    assert differences(waiting, blocks) == []


def test_every_exception_names_a_call() -> None:
    known = {f"{name}.{call}" for name, parts in PARTS.items() for call in calls_of(parts[1])}
    assert sorted(set(IN_PROCESS) - known) == []


@pytest.mark.parametrize("surface", range(1, 4))
def test_a_call_removed_from_one_surface_is_named(surface: int) -> None:
    parts = list(PARTS["inbox"])
    kept = {call: getattr_static(parts[surface], call) for call in calls_of(parts[surface]) - {"claim"}}
    parts[surface] = type(parts[surface].__name__, (), kept)
    faults = faults_of("inbox", *parts)
    assert len(faults) == 1
    assert faults[0].startswith("inbox.claim is not in ")


def test_a_parameter_missing_in_one_client_is_named() -> None:
    class Short(client.AsyncInbox):
        async def claim(self, wait_id: str) -> Any: ...  # type: ignore[override]

    protocol, local, _, blocked = PARTS["inbox"]
    faults = faults_of("inbox", protocol, local, Short, blocked)
    assert [fault.partition(" in ")[0] for fault in faults] == ["inbox.claim takes other parameters"]


def test_every_route_is_on_its_page() -> None:
    assert missing_routes((DOCS / "http.md").read_text()) == []


def test_a_route_removed_from_its_page_is_named() -> None:
    page = (DOCS / "http.md").read_text().replace("`POST /waits/{wait_id}/claim`", "")
    assert missing_routes(page) == ["POST /waits/{wait_id}/claim"]


def test_every_limit_is_on_its_page() -> None:
    assert missing_limits((DOCS / "planners.md").read_text()) == []


def test_a_limit_removed_from_its_page_is_named() -> None:
    page = (DOCS / "planners.md").read_text().replace("max_repeats", "")
    assert missing_limits(page) == ["max_repeats"]
