"""Requests for subscriptions: events of a caller's own, posted to a proven URL up to an end."""

from collections.abc import Callable
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlsplit

from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp_types import INVALID_PARAMS, EmptyResult

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.features.event_subscriptions.ports import SUBSCRIPTIONS, EventSubscriptions
from soorma_ai.features.event_subscriptions.records import EventSubscription
from soorma_ai.gateways.mcp.caller import Context, as_mcp, caller_of
from soorma_ai.gateways.mcp.events.handlers import begin_of, selection_of
from soorma_ai.gateways.mcp.events.log import Selection, Start, cursor_of
from soorma_ai.gateways.mcp.events.messages import (
    CALLBACK_ERROR,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    UNSUPPORTED,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
)
from soorma_ai.gateways.mcp.events.receivers import Receivers
from soorma_ai.gateways.webhooks.addresses import check_url, public_addresses
from soorma_ai.gateways.webhooks.signatures import key_of
from soorma_ai.kernel.domain.values import compact, derived_id, json_object
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.views.audit import changing

SHORTEST = timedelta(minutes=1)
USUAL = timedelta(days=1)
LONGEST = timedelta(days=30)
LONGEST_URL = 2_000
_KEY_BYTES = range(24, 65)


class SubscriptionRequests:
    """Handlers of the requests. `wake` tells the sender of a new subscription."""

    def __init__(self, gateway: str, receivers: Receivers, wake: Callable[[], None], *, allow_private: bool) -> None:
        self._gateway = gateway
        self._receivers = receivers
        self._wake = wake
        self._allow_private = allow_private

    def serve(self, server: Server[dict[str, Any]]) -> None:
        server.add_request_handler("events/subscribe", SubscribeParams, self.subscribe)
        server.add_request_handler("events/unsubscribe", UnsubscribeParams, self.unsubscribe)

    async def subscribe(self, context: Context, params: SubscribeParams) -> SubscribeResult:
        """Keep a subscription, or renew it up to a new end. The receiver of a new URL has to repeat a challenge."""
        _, caller = caller_of(context)
        with as_mcp():
            client, kept_in = _own(caller), _subscriptions_in(caller)
            await self._check(params)
            selection = await selection_of(client, params.name, params.arguments)
            start = await begin_of(client, selection, params.cursor)
            now = client.services.clock.now()
            given = self._subscription(client, params, selection, start, now)
            await self._prove(kept_in, given, now)
            try:
                async with changing(client.services, caller.caller, "subscribe", given.subscription_id) as change:
                    kept = await change.store.part(SUBSCRIPTIONS).keep_subscription(given, now)
            except LocalProtocolError as error:
                raise MCPError(RESOURCE_EXHAUSTED, str(error), {"limit": "subscriptions"}) from error
            self._wake()
            is_new = kept == given
            return SubscribeResult(
                id=kept.subscription_id,
                refresh_before=kept.ends_at.isoformat(),
                cursor=cursor_of(kept.place),
                truncated=is_new and start.truncated,
            )

    async def unsubscribe(self, context: Context, params: UnsubscribeParams) -> EmptyResult:
        """Remove a subscription of the caller."""
        _, caller = caller_of(context)
        with as_mcp():
            _subscriptions_in(caller)
            person = caller.person
            found = self._id(caller, params)
            async with changing(caller.services, caller.caller, "unsubscribe", found) as change:
                part = change.store.part(SUBSCRIPTIONS)
                is_removed = await part.remove_subscription(person.tenant_id, person.user_id, found)
            if not is_removed:
                raise MCPError(NOT_FOUND, "there is no such subscription", {"kind": "subscription"})
            return EmptyResult()

    async def _check(self, params: SubscribeParams) -> None:
        """Raise the error for a receiver that cannot be one."""
        delivery = params.delivery
        if delivery.mode != "webhook":
            about = {"feature": "deliveryMode", "value": delivery.mode}
            raise MCPError(UNSUPPORTED, "delivery.mode: give webhook; polls and streams need no subscription", about)
        try:
            if not delivery.secret.startswith("whsec_") or len(key_of(delivery.secret)) not in _KEY_BYTES:
                raise ConfigError("delivery.secret: give whsec_ and 24 to 64 bytes in base64")
            if len(delivery.url) > LONGEST_URL:
                raise ConfigError(f"delivery.url: give up to {LONGEST_URL:,} characters")
            parts = urlsplit(check_url(delivery.url, allow_private=self._allow_private))
            if not self._allow_private:
                await public_addresses(parts.hostname or "", parts.port or 443)
        except ConfigError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except OSError as error:
            raise MCPError(CALLBACK_ERROR, "the URL is unknown", {"reason": "connection_refused"}) from error

    async def _prove(self, kept_in: EventSubscriptions, given: EventSubscription, now: datetime) -> None:
        """Raise the error of a receiver without its consent. One proof holds for all live subscriptions of a user."""
        kept = await kept_in.subscriptions_of(given.tenant_id, given.user_id)
        if any(one.url == given.url and one.ends_at > now for one in kept):
            return
        failure = await self._receivers.prove(given, token_urlsafe(24), now)
        if failure is not None:
            raise MCPError(CALLBACK_ERROR, "the receiver did not repeat the challenge", {"reason": failure})

    def _subscription(
        self, client: Client, params: SubscribeParams, selection: Selection, start: Start, now: datetime
    ) -> EventSubscription:
        person = client.person
        return EventSubscription(
            tenant_id=person.tenant_id,
            user_id=person.user_id,
            subscription_id=self._id(client, params),
            gateway=self._gateway,
            url=params.delivery.url,
            secret=params.delivery.secret,
            name=selection.name,
            topics=tuple(sorted(selection.topics)),
            begun_at=now,
            ends_at=now + _span_of(params),
            place=start.place,
            plan_id=selection.plan_id,
        )

    def _id(self, client: Client, params: SubscribeParams | UnsubscribeParams) -> str:
        """Return the id of a subscription: one for each user, URL, type and arguments."""
        person, arguments = client.person, compact(json_object("arguments", params.arguments))
        about = (person.tenant_id, person.user_id, params.delivery.url, params.name, arguments)
        return derived_id("mcp subscription", self._gateway, *about)


def _span_of(params: SubscribeParams) -> timedelta:
    """Return the time up to the end: the proposed one within the bounds. None proposes no end, which is not granted."""
    if params.ttl_ms is None:
        return LONGEST if "ttl_ms" in params.model_fields_set else USUAL
    return max(SHORTEST, timedelta(milliseconds=min(params.ttl_ms, LONGEST // timedelta(milliseconds=1))))


def _own(client: Client) -> Client:
    """Return the calls of the same user without roles: a role may be taken away, and a subscription outlasts its
    request."""
    return client.as_user(tenant_id=client.person.tenant_id, user_id=client.person.user_id)


def _subscriptions_in(client: Client) -> EventSubscriptions:
    found = client.services.store.find(SUBSCRIPTIONS)
    if found is None:
        about = {"feature": "deliveryMode", "value": "webhook"}
        raise MCPError(UNSUPPORTED, "this store keeps no subscriptions: poll, or stream", about)
    return found
