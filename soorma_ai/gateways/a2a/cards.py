"""Agent cards: the offer of a platform in the protocol's terms. Goals are skills, and requests by an option."""

from collections.abc import Iterable, Sequence

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol
from msgspec import Struct

from soorma_ai.gateways.a2a.forms import A2AAgentCard, A2AAuthentication, A2AAuthType, A2ASkill
from soorma_ai.gateways.a2a.parts import JSON, TEXT
from soorma_ai.gateways.a2a.tasks import struct_of
from soorma_ai.gateways.goals import offered_goals
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.identity import TokenSources
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.schemas import ANY_OBJECT
from soorma_ai.kernel.domain.values import JsonObject, compact

# Under this name a card tells the schemas of each skill, as JSON text: {"payload": ..., "response": ...} by skill.
SCHEMAS = "urn:soorma:a2a:schemas:v1"
BEARER = "bearer"
OPENID = "openid"


class Front(Struct, frozen=True):
    """Contents of a gateway's card beside its skills."""

    name: str
    description: str
    version: str
    rpc_url: str
    rest_url: str
    tokens: TokenSources | None
    has_push: bool


def goals_of(
    known: Iterable[RegisteredEvent], only: Sequence[str] | None, *, with_requests: bool = False
) -> list[RegisteredEvent]:
    """Return the offered goals, by name; `with_requests` also the requests to tools and workers. A goal has precedence
    over a request of its name."""
    events = tuple(known)
    found = offered_goals(events, only)
    if not with_requests:
        return found
    names = {one.definition.event_name for one in found}
    found += [one for one in events if _is_request(one) and one.definition.event_name not in names]
    wanted = [one for one in found if only is None or one.definition.event_name in only]
    return sorted(wanted, key=lambda one: (one.definition.event_name, one.agent))


def is_goal(one: RegisteredEvent) -> bool:
    return one.role is EventRole.TAKES_AS_GOAL


def _is_request(one: RegisteredEvent) -> bool:
    return one.role is EventRole.TAKES and one.definition.topic is EventTopic.ACTION_REQUESTS


def card_of(front: Front, goals: Sequence[RegisteredEvent]) -> AgentCard:
    schemes = _schemes(front.tokens)
    return AgentCard(
        name=front.name,
        description=front.description,
        version=front.version,
        supported_interfaces=[
            _interface(front.rpc_url, TransportProtocol.JSONRPC),
            _interface(front.rest_url, TransportProtocol.HTTP_JSON),
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=front.has_push, extended_agent_card=True, extensions=[_schemas(goals)]
        ),
        security_schemes=schemes,
        security_requirements=[SecurityRequirement(schemes={name: StringList()}) for name in schemes],
        default_input_modes=[JSON, TEXT],
        default_output_modes=[JSON, TEXT],
        skills=[_skill(name, found) for name, found in by_name(goals).items()],
    )


def early_card_of(front: Front, goals: Sequence[RegisteredEvent]) -> A2AAgentCard:
    """Return the card in the form of the seed documents."""
    return A2AAgentCard(
        name=front.name,
        description=front.description,
        version=front.version,
        url=front.rpc_url,
        provider={"organization": "soorma"},
        capabilities={"streaming": False, "pushNotifications": False},
        skills=[
            A2ASkill(
                id=name,
                name=name,
                description=found[0].definition.description,
                tags=[one.agent for one in found],
                inputSchema=found[0].definition.payload_schema,
                outputSchema=found[0].definition.response_schema,
            )
            for name, found in by_name(goals).items()
        ],
        authentication=_early_authentication(front.tokens),
    )


def _schemes(tokens: TokenSources | None) -> dict[str, SecurityScheme]:
    """Return the ways of a proof, each enough alone: a bearer token, also one of an OpenID provider."""
    if tokens is None:
        return {}
    found = {BEARER: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=BEARER))}
    for number, url in enumerate(_discovery_urls(tokens), 1):
        scheme = OpenIdConnectSecurityScheme(open_id_connect_url=url)
        name = OPENID if number == 1 else f"{OPENID}-{number}"
        found[name] = SecurityScheme(open_id_connect_security_scheme=scheme)
    return found


def _early_authentication(tokens: TokenSources | None) -> A2AAuthentication:
    if tokens is None:
        return A2AAuthentication(schemes=[A2AAuthType.NONE])
    signed = [A2AAuthType.OAUTH2] if tokens.issuers else []
    keys = [A2AAuthType.API_KEY] if tokens.has_keys else []
    return A2AAuthentication(schemes=[*signed, *keys], credentials=next(iter(_discovery_urls(tokens)), None))


def _discovery_urls(tokens: TokenSources) -> list[str]:
    """Return the OpenID discovery addresses of issuers with an address."""
    homes = [issuer.rstrip("/") for issuer in tokens.issuers if issuer.startswith(("https://", "http://"))]
    return [f"{home}/.well-known/openid-configuration" for home in homes]


def by_name(goals: Iterable[RegisteredEvent]) -> dict[str, list[RegisteredEvent]]:
    found: dict[str, list[RegisteredEvent]] = {}
    for one in goals:
        found.setdefault(one.definition.event_name, []).append(one)
    return found


def _interface(url: str, binding: TransportProtocol) -> AgentInterface:
    return AgentInterface(url=url, protocol_binding=binding.value, protocol_version=PROTOCOL_VERSION_1_0)


def _skill(name: str, found: Sequence[RegisteredEvent]) -> AgentSkill:
    definition = found[0].definition
    return AgentSkill(
        id=name,
        name=name,
        description=definition.description or definition.when_to_use or name,
        tags=[*(one.agent for one in found), *definition.synonyms],
        input_modes=[JSON, TEXT],
        output_modes=[JSON, TEXT],
    )


def _schemas(goals: Sequence[RegisteredEvent]) -> AgentExtension:
    told: JsonObject = {name: compact(_shapes(found[0].definition)) for name, found in by_name(goals).items()}
    return AgentExtension(
        uri=SCHEMAS, description="JSON Schemas of each skill's input and output, as JSON text.", params=struct_of(told)
    )


def _shapes(definition: EventDefinition) -> JsonObject:
    shapes: JsonObject = {"payload": definition.payload_schema or ANY_OBJECT}
    if definition.response_schema is not None:
        shapes["response"] = definition.response_schema
    return shapes
