"""Which agents can do what is required."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from soorma_ai.kernel.domain.registry import DiscoveredAgent, Discovery, name_of


def discover(agents: Sequence[DiscoveredAgent], requirements: Iterable[str]) -> Discovery:
    """Return the agents that have any of these capabilities, those that have most of them first, then in the order
    given, each with those that it has. Without requirements, all of them."""
    wanted = tuple(dict.fromkeys(requirements))
    if not wanted:
        return Discovery(agents)
    found = [replace(one, meets=_capabilities_of(one, wanted)) for one in agents]
    met = {requirement for one in found for requirement in one.meets}
    ranked = sorted((one for one in found if one.meets), key=lambda one: -len(one.meets))
    return Discovery(ranked, (requirement for requirement in wanted if requirement not in met))


def _capabilities_of(agent: DiscoveredAgent, wanted: tuple[str, ...]) -> tuple[str, ...]:
    can = set(map(name_of, agent.capabilities))
    return tuple(requirement for requirement in wanted if requirement in can)
