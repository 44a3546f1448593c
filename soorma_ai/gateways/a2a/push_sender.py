"""Sender of push notifications: follows the tasks of its pushes, and posts each state, in order."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import httpx
from a2a.types import Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict
from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, NotFound, TransientError
from soorma_ai.features.push.ports import PUSHES, Pushes
from soorma_ai.features.push.records import PushMessage, TaskPush
from soorma_ai.features.push.rules import is_done, next_message, note_failure, note_receipt, note_state
from soorma_ai.gateways.a2a.looking import find
from soorma_ai.gateways.a2a.tasks import PlanTaskState, mark_of, task_of, updates_of
from soorma_ai.gateways.webhooks.addresses import open_client
from soorma_ai.gateways.webhooks.outgoing import PAUSES, TIMEOUT, post_to
from soorma_ai.gateways.webhooks.signatures import StandardWebhooks
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import compact, json_object
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import questions_of, until

TOKEN_HEADER = "x-a2a-notification-token"
LOOK_SECONDS = 5.0
LEASE = timedelta(seconds=60)
MOST_AT_ONCE = 1_000


class PushOptions(Struct, frozen=True):
    """Signing secrets of a sender, and its reach."""

    secret: str | tuple[str, ...] | None
    allow_private: bool


class PushSender:
    """Sender of one gateway: one follower for each of its pushes, in the process with the claim."""

    def __init__(self, gateway: str, options: PushOptions) -> None:
        self._gateway = gateway
        self._signatures = StandardWebhooks(options.secret) if options.secret is not None else None
        self._allow_private = options.allow_private
        self._woken = asyncio.Event()
        self._followers: dict[tuple[str, str, str, str], asyncio.Task[None]] = {}

    def wake(self) -> None:
        """Look for new pushes now."""
        self._woken.set()

    async def run(self, services: Services) -> None:
        """Follow the pushes of the gateway, until cancelled."""
        pushes = services.store.find(PUSHES)
        if pushes is None:
            return
        outlet = Outlet(self._signatures, allow_private=self._allow_private)
        try:
            while True:
                try:
                    await self._look(services, pushes, outlet)
                except TransientError as error:
                    warn("pushes_not_found", reason=error)
                except Exception as error:
                    warn("pushes_broke", bug=error)
                await until(self._woken, services.clock, LOOK_SECONDS)
        finally:
            followers = [*self._followers.values()]
            for follower in followers:
                follower.cancel()
            await asyncio.gather(*followers, return_exceptions=True)
            await outlet.close()

    async def _look(self, services: Services, pushes: Pushes, outlet: "Outlet") -> None:
        """Claim due pushes, and follow them."""
        now = services.clock.now()
        for push in await pushes.due_pushes(self._gateway, now, MOST_AT_ONCE):
            key = (push.tenant_id, push.user_id, push.task_id, push.push_id)
            if key in self._followers or self._is_full():
                continue
            claimed = await pushes.claim_push(push, now, now + LEASE)
            if claimed is not None:
                follower = _Follower(services, pushes, outlet, self._is_full, *claimed)
                task = asyncio.create_task(follower.run(), name=f"push:{push.task_id}")
                self._followers[key] = task
                task.add_done_callback(lambda _, key=key: self._leave(key))

    def _is_full(self) -> bool:
        return len(self._followers) >= MOST_AT_ONCE

    def _leave(self, key: tuple[str, str, str, str]) -> None:
        if self._is_full():
            self._woken.set()
        self._followers.pop(key, None)


class Outlet:
    """Connection to the receivers, opened by the first post."""

    def __init__(self, signatures: StandardWebhooks | None, *, allow_private: bool) -> None:
        self._signatures = signatures
        self._allow_private = allow_private
        self._http: httpx.AsyncClient | None = None

    async def post(self, push: TaskPush, message: PushMessage, now: datetime) -> str | None:
        """Post a message; return the reason of a temporary refusal. Raise ConfigError for a final one."""
        if self._http is None:
            self._http = open_client(allow_private=self._allow_private, seconds=TIMEOUT.total_seconds())
        body = message.body.encode()
        headers = self._headers(push, push.message_id(message.number), body, now)
        return await post_to(self._http, push.url, body, headers, "the push ends")

    def _headers(self, push: TaskPush, message_id: str, body: bytes, now: datetime) -> dict[str, str]:
        signed = self._signatures.sign(message_id, body, now) if self._signatures else {"webhook-id": message_id}
        headers = {"content-type": "application/json", **signed}
        if push.token:
            headers[TOKEN_HEADER] = push.token
        if push.scheme and push.credentials:
            headers["authorization"] = f"{push.scheme} {push.credentials}"
        return headers

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()


class _Follower:
    """Follower of one push, from its claim to its end."""

    def __init__(
        self,
        services: Services,
        pushes: Pushes,
        outlet: Outlet,
        is_crowded: Callable[[], bool],
        push: TaskPush,
        fence: int,
    ) -> None:
        self._services = services
        self._pushes = pushes
        self._outlet = outlet
        self._is_crowded = is_crowded
        self._push = push
        self._fence = fence
        self._claimed_at = services.clock.now()
        self._client = Client(services, Person(push.tenant_id, push.user_id, frozenset()))

    async def run(self) -> None:
        """Note and post the states of the task. A fault ends the follower; a later claim goes on."""
        task_id, signals, clock = self._push.task_id, self._services.signals, self._services.clock
        try:
            root_plan_id = await self._find_root()
            with signals.notice_of(task_id, root_plan_id, questions_of(root_plan_id)) as woken:
                while await self._turn():
                    await until(woken, clock, self._pause())
        except asyncio.CancelledError:
            with suppress(TransientError):
                await self._pushes.save_push(self._push, self._fence, clock.now())
            raise
        except TransientError as error:
            warn("push_rests", task=task_id, reason=error)
        except Exception as error:
            warn("push_broke", bug=error, task=task_id)

    async def _find_root(self) -> str:
        try:
            return (await find(self._client, self._push.task_id)).plan.root_plan_id
        except NotFound:
            return self._push.task_id

    async def _turn(self) -> bool:
        """Note the present state, and post a message if one is due; tell whether to go on."""
        noted = await self._note()
        now = self._services.clock.now()
        message = next_message(noted, now)
        # A message is saved before its first post: after a kill it goes out under the same id.
        must_save = noted is not self._push or message is not None or now - self._claimed_at > LEASE / 2
        if must_save and not await self._save(noted):
            return False
        if message is not None:
            return await self._post(message)
        if is_done(self._push):
            return False
        if self._is_crowded():  # others have their turn
            await self._pushes.save_push(self._push, self._fence, now + timedelta(seconds=self._pause()))
            return False
        return True

    async def _note(self) -> TaskPush:
        """Return the push with the present state noted. A removed task has no later one."""
        push = self._push
        try:
            state = await find(self._client, push.task_id)
        except NotFound:
            return replace(push, is_over=True) if not push.is_over else push
        make = partial(_bodies, state, is_first=not push.mark)
        return note_state(push, mark_of(state), make, is_final=state.is_final)

    async def _post(self, message: PushMessage) -> bool:
        push, clock = self._push, self._services.clock
        try:
            refusal = await self._outlet.post(push, message, clock.now())
        except ConfigError as error:
            return await self._remove(str(error))
        if refusal is None:
            return await self._save(note_receipt(push)) and not is_done(self._push)
        later = note_failure(push, PAUSES, clock.now())
        return await self._remove(f"{push.url}: {refusal}") if later is None else await self._save(later)

    async def _save(self, push: TaskPush) -> bool:
        """Save the push and renew the claim; a done push rests. False without the claim."""
        now = self._services.clock.now()
        self._push, self._claimed_at = push, now
        return await self._pushes.save_push(push, self._fence, None if is_done(push) else now + LEASE)

    async def _remove(self, reason: str) -> bool:
        push = self._push
        warn("push_ended", task=push.task_id, push=push.push_id, reason=reason)
        await self._pushes.remove_push(push.tenant_id, push.user_id, push.task_id, push.push_id)
        return False

    def _pause(self) -> float:
        """Return the seconds until the next look: none before a due message."""
        push, now = self._push, self._services.clock.now()
        if not push.pending:
            return LOOK_SECONDS
        left = (push.post_at - now).total_seconds() if push.post_at else 0.0
        return min(LOOK_SECONDS, max(0.0, left))


def _bodies(state: PlanTaskState, *, is_first: bool) -> list[str]:
    """Return a state as messages: the whole task first, later the changes."""
    events: Iterable[Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent]
    events = [task_of(state)] if is_first else updates_of(state)
    return [compact(json_object("a push", MessageToDict(to_stream_response(one)))) for one in events]
