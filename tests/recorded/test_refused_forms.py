"""Refused forms of an answer: the next form is used, each is tried once, and the result is remembered."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from model_kit import DECISION, MODEL, SAID, Pauses, Way, always, by_both_ways, in_turn, question, reasoner

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.known_forms import MOST_PROSE, PROSE, FormMemory
from soorma_ai.errors import ConfigError, ModelBlocked, ModelUnavailable
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply, Respond, failure

# Refusals of each provider: a model for its protocol, a status and a message.
REFUSALS = {
    "openai": ("openai/gpt-4o", failure(400, "Invalid schema for response_format 'Decision'")),
    "anthropic extra": ("anthropic/claude-sonnet-4-5", failure(400, "output_format: Extra inputs are not permitted")),
    "anthropic config": ("anthropic/claude-sonnet-4-5", failure(400, "output_config: Extra inputs are not permitted")),
    "gemini name": (
        "gemini/gemini-2.5-flash",
        failure(400, "Unknown name \"responseJsonSchema\" at 'generation_config'"),
    ),
    "gemini depth": ("gemini/gemini-2.5-flash", failure(400, "The schema exceeds the maximum allowed nesting depth.")),
    "ollama": ("ollama_chat/llama3", failure(500, "failed to parse grammar")),
    "vllm": ("hosted_vllm/any", failure(400, "guided_json is not supported by this backend")),
    "router": ("openrouter/any/model", failure(404, "No endpoints found that support the requested parameters.")),
}


def mode_of(body: Mapping[str, Any]) -> str:
    """Return the requested form of an answer, in any protocol."""
    config = body.get("generationConfig", {})
    if body.get("tools"):
        return "tools"
    told = ("response_format", "output_format", "output_config", "format")
    held = [body.get(name) for name in told] + [config.get("responseJsonSchema"), config.get("response_json_schema")]
    return "json_schema" if any(held) or "responseSchema" in json.dumps(config) else "md_json"


def takes(*modes: str, refusal: Reply) -> Respond:
    return lambda body: Reply(SAID) if mode_of(body) in modes else refusal


def over(model: str, server: ModelServer, **options: Any) -> LiteLLMReasoner:
    base = server.url if model.startswith(("openai", "hosted", "openrouter")) else server.url.removesuffix("/v1")
    return LiteLLMReasoner(model, api_base=base, api_key="key", sleep=Pauses(), **options)


@pytest.mark.parametrize("case", [*REFUSALS])
async def test_after_a_refused_form_the_next_is_used_and_the_first_never_tried_again(case: str) -> None:
    model, refusal = REFUSALS[case]
    with ModelServer(takes("tools", "md_json", refusal=refusal)) as server:
        asked = over(model, server)
        for _ in range(3):
            assert (await asked.ask(question())).value == DECISION
        modes = [mode_of(body) for body in server.requests]
    assert modes.count("json_schema") <= 1 and len(modes) == 3 + modes.count("json_schema")


@by_both_ways
async def test_json_in_markdown_is_the_third_form(way: Way) -> None:
    refusal = failure(400, "this server does not support tools or json_schema")
    with ModelServer(takes("md_json", refusal=refusal)) as server:
        asked = reasoner(server, transport=way)
        for _ in range(2):
            assert (await asked.ask(question())).value == DECISION
        assert [mode_of(body) for body in server.requests] == ["json_schema", "tools", "md_json", "md_json"]


async def test_after_refusals_of_every_form_all_are_tried_again_with_a_config_error() -> None:
    with ModelServer(always(failure(400, "Invalid schema"))) as server:
        asked = reasoner(server)
        for _ in range(2):
            with pytest.raises(ConfigError, match="in no form"):
                await asked.ask(question())
        assert len(server.requests) == 6


async def test_the_reasoners_of_a_process_share_the_memory_of_an_address() -> None:
    memory = FormMemory()
    refusal = failure(400, "Invalid schema for response_format")
    with ModelServer(takes("tools", refusal=refusal)) as one, ModelServer(takes("tools", refusal=refusal)) as other:
        for _ in range(2):
            await reasoner(one, memory=memory).ask(question())
        await reasoner(other, memory=memory).ask(question())
        assert (len(one.requests), len(other.requests)) == (3, 2)


@by_both_ways
async def test_a_form_with_three_answers_in_prose_is_dropped(way: Way) -> None:
    prose = Reply("I would reserve it first.")
    with ModelServer(lambda body: Reply(SAID) if mode_of(body) == "tools" else prose) as server:
        memory = FormMemory()
        asked = reasoner(server, transport=way, memory=memory)
        answers = [await asked.ask(question()) for _ in range(MOST_PROSE + 1)]
        assert [answer.value for answer in answers] == [None] * MOST_PROSE + [DECISION]
        assert (await memory.of(MODEL, server.url)).refused == {"json_schema": PROSE}


async def test_a_good_answer_resets_the_count_of_prose() -> None:
    prose = Reply("Hm.")
    with ModelServer(in_turn(prose, prose, Reply(SAID), prose, prose, Reply(SAID))) as server:
        asked = reasoner(server)
        for _ in range(6):
            await asked.ask(question())
        assert {mode_of(body) for body in server.requests} == {"json_schema"}


OTHER_NAME = failure(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code="unsupported_parameter",
)


@by_both_ways
async def test_a_parameter_name_proposed_by_the_provider_is_used_from_then_on(way: Way) -> None:
    def respond(body: JsonObject) -> Reply:
        return Reply(SAID) if "max_completion_tokens" in body else OTHER_NAME

    with ModelServer(respond) as server:
        asked = reasoner(server, "hosted_vllm/next", transport=way)
        for _ in range(3):
            assert (await asked.ask(question())).value == DECISION
        assert ["max_tokens" in body for body in server.requests] == [True, False, False, False]


async def test_a_provider_that_refuses_both_names_is_a_config_error() -> None:
    back = failure(400, "'max_completion_tokens' is not supported. Use 'max_tokens' instead.")
    with ModelServer(lambda body: back if "max_completion_tokens" in body else OTHER_NAME) as server:
        with pytest.raises(ConfigError, match="does not accept the request"):
            await reasoner(server).ask(question())
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "error"), [(failure(500, "boom"), ModelUnavailable), (failure(404, "model_not_found"), ModelBlocked)]
)
async def test_no_other_failure_drops_a_form(reply: Reply, error: type[Exception]) -> None:
    memory = FormMemory()
    with ModelServer(always(reply)) as server:
        with pytest.raises(error):
            await reasoner(server, memory=memory).ask(question())
        assert not (await memory.of(MODEL, server.url)).refused


class StoredForms:
    def __init__(self) -> None:
        self.forms: dict[str, JsonObject] = {}

    async def load(self) -> Mapping[str, JsonObject]:
        return dict(self.forms)

    async def keep(self, model: str, known: JsonObject) -> None:
        self.forms[model] = known


async def test_the_next_process_knows_the_stored_forms_by_an_address_without_password() -> None:
    kept, refusal = StoredForms(), failure(400, "Invalid schema for response_format")
    with ModelServer(takes("tools", refusal=refusal)) as server:
        base = server.url.replace("://", "://user:secret@")
        for _ in range(2):
            asked = LiteLLMReasoner(MODEL, api_base=base, api_key="key", sleep=Pauses(), memory=FormMemory(kept))
            assert (await asked.ask(question())).value == DECISION
        assert len(server.requests) == 3
        assert [*kept.forms] == [f"{MODEL} at {server.url}"]
