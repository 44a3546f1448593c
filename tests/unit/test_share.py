"""Fair shares of a ranking among agents."""

import pytest

from soorma_ai.kernel.rules.choices.ranking import share


@pytest.mark.parametrize(
    ("ranked", "shared"),
    [
        ("", ""),
        ("aaaaaaaa", "aaaaaaaa"),
        ("aaaaaaaab", "aaaabaaaa"),
        ("aaaaaaaabbbb", "aaaabbbbaaaa"),
        ("abababab", "abababab"),
        ("aaaaaabc", "aaaabcaa"),
    ],
)
def test_no_agent_has_more_than_half_of_a_ranking_while_others_have_any(ranked: str, shared: str) -> None:
    names = [f"{agent}{n}" for n, agent in enumerate(ranked)]
    found = share(names, lambda name: name[0])
    assert "".join(name[0] for name in found) == shared
    assert sorted(found) == sorted(names)
    for agent in {*ranked}:
        own = [name for name in found if name[0] == agent]
        assert own == [name for name in names if name[0] == agent], "each agent's events keep their order"


def test_sharing_a_long_list_takes_linear_time() -> None:
    names = [f"a{n}" for n in range(50_000)] + [f"b{n}" for n in range(50_000)]
    found = share(names, lambda name: name[0])
    assert len(found) == 100_000 and {name[0] for name in found[4:8]} == {"b"}
