"""A look at a server of NATS, which makes and changes nothing."""

from collections.abc import Sequence

from msgspec import Struct
from nats.js.errors import NotFoundError

from soorma_ai.adapters.nats.connection import NatsConnection


class BrokerState(Struct, frozen=True):
    """`waiting`: messages of the namespace that are not acknowledged yet, by whichever store; None: nothing has used
    the namespace."""

    server: str
    waiting: int | None


async def look_at(servers: Sequence[str], namespace: str, shown: str) -> BrokerState:
    """Raise as `NatsConnection.open` does, and BusUnavailable for a server without JetStream."""
    connection = NatsConnection(servers, shown)
    await connection.open()
    try:
        version = connection.client.connected_server_version
        told = f"{version.major}.{version.minor}.{version.patch}"
        with connection.in_our_words("look at the stream"):
            try:
                return BrokerState(told, (await connection.streams.stream_info(namespace)).state.messages)
            except NotFoundError:
                return BrokerState(told, None)
    finally:
        await connection.close()
