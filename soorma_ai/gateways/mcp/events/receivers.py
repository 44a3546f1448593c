"""Receivers of subscribed events: posts, signed by the secret of each subscription, and the proof of a receiver."""

import asyncio
import hmac
from datetime import datetime
from typing import Literal

import httpx
from msgspec import Struct
from pydantic_core import from_json

from soorma_ai.features.event_subscriptions.records import EventSubscription
from soorma_ai.gateways.mcp.events.log import cursor_of, occurrence_of
from soorma_ai.gateways.webhooks.addresses import open_client
from soorma_ai.gateways.webhooks.outgoing import TIMEOUT, post_to
from soorma_ai.gateways.webhooks.signatures import StandardWebhooks
from soorma_ai.kernel.domain.values import compact, derived_id
from soorma_ai.kernel.ports import StoredEvent

SUBSCRIPTION_HEADER = "x-mcp-subscription-id"
MOST_BYTES = 256 * 1024
_MOST_ANSWER = 4_096

WebhookId = Literal["event", "message"]


class Reach(Struct, frozen=True):
    """Form of the posts, and their reach. `webhook_id`: the event's own id, or one of its message to a subscription;
    both are the same in every try."""

    webhook_id: WebhookId = "event"
    allow_private: bool = False


class Receivers:
    """Connection to the receivers, opened by the first post."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._http: httpx.AsyncClient | None = None

    async def post(self, subscription: EventSubscription, row: StoredEvent, now: datetime) -> str | None:
        """Post an event; return the reason of a temporary refusal. Raise ConfigError for a final one."""
        body = body_of(row)
        message_id = row.event.id
        if self._reach.webhook_id == "message":
            message_id = derived_id("mcp event", subscription.subscription_id, row.event.id)
        headers = _headers(subscription, message_id, body, now)
        return await post_to(self._client(), subscription.url, body, headers, "the subscription ends")

    async def prove(self, subscription: EventSubscription, challenge: str, now: datetime) -> str | None:
        """Ask a receiver to repeat a challenge; return the category of the failure, None for the proof. The answer
        itself is not told to the subscriber."""
        body = compact({"type": "verification", "challenge": challenge}).encode()
        headers = _headers(subscription, derived_id("msg_verification", challenge), body, now)
        try:
            async with (
                asyncio.timeout(TIMEOUT.total_seconds()),
                self._client().stream("POST", subscription.url, content=body, headers=headers) as answer,
            ):
                if not answer.is_success:
                    return "http_5xx" if answer.is_server_error else "http_4xx"
                said = b""
                async for chunk in answer.aiter_raw(_MOST_ANSWER):
                    said += chunk
                    if len(said) > _MOST_ANSWER:
                        return "challenge_failed"
        except (TimeoutError, httpx.TimeoutException):
            return "timeout"
        except (httpx.HTTPError, OSError):
            return "connection_refused"
        return None if hmac.compare_digest(_challenge_in(said).encode(), challenge.encode()) else "challenge_failed"

    async def close(self) -> None:
        client, self._http = self._http, None
        if client is not None:
            await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            self._http = open_client(allow_private=self._reach.allow_private, seconds=TIMEOUT.total_seconds())
        return self._http


def body_of(row: StoredEvent) -> bytes:
    return occurrence_of(row, cursor=cursor_of(row.seq)).model_dump_json(by_alias=True).encode()


def _headers(subscription: EventSubscription, message_id: str, body: bytes, now: datetime) -> dict[str, str]:
    signed = StandardWebhooks(subscription.secret).sign(message_id, body, now)
    return {"content-type": "application/json", SUBSCRIPTION_HEADER: subscription.subscription_id, **signed}


def _challenge_in(said: bytes) -> str:
    try:
        told: object = from_json(said)
    except ValueError:
        return ""
    match told:
        case {"challenge": str(challenge)}:
            return challenge
        case _:
            return ""
