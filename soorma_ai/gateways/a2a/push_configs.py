"""Push notification configs of the protocol: pushes of a caller's own tasks."""

from collections.abc import Callable
from urllib.parse import urlsplit

from a2a.types import AuthenticationInfo, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, PushNotificationNotSupportedError, TaskNotFoundError

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.push.ports import PUSHES, Pushes
from soorma_ai.features.push.records import TaskPush
from soorma_ai.gateways.a2a.looking import find
from soorma_ai.gateways.webhooks.addresses import check_url, public_addresses
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.views.audit import changing

LONGEST_ID = 200
LONGEST_TEXT = 2_000


class PushConfigs:
    """Configs of one gateway. `wake` tells its sender of a new one."""

    def __init__(self, gateway: str, *, allow_private: bool, wake: Callable[[], None]) -> None:
        self._gateway = gateway
        self._allow_private = allow_private
        self._wake = wake

    async def check(self, client: Client, config: TaskPushNotificationConfig) -> None:
        """Raise InvalidParamsError for a config that cannot be kept, and PushNotificationNotSupportedError for a store
        without pushes."""
        _pushes_in(client)
        if len(config.id) > LONGEST_ID or not config.id.isprintable():
            raise InvalidParamsError(f"id: give up to {LONGEST_ID} printable characters")
        about = config.authentication
        texts = {"url": config.url, "token": config.token, "scheme": about.scheme, "credentials": about.credentials}
        for name, text in texts.items():
            if len(text) > LONGEST_TEXT or not (text.isascii() and text.isprintable()):
                raise InvalidParamsError(f"{name}: give up to {LONGEST_TEXT:,} printable ASCII characters")
        try:
            parts = urlsplit(check_url(config.url, allow_private=self._allow_private))
            if not self._allow_private:
                await public_addresses(parts.hostname or "", parts.port or 443)
        except ConfigError as error:
            raise InvalidParamsError(str(error)) from error
        except OSError:
            pass  # a name may be unknown for a while: the sender looks again

    async def create(self, client: Client, config: TaskPushNotificationConfig, task_id: str) -> TaskPush:
        """Keep a config of a task. The same one again is the one before. Raise TaskNotFoundError."""
        await self.check(client, config)
        await _must_be_own(client, task_id)
        person = client.person
        push = TaskPush(
            tenant_id=person.tenant_id,
            user_id=person.user_id,
            task_id=task_id,
            push_id=config.id or task_id,
            gateway=self._gateway,
            url=config.url,
            begun_at=client.services.clock.now(),
            token=config.token,
            scheme=config.authentication.scheme,
            credentials=config.authentication.credentials,
        )
        async with changing(client.services, client.caller, "create_push", task_id) as change:
            kept = await change.store.part(PUSHES).keep_push(push)
        self._wake()
        return kept

    async def find(self, client: Client, task_id: str, push_id: str) -> TaskPush:
        """Return a config of a task. Raise TaskNotFoundError, also for an unknown config."""
        found = [one for one in await self.list(client, task_id) if one.push_id == push_id]
        if not found:
            raise TaskNotFoundError
        return found[0]

    async def list(self, client: Client, task_id: str) -> list[TaskPush]:
        pushes = _pushes_in(client)
        await _must_be_own(client, task_id)
        person = client.person
        return [*await pushes.pushes_of(person.tenant_id, person.user_id, task_id)]

    async def delete(self, client: Client, task_id: str, push_id: str) -> None:
        """Delete a config; of a missing one nothing changes."""
        _pushes_in(client)
        await _must_be_own(client, task_id)
        person = client.person
        async with changing(client.services, client.caller, "delete_push", task_id) as change:
            await change.store.part(PUSHES).remove_push(person.tenant_id, person.user_id, task_id, push_id)


def config_of(push: TaskPush) -> TaskPushNotificationConfig:
    about = AuthenticationInfo(scheme=push.scheme, credentials=push.credentials) if push.scheme else None
    return TaskPushNotificationConfig(
        id=push.push_id, task_id=push.task_id, url=push.url, token=push.token, authentication=about
    )


def list_of(pushes: list[TaskPush]) -> ListTaskPushNotificationConfigsResponse:
    return ListTaskPushNotificationConfigsResponse(configs=map(config_of, pushes))


def _pushes_in(client: Client) -> Pushes:
    found = client.services.store.find(PUSHES)
    if found is None:
        raise PushNotificationNotSupportedError
    return found


async def _must_be_own(client: Client, task_id: str) -> None:
    """Raise TaskNotFoundError for a task of another user, even with a role that sees it: a role may be taken away, and
    a push outlasts its caller."""
    person = client.person
    try:
        await find(client.as_user(tenant_id=person.tenant_id, user_id=person.user_id), task_id)
    except NotFound as error:
        raise TaskNotFoundError from error
