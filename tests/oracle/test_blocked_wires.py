"""A provider refuses the set-up, on every wire and in its own words, in the middle of a plan after a payment: the plan
rests, continues after the repair, and has paid once."""

import json
from typing import Any

import pytest
from kit import PATIENCE, order, payments, running_platform, until
from wires import WIRES
from wires.form import Question, Reply, ScriptedAnswer, WireResponse
from wires.loopback import Loopback

from soorma_ai import ChoreographyPlanner
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish


def openai(status: int, message: str, kind: str, code: str | None) -> WireResponse:
    return WireResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def anthropic(status: int, kind: str, message: str) -> WireResponse:
    return WireResponse({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_0"}, status)


def gemini(status: int, word: str, message: str, *details: dict[str, Any]) -> WireResponse:
    return WireResponse({"error": {"code": status, "message": message, "status": word, "details": [*details]}}, status)


OPENAI = {
    "401": openai(401, "Incorrect API key provided: sk-proj-****abcd.", "invalid_request_error", "invalid_api_key"),
    "403": openai(403, "You are not allowed to sample from this model.", "invalid_request_error", None),
    "quota": openai(429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    "gone": openai(404, "The model `gpt-4o` does not exist.", "invalid_request_error", "model_not_found"),
}
CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
INVALID_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
REFUSALS: dict[str, dict[str, WireResponse]] = {
    "openai": OPENAI,
    "direct": OPENAI,
    "anthropic": {
        "401": anthropic(401, "authentication_error", "invalid x-api-key"),
        "403": anthropic(403, "permission_error", "Your API key does not have permission to use the resource."),
        "quota": anthropic(400, "invalid_request_error", CREDIT),
        "gone": anthropic(404, "not_found_error", "model: claude-sonnet-4-5"),
    },
    "gemini": {
        "401": gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", INVALID_KEY),
        "403": gemini(403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before."),
        "quota": gemini(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan."),
        "gone": gemini(404, "NOT_FOUND", "models/gemini-2.5-flash is not found for API version v1beta."),
    },
    "ollama": {
        "401": WireResponse({"error": "unauthorized"}, 401),
        "403": WireResponse({"error": "this model requires a subscription, upgrade for access"}, 403),
        "quota": WireResponse({"error": "payment required"}, 402),
        "gone": WireResponse({"error": "model 'llama3.1' not found"}, 404),
    },
}
SAYS = {"401": "does not accept the key", "403": "does not accept the key", "quota": "quota", "gone": "no such model"}


def said(decision: Any) -> ScriptedAnswer:
    return ScriptedAnswer(json.dumps(decision))


async def _never(seconds: float) -> None: ...


class Provider:
    """Answers with the payment first, refuses then, and completes after its repair. `asked` counts the requests."""

    def __init__(self, refusal: WireResponse) -> None:
        self.refusal = refusal
        self.is_mended = False
        self.asked = 0

    def __call__(self, model: str, question: Question) -> Reply:
        self.asked += 1
        if self.asked == 1:
            return said(publish("payment.charge.requested", amount=1))
        return said(complete({"ok": True})) if self.is_mended else self.refusal


@pytest.mark.parametrize("cause", SAYS)
@pytest.mark.parametrize("name", WIRES)
async def test_a_plan_rests_on_a_refusing_provider_and_continues_with_one_payment(
    name: str, cause: str, tmp_path: Any
) -> None:
    wire, charged, clock = WIRES[name], list[Any](), VirtualClock()
    provider = Provider(REFUSALS[name][cause])
    with Loopback(provider) as server:
        reasoner = LiteLLMReasoner(
            wire.model, api_base=server.address("m", wire), api_key="any", sleep=_never, **wire.options
        )
        minds = ChoreographyPlanner("orders", goals=["order.received"], reasoner=reasoner)
        async with running_platform(tmp_path / "flow.db", clock) as platform:
            plan = await order(platform, minds, payments(charged=charged))

            async def needs_an_operator() -> Any:
                return (await platform.plan(plan.plan_id)).blocked

            (blocked,) = await until(platform, needs_an_operator)
            assert SAYS[cause] in blocked.reason
            details = await platform.plan(plan.plan_id)
            assert (details.status, provider.asked, charged) == ("paused", 2, [1])
            assert (len(details.decisions), details.usage.llm_calls) == (1, 1)
            await clock.advance(3600)
            provider.is_mended = True
            assert await platform.resume(plan.plan_id) == "accepted"
            assert await plan.result(timeout=PATIENCE) == {"ok": True}
            usage = (await platform.plan(plan.plan_id)).usage
    assert (charged, provider.asked, usage.llm_calls, usage.actions) == ([1], 3, 2, 1)
