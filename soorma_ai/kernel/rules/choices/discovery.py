"""Discovery of agents by requirements."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from soorma_ai.kernel.domain.registry import DiscoveredAgent, Discovery, name_of


def discover(agents: Sequence[DiscoveredAgent], requirements: Iterable[str]) -> Discovery:
    """Return the agents with any of these capabilities, those with the most first, then in the given order, each with
    its own. Without requirements, return all of them."""
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
