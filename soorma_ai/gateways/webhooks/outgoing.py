"""Outgoing webhooks: events posted to a URL, as signed CloudEvents, until they are accepted."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.errors import ConfigError, Retry
from soorma_ai.gateways.webhooks.addresses import open_client
from soorma_ai.gateways.webhooks.signatures import StandardWebhooks
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic

CONTENT_TYPE = "application/cloudevents+json"
TIMEOUT = timedelta(seconds=15)
# Pauses after a try in vain: a bit more than two days in all.
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000))

_GONE = 410


class Webhook(Agent):
    """Posts every event of these types to a URL, once or more often, in no fixed order. Its `webhook-id` is the
    event's, for a receiver to recognise duplicates.

    `events` are types by topic, as {"business-facts": ["order.*"]}. `secret` begins with `whsec_`. A refused event is
    tried again after growing pauses, over two days, and then is a dead letter. 410 means the end of the subscription: a
    dead letter at once. Addresses that are not public are refused unless `allow_private`; redirections are not
    followed.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        secret: str | tuple[str, ...],
        events: Mapping[EventTopic | str, Iterable[str]],
        allow_private: bool = False,
        timeout: timedelta = TIMEOUT,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, f"Carries events to {urlsplit(url).hostname}.", **options)
        self.url = _url(url, allow_private=allow_private)
        self._signatures = StandardWebhooks(secret)
        self._allow_private = allow_private
        self._timeout = timeout
        self._client: httpx.AsyncClient | None = None
        for topic, types in events.items():
            for event_type in types:
                self.on_event(event_type, topic, attempts=len(PAUSES) + 1)(self.carry)
        if not self.routes():
            raise ConfigError(f"webhook {name!r} has no events to carry: give events={{'business-facts': ['order.*']}}")
        self.on_shutdown(self._close)

    async def carry(self, event: EventEnvelope, context: PlatformContext) -> None:
        """Post one event. Raise Retry for a temporary refusal of the URL, ConfigError for a final one."""
        body = event.to_json().encode()
        headers = self._signatures.sign(event.id, body, context.handling.services.clock.now())
        headers = {**headers, "content-type": CONTENT_TYPE}
        try:
            # What it answers beside the status is not read, however much that is.
            async with self._http().stream("POST", self.url, content=body, headers=headers) as answer:
                status = answer.status_code
        except httpx.HTTPError as error:
            raise self._again(context, f"{type(error).__name__}: {error}") from error
        except OSError as error:
            raise self._again(context, f"it cannot be reached: {error}") from error
        if status == _GONE:
            raise ConfigError(f"{self.url} answered 410: it takes no more posts; stop {self.name!r}")
        if not httpx.codes.is_success(status):
            raise self._again(context, f"it answered {status}")

    def _again(self, context: PlatformContext, why: str) -> Retry:
        return Retry(f"{self.url}: {why}", after=PAUSES[min(context.attempt, len(PAUSES)) - 1])

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = open_client(allow_private=self._allow_private, seconds=self._timeout.total_seconds())
        return self._client

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _url(url: str, *, allow_private: bool) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ConfigError(f"url={url!r}: give where to post to, as in https://example.com/events")
    if parts.scheme == "http" and not allow_private:
        raise ConfigError(f"url={url!r}: events go out by https; allow_private=True allows http, as for tests")
    if parts.username or parts.password:
        raise ConfigError("a webhook's URL holds no password: the receiver knows us by the signature")
    return url
