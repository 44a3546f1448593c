"""Cases in which a newcomer once got no message, or a false one. Each has a clear message now."""

import pytest

pytest_plugins = ["pytester"]

HANGS = """
from soorma_ai import ChoreographyPlanner, Platform, Tool
from soorma_ai.errors import ModelUnavailable
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner


bank = Tool("bank")


@bank.on_invoke("refund.pay.requested")
async def pay(request, context):
    return {}


async def test_waits():
    script = ScriptedReasoner(lambda _: ModelUnavailable("http://127.0.0.1:9 cannot be reached"))
    planner = ChoreographyPlanner("refunds", goals=["refund.wanted"], reasoner=script)
    async with Platform("sqlite://", clock=VirtualClock()) as platform:
        await platform.start(planner, bank)
        plan = await platform.submit("refund.wanted", {})
        await plan.next_wait()
"""
OPTIONS = ("-q", "-p", "no:cacheprovider", "--asyncio-mode=auto", "-W", "ignore")


def test_a_test_with_an_unavailable_model_fails_with_the_models_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_hangs=HANGS)
    pytester.makeini("[pytest]\nsoorma_model_patience = 0.5\n")
    result = pytester.runpytest_subprocess(*OPTIONS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ModelUnavailable: plan * rests: its model has been away for 0.5 s of this test: *"])
    result.stdout.fnmatch_lines(["*http://127.0.0.1:9 cannot be reached*"])


def test_patience_is_ten_seconds_by_default_and_takes_numbers_only(pytester: pytest.Pytester) -> None:
    told = "def test_patience(pytestconfig):\n    assert pytestconfig.getini('soorma_model_patience') == '10'\n"
    pytester.makepyfile(
        test_told=told
        + "    from soorma_ai.kernel.runtime.handling.process.circuits import patience\n    assert patience() == 10\n"
    )
    pytester.runpytest_subprocess(*OPTIONS).assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess(*OPTIONS, "-o", "soorma_model_patience=soon")
    assert "soorma_model_patience = soon: give a number of seconds, or 0" in result.stdout.str() + result.stderr.str()
