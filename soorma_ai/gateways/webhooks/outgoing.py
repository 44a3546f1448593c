"""Outgoing webhooks: events posted to a URL, as signed CloudEvents, until they are accepted."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.errors import ConfigError, Retry
from soorma_ai.gateways.webhooks.addresses import check_url, open_client
from soorma_ai.gateways.webhooks.signatures import StandardWebhooks
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic

CONTENT_TYPE = "application/cloudevents+json"
TIMEOUT = timedelta(seconds=15)
# Of one post, for a receiver that answers slowly, byte by byte.
MOST_SECONDS = 45.0
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
        self.url = check_url(url, allow_private=allow_private)
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
        refusal = await post_to(self._http(), self.url, body, headers, f"stop {self.name!r}")
        if refusal is not None:
            raise self._again(context, refusal)

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


async def post_to(
    client: httpx.AsyncClient, url: str, body: bytes, headers: Mapping[str, str], cure: str
) -> str | None:
    """Post a body; return the reason of a temporary refusal, None for a receipt. Raise ConfigError for a final one:
    a gone or non-public address."""
    try:
        # The body of an answer is not read, of any size.
        async with asyncio.timeout(MOST_SECONDS), client.stream("POST", url, content=body, headers=headers) as answer:
            status = answer.status_code
    except TimeoutError:
        return f"it took more than {MOST_SECONDS:.0f} s"
    except httpx.HTTPError as error:
        return f"{type(error).__name__}: {error}"
    except OSError as error:
        return f"it cannot be reached: {error}"
    if status == _GONE:
        raise ConfigError(f"{url} answered 410: it takes no more posts; {cure}")
    return None if httpx.codes.is_success(status) else f"it answered {status}"
