"""Agents without a store: what comes for them is leased over HTTP, and what they did is committed there."""

from remote_kit import adder, doubler, elsewhere

from soorma_ai import Platform


async def test_a_tool_and_a_worker_elsewhere_answer_as_those_beside_the_store(platform: Platform) -> None:
    async with elsewhere(platform, adder(), doubler()):
        reply = await platform.request("sum.requested", {"numbers": [1, 2, 3]}, timeout=20)
        assert reply["result"] == {"total": 12, "asked": [1, 2, 3]}
