"""Stream and consumer of a bus: their configuration, and the check of existing ones."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from enum import Enum

from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from soorma_ai.adapters.nats.subjects import subjects_of, token
from soorma_ai.errors import ConfigError

# The first whose writes can be made to last through a loss of power (`sync_interval: always`).
OLDEST_SERVER = (2, 10)
# What a store sent stands in its outbox until it has arrived, so one that is away for longer loses nothing.
KEPT = timedelta(days=30)
# Shorter than a sweep waits before it sends again what has not arrived, which must not be taken for a duplicate.
DUPLICATES_KNOWN = timedelta(seconds=20)
# What a killed process had in hand comes again after that.
ACK_WAIT = timedelta(seconds=5)
MOST_UNACKED = 4_096


def stream_config(namespace: str) -> StreamConfig:
    """Return the stream of a namespace: an event goes after every consumer's acknowledgement, and never for want of
    room. Bounds, replicas and placement are the operator's."""
    return StreamConfig(
        name=namespace,
        subjects=[subjects_of(namespace)],
        retention=RetentionPolicy.INTEREST,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_age=KEPT.total_seconds(),
        max_msgs=-1,
        max_msgs_per_subject=-1,
        duplicate_window=DUPLICATES_KNOWN.total_seconds(),
        no_ack=False,
    )


def consumer_name(store_id: str) -> str:
    """Return a name valid for a server, from any id."""
    return f"store-{token(store_id)}"


def consumer_config(namespace: str, store_id: str) -> ConsumerConfig:
    """Return the common consumer of a store's processes. It brings events to this store, and nothing of others in its
    namespace."""
    return ConsumerConfig(
        durable_name=consumer_name(store_id),
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        filter_subject=subjects_of(namespace, store_id),
        ack_wait=ACK_WAIT.total_seconds(),
        max_deliver=-1,
        max_ack_pending=MOST_UNACKED,
        inactive_threshold=KEPT.total_seconds(),
    )


def check_server(version: tuple[int, int], shown: str) -> None:
    """Raise ConfigError for too old a server: it ignores unknown options."""
    if version < OLDEST_SERVER:
        raise ConfigError(
            f"nats-server at {shown} is of version {_spell(version)}; wanted is {_spell(OLDEST_SERVER)} or later: "
            "upgrade it, or give the URL of another one"
        )


def check_config(
    what: str, found: StreamConfig | ConsumerConfig, wanted: StreamConfig | ConsumerConfig, remedy: str
) -> None:
    """Raise ConfigError for a deviation of an existing one."""
    if told := differences(_settings_of(found), _settings_of(wanted)):
        raise ConfigError(f"{what} exists with another configuration: {told}; {remedy}")


def differences(found: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    """Return the differences between the found and the wanted configuration in words; empty for none. Options without a
    wanted value are free."""
    differing = (name for name, value in wanted.items() if found.get(name) != value)
    return "; ".join(f"{name} is {found.get(name)!r}, wanted is {wanted[name]!r}" for name in differing)


def _settings_of(config: StreamConfig | ConsumerConfig) -> dict[str, object]:
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    return {name: _plain(value) for name, value in values.items() if value is not None and name in _COMPARED}


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def _spell(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


_COMPARED = frozenset(
    (
        *("subjects", "retention", "storage", "discard", "max_age", "max_msgs", "max_msgs_per_subject"),
        *("duplicate_window", "no_ack", "deliver_policy", "ack_policy", "ack_wait", "max_deliver", "max_ack_pending"),
        *("inactive_threshold", "filter_subject", "filter_subjects", "deliver_subject"),
    )
)
