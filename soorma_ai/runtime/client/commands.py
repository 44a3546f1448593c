"""The commands that only the owner of a store may carry out: one table for those who send them and for the owner.

A request is {call, tenant_id, user_id, roles, and the fields of the command}; no roles (null) are all of them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import StrictInt, TypeAdapter, ValidationError

from soorma_ai.domain.identity import ApiKey
from soorma_ai.domain.people import AnswerOutcome, Person
from soorma_ai.domain.values import Json, JsonObject, clip
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import Forgotten, Pruned
from soorma_ai.runtime.client.client import CANCELLED, Client
from soorma_ai.runtime.client.retention import forget, prune
from soorma_ai.runtime.handling.handling import Services

BATCHES_AT_ONCE = 20

_LONGEST_VALUE = 80

T_co = TypeVar("T_co", covariant=True)


class Steering(Protocol):
    """The calls by which most commands are carried out, here or by a server."""

    async def answer(
        self, wait_id: str, payload: Mapping[str, Any], *, decision: str | None, note: str, answer_id: str | None
    ) -> AnswerOutcome: ...

    async def cancel(self, plan_id: str, reason: str) -> bool: ...

    async def redrive(self, letter_id: int) -> bool: ...

    async def discard(self, letter_id: int, note: str) -> bool: ...


class Command(Protocol[T_co]):
    name: ClassVar[str]

    async def do(self, client: Client) -> JsonObject:
        """Carry it out, and return the reply."""
        ...

    def read(self, reply: JsonObject) -> T_co:
        """Return what a reply of `do` says."""
        ...


class SteeringCommand(Command[T_co], Protocol[T_co]):
    async def do(self, client: Steering) -> JsonObject: ...


@dataclass(frozen=True)
class AnswerWait:
    """`answer_id` is made once for a command, so that however often it is sent, it is one answer."""

    name: ClassVar[str] = "answer"
    wait_id: str
    payload: JsonObject
    decision: str | None = None
    note: str | None = None
    answer_id: str | None = None

    async def do(self, client: Steering) -> JsonObject:
        outcome = await client.answer(
            self.wait_id, self.payload, decision=self.decision, note=self.note or "", answer_id=self.answer_id
        )
        return {"outcome": str(outcome), "detail": outcome.detail}

    def read(self, reply: JsonObject) -> AnswerOutcome:
        return AnswerOutcome(str(reply["outcome"]), str(reply["detail"]))


@dataclass(frozen=True)
class CancelPlan:
    name: ClassVar[str] = "cancel"
    plan_id: str
    reason: str | None = None

    async def do(self, client: Steering) -> JsonObject:
        return {"cancelled": await client.cancel(self.plan_id, self.reason or CANCELLED)}

    def read(self, reply: JsonObject) -> bool:
        """Return False when the plan had ended already."""
        return bool(reply["cancelled"])


@dataclass(frozen=True)
class RedriveLetter:
    name: ClassVar[str] = "redrive"
    letter_id: StrictInt

    async def do(self, client: Steering) -> JsonObject:
        return {"redriven": await client.redrive(self.letter_id)}

    def read(self, reply: JsonObject) -> bool:
        """Return False when it is no dead letter any more."""
        return bool(reply["redriven"])


@dataclass(frozen=True)
class DiscardLetter:
    name: ClassVar[str] = "discard"
    letter_id: StrictInt
    note: str | None = None

    async def do(self, client: Steering) -> JsonObject:
        return {"discarded": await client.discard(self.letter_id, self.note or "")}

    def read(self, reply: JsonObject) -> bool:
        """Return False when it is no dead letter any more."""
        return bool(reply["discarded"])


@dataclass(frozen=True)
class PrunePlans:
    """Remove a part, so that the reply comes in time. `after` is where to go on; the reply says where it ended."""

    name: ClassVar[str] = "prune"
    older_than: timedelta
    statuses: tuple[str, ...]
    after: str | None = None

    async def do(self, client: Client) -> JsonObject:
        pruned = await prune(
            client.services, client.person, self.older_than, self.statuses, after=self.after, batches=BATCHES_AT_ONCE
        )
        return asdict(pruned)

    def read(self, reply: JsonObject) -> Pruned:
        return TypeAdapter(Pruned).validate_python(reply)


@dataclass(frozen=True)
class ForgetUser:
    """Remove a part, so that the reply comes in time; the reply says whether there is more."""

    name: ClassVar[str] = "forget"
    forgotten: str

    async def do(self, client: Client) -> JsonObject:
        return asdict(await forget(client.services, client.person, self.forgotten, batches=BATCHES_AT_ONCE))

    def read(self, reply: JsonObject) -> Forgotten:
        return TypeAdapter(Forgotten).validate_python(reply)


@dataclass(frozen=True)
class AddKey:
    """`key` is an ApiKey as JSON. It holds the hash of a secret that never comes here."""

    name: ClassVar[str] = "add_key"
    key: JsonObject

    async def do(self, client: Client) -> JsonObject:
        try:
            key = TypeAdapter(ApiKey).validate_python(self.key)
        except ValidationError as error:
            raise LocalProtocolError(f"{self.name}: this is no key: {error.errors()[0]['msg']}") from error
        await client.keys.add(key)
        return {}

    def read(self, reply: JsonObject) -> None:
        return None


@dataclass(frozen=True)
class RevokeKey:
    name: ClassVar[str] = "revoke_key"
    key_id: str

    async def do(self, client: Client) -> JsonObject:
        return {"revoked": await client.keys.revoke(self.key_id)}

    def read(self, reply: JsonObject) -> bool:
        """Return False when it was revoked before."""
        return bool(reply["revoked"])


COMMANDS: dict[str, type[Command[object]]] = {
    kind.name: kind
    for kind in (AnswerWait, CancelPlan, RedriveLetter, DiscardLetter, PrunePlans, ForgetUser, AddKey, RevokeKey)
}


def spell(command: Command[object], person: Person) -> JsonObject:
    """Return the request that `carry_out` takes, with spans in seconds."""
    fields = {name: _json(value) for name, value in vars(command).items()}
    roles: list[Json] | None = None if person.roles is None else [*sorted(person.roles)]
    return {"call": command.name, **fields, "tenant_id": person.tenant_id, "user_id": person.user_id, "roles": roles}


def _json(value: Json | timedelta | tuple[str, ...]) -> Json:
    match value:
        case timedelta():
            return value.total_seconds()
        case tuple():
            return list(value)
        case _:
            return value


def parse(request: JsonObject) -> Command[object]:
    """Return the command. Raise LocalProtocolError for one that does not exist, and for a field missing or wrong."""
    name = request.get("call")
    if not isinstance(name, str) or name not in COMMANDS:
        raise LocalProtocolError(f"the owner knows the commands {', '.join(COMMANDS)}, not {name!r}")
    try:
        return TypeAdapter[Command[object]](COMMANDS[name]).validate_python(request)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = str(fault["loc"][0])
        found = clip(repr(request[field]), _LONGEST_VALUE) if field in request else "nothing"
        raise LocalProtocolError(f"{name}: {field!r} is {found}: {fault['msg']}") from error


def sender(request: JsonObject) -> Person:
    """Return the person that a request names. Raise LocalProtocolError when it names none."""
    tenant_id, user_id, roles = request.get("tenant_id"), request.get("user_id"), request.get("roles", [])
    if not isinstance(tenant_id, str) or not isinstance(user_id, str):
        raise LocalProtocolError(f"'tenant_id' and 'user_id' must be text, found {tenant_id!r} and {user_id!r}")
    if roles is None:
        return Person(tenant_id, user_id)
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise LocalProtocolError(f"'roles' must be a list of names, found {clip(repr(roles), _LONGEST_VALUE)}")
    return Person(tenant_id, user_id, frozenset(map(str, roles)))


async def carry_out(services: Services, request: JsonObject) -> JsonObject:
    """Do what a trusted sender asks, as the person that it names, and return the reply."""
    return await parse(request).do(Client(services, sender(request)))
