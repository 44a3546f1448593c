"""The way through litellm: every provider that it knows, each in its own wire format."""

import asyncio
import copy
import json
import os
import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from soorma_ai.adapters.models.answers import cost_of
from soorma_ai.adapters.models.bodies import Body, body_of, read_body, usage_of
from soorma_ai.adapters.models.faults import (
    BadGeneration,
    CallFailure,
    error_in,
    error_of,
    find_secrets,
    translate,
    unreached_url,
)
from soorma_ai.adapters.models.litellm.libraries import close_clients_with_loop, libraries
from soorma_ai.adapters.models.litellm.shapes import arguments_for
from soorma_ai.adapters.models.prices import Price, price_in
from soorma_ai.adapters.models.streams import answer_of, assemble, is_stream, values_in
from soorma_ai.adapters.models.transport import ProviderAnswer, ProviderCall
from soorma_ai.errors import ConfigError, ModelBlocked, Paid, UnreadableAnswer
from soorma_ai.kernel.domain.values import JsonObject

# By these words litellm tells that it cannot read an answer with a good status.
_UNREADABLE = re.compile(
    r"json response|Expecting value|Unterminated string|Extra data|Expecting property name|Expecting ',' delimiter|"
    r"Invalid control character|valid response block|Unexpected response from Azure|Empty or invalid response|"
    r"Error in response object|invalid response|argument after \*\* must be a mapping|list indices must be|"
    r"object has no attribute 'get'|APIConnectionError: 'output'",
    re.IGNORECASE,
)
_RECEIVED = re.compile(r"(?:Received: |Unexpected response from Azure: )('.*'|\".*\")(?:\. Check|$)", re.DOTALL)
# Providers whose key has other names than their own.
_KEYS = {"gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}


class ThroughLiteLLM:
    def provider(self, model: str) -> str:
        return _provider(model)

    def check(self, model: str, base: str | None) -> None:
        _provider(model)

    def missing_keys(self, model: str) -> list[str]:
        """Other credentials (roles, profiles) cannot be seen in the environment."""
        missing: list[str] = libraries().litellm.validate_environment(model)["missing_keys"]
        return [name for name in missing if name.endswith("_API_KEY")] or _empty_keys(_provider(model))

    def price(self, model: str) -> Price | None:
        """Return the price in litellm's table. The sums of litellm itself are 0 for some models that it does not
        know."""
        return price_in(libraries().litellm.model_cost, model)

    async def send(self, call: ProviderCall) -> ProviderAnswer:
        libs = libraries()
        await close_clients_with_loop()
        said: list[object] = []
        try:
            async with asyncio.timeout(call.timeout):
                response = await libs.litellm.acompletion(
                    **arguments_for(call, _provider(call.model)),
                    **copy.deepcopy(dict(call.extra)),
                    **{call.room_name or "max_tokens": call.room},
                    timeout=call.timeout,
                    num_retries=0,
                    **({"api_base": call.base} if call.base else {}),
                    **({"api_key": call.key} if call.key else {}),
                    logger_fn=_listener(said),
                )
        except libs.faults as error:
            return _make_the_best_of(error, _text_of(error, said), call)
        return _read(response, read_body(said[-1]) if said else None)


def _make_the_best_of(error: Exception, text: str, call: ProviderCall) -> ProviderAnswer:
    """Return the answer that litellm has got and cannot put together. Raise the error of ours for any other."""
    secrets = find_secrets(call.key)
    failed = describe_fault(error, call.base, text)
    fault = translate(failed, call.model, secrets)
    if (streamed := _streamed(text)) is not None:
        return streamed
    if (body := read_body(text)) is not None:
        if (response := _rebuild(body)) is not None:
            return _read(response, body)
        if (read := answer_of(body)) is not None:
            return read
        call.spent.append(cost_of(ProviderAnswer(body, ()), call.price))
        # It was answered, so nothing is wrong with the request.
        fault = BadGeneration(text) if isinstance(fault, ConfigError | UnreadableAnswer) else fault
    elif failed.timed_out or isinstance(fault, BadGeneration | UnreadableAnswer):
        call.spent.append(Paid(uncounted=1))
    # A provider's complaint about a key repeats parts of it; then nothing of it may reach a log.
    raise fault from (None if failed.names_a_key(secrets) else error)


def _text_of(error: Exception, said: Sequence[object]) -> str:
    """Return the provider's answer as it came, as far as litellm tells it."""
    if (found := _RECEIVED.search(str(error))) is not None:
        try:
            return str(literal_eval(found[1]))
        except (ValueError, SyntaxError):
            return ""
    return next((one for one in reversed(said) if isinstance(one, str) and one), "")


def _streamed(text: str) -> ProviderAnswer | None:
    """Return the answer of a stream that came without a request for it."""
    pieces = [*values_in(text.strip())]
    body = body_of(assemble(pieces)) if len(pieces) > 1 or is_stream(text) else None
    return answer_of(body) if body is not None else None


def describe_fault(error: Exception, base: str | None, said: str = "") -> CallFailure:
    """Return the failure of a call. litellm gives a bad status to an answer with a good one that it cannot read."""
    headers = getattr(error, "litellm_response_headers", None)
    body = getattr(error, "body", None)
    text = str(error)
    status = getattr(error, "status_code", None)
    object_ = cast(JsonObject, body) if isinstance(body, dict) else error_in(text)
    is_unreadable = _UNREADABLE.search(text) is not None
    if is_unreadable and (told := error_of(said)):
        object_, status, is_unreadable = told, told.get("code"), False
    return CallFailure(
        text,
        status if isinstance(status, int) else None,
        {"code": status, **object_} if isinstance(status, str) else object_,
        cast(Mapping[str, str], headers).get("retry-after") if isinstance(headers, Mapping) else None,
        frozenset(kind.__name__ for kind in type(error).__mro__),
        unreached_url(error),
        base,
        is_unreadable,
    )


def _read(response: Any, body: Body | None) -> ProviderAnswer:
    choices: list[Any] = list(getattr(response, "choices", None) or ())
    told = getattr(response, "usage", None)
    hidden: Mapping[str, Any] = getattr(response, "_hidden_params", None) or {}
    cost = hidden.get("response_cost")
    return ProviderAnswer(
        body,
        contents=tuple(str(getattr(choice.message, "content", None) or "") for choice in choices),
        calls=tuple(_call(call) for choice in choices for call in getattr(choice.message, "tool_calls", None) or ()),
        finishes=tuple(_finish(choice) for choice in choices[:1]),
        refusal=next((said for choice in choices if (said := _refusal(choice.message))), ""),
        usage=usage_of(getattr(told, "prompt_tokens", None), getattr(told, "completion_tokens", None)),
        cost_usd=cost if isinstance(cost, float) else None,
    )


def _finish(choice: Any) -> str:
    """Return the provider's own word, which litellm keeps where it has replaced it."""
    extra: Mapping[str, Any] = getattr(choice, "provider_specific_fields", None) or {}
    return str(extra.get("native_finish_reason") or choice.finish_reason or "")


def _refusal(message: Any) -> str:
    extra: Mapping[str, Any] = getattr(message, "provider_specific_fields", None) or {}
    return str(extra.get("refusal") or getattr(message, "refusal", None) or "")


def _call(call: Any) -> tuple[str, str]:
    """Return name and arguments of a call. A tool of the provider's own kind has no function."""
    function: Any = getattr(call, "function", None)
    if function is None:
        return f"custom {getattr(call, 'type', None) or 'tool'}", ""
    arguments = function.arguments
    return str(function.name or ""), arguments if isinstance(arguments, str) else json.dumps(arguments)


def _listener(said: list[object]) -> Callable[[Mapping[str, Any]], None]:
    """Return a listener to litellm's calls; the provider's answer, as it came, goes into `said`."""

    def listen(details: Mapping[str, Any]) -> None:
        if details.get("log_event_type") == "post_api_call":
            said.append(details.get("original_response"))

    return listen


def _rebuild(body: Body) -> Any | None:
    libs = libraries()
    if body.form != "openai" or "error" in body.content:
        return None
    try:
        return libs.litellm.ModelResponse(**body.content)
    except libs.faults:
        return None


@lru_cache(maxsize=256)
def _provider(model: str) -> str:
    libs = libraries()
    try:
        return str(libs.litellm.get_llm_provider(model)[1])
    except libs.faults as error:
        raise ModelBlocked(
            f"unknown model {model!r}: name it '<provider>/<model>' with a provider that litellm knows, "
            "for instance 'openai/gpt-4o'"
        ) from error


def _empty_keys(provider: str) -> list[str]:
    """Return the key that is set but empty, as a compose file may pass it on; litellm takes that for a key."""
    names = _KEYS.get(provider, (f"{provider.upper()}_API_KEY",))
    given = [os.environ[name] for name in names if name in os.environ]
    return [names[0]] if given and not any(given) else []
