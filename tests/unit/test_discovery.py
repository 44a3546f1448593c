"""Discovery: agents that meet a requirement, and requirements without an agent."""

import pytest

from soorma_ai.kernel.domain.registry import AgentCapability, DiscoveredAgent, EventDefinition, discover

AGENTS = [
    DiscoveredAgent(name, name, "", "1.0.0", capabilities)
    for name, capabilities in (
        ("cook", ("cook", "wash")),
        (
            "maid",
            (AgentCapability(task_name="wash", consumed_event=EventDefinition(event_name="wash")), "iron", "cook"),
        ),
        ("smith", ("iron",)),
        ("thinker", ()),
    )
]


@pytest.mark.parametrize(
    ("requirements", "found", "unmet"),
    [
        ((), ["cook", "maid", "smith", "thinker"], ()),
        (("iron",), ["maid iron", "smith iron"], ()),
        (("iron", "wash"), ["maid iron wash", "cook wash", "smith iron"], ()),
        (("wash", "iron", "cook"), ["maid wash iron cook", "cook wash cook", "smith iron"], ()),
        (("fly", "iron", "swim"), ["maid iron", "smith iron"], ("fly", "swim")),
        (("iron", "iron"), ["maid iron", "smith iron"], ()),
        (("fly", "fly"), [], ("fly",)),
    ],
)
def test_agents_with_the_most_met_requirements_come_first(
    requirements: tuple[str, ...], found: list[str], unmet: tuple[str, ...]
) -> None:
    discovered = discover(AGENTS, requirements)
    assert [" ".join((one.name, *one.meets)) for one in discovered] == found
    assert discovered.unmet == unmet
