"""Stream and consumer on the server: made where they are not there, looked at where they are."""

from nats.js.api import ConsumerConfig
from nats.js.errors import APIError, NotFoundError

from soorma_ai.adapters.nats.configuration import check_config, stream_config
from soorma_ai.adapters.nats.connection import NatsConnection
from soorma_ai.errors import ConfigError

# What comes by itself: no leader yet, no room, a request that was not answered inside the cluster.
_MAY_PASS = (500, 503)
_WITHOUT_JETSTREAM = (10039, 10076)


async def provide(connection: NatsConnection, namespace: str, consumer: ConsumerConfig) -> None:
    """Raise ConfigError where there are others of their names, or none can be made, BusUnavailable where that may be
    otherwise the next time."""
    with connection.in_our_words("be asked for its streams"):
        try:
            await _provide_stream(connection, namespace)
            await _provide_consumer(connection, namespace, consumer)
        except APIError as error:
            if error.err_code in _WITHOUT_JETSTREAM:
                raise ConfigError(
                    f"NATS at {connection.url} has no JetStream for us: start nats-server with -js, or enable it for "
                    f"the account ({error.description})"
                ) from error
            if error.code in _MAY_PASS:
                raise
            raise ConfigError(
                f"NATS at {connection.url} refuses stream {namespace!r}: {error.description}; "
                "give the bus URL another namespace (nats://HOST/NAMESPACE), or change what is there"
            ) from error


async def _provide_stream(connection: NatsConnection, namespace: str) -> None:
    wanted, streams = stream_config(namespace), connection.streams
    try:
        found = await streams.stream_info(namespace)
    except NotFoundError:
        found = await streams.add_stream(wanted)
    remedy = "give the bus URL another namespace (nats://HOST/NAMESPACE), or change or remove the stream"
    check_config(f"stream {namespace!r} at {connection.url}", found.config, wanted, remedy)


async def _provide_consumer(connection: NatsConnection, namespace: str, wanted: ConsumerConfig) -> None:
    streams, name = connection.streams, wanted.durable_name or ""
    try:
        found = await streams.consumer_info(namespace, name)
    except NotFoundError:
        found = await streams.add_consumer(namespace, wanted)
    remedy = "remove it: what its store sent and has not got is sent again"
    check_config(f"consumer {name!r} of stream {namespace!r} at {connection.url}", found.config, wanted, remedy)
