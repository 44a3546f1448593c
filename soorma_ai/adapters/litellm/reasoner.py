"""A Reasoner over litellm: instructor shapes the question, tenacity repeats what may pass."""

import asyncio
import copy
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

from soorma_ai.adapters.litellm.answers import add_up, cost_by, find_answer, paid_for, read_answer
from soorma_ai.adapters.litellm.bodies import Body, read_body
from soorma_ai.adapters.litellm.faults import (
    BadGeneration,
    SchemaRejected,
    find_secrets,
    names_a_key,
    timed_out,
    translate,
)
from soorma_ai.adapters.litellm.guard import check_allowed, is_loopback, is_replayed
from soorma_ai.adapters.litellm.libraries import close_clients_with_loop, libraries
from soorma_ai.adapters.litellm.shapes import MODES, Mode, arguments_for, mode_for, shape
from soorma_ai.core.deciding.finding import Found
from soorma_ai.core.schema.combine import list_in
from soorma_ai.core.schema.portable import Wire, wire_of
from soorma_ai.domain.history import Ending
from soorma_ai.errors import ConfigError, ContentFiltered, ModelRefused, ModelUnavailable, Paid, SoormaError
from soorma_ai.ports import ModelAnswer, ModelQuestion

TRANSPORT_RETRIES = 2
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
LONGEST_RETRY_AFTER = timedelta(seconds=30)
PASSED_OVER = 60.0
NO_KEY = "not-needed"
_OURS = frozenset(
    {"messages", "response_model", "max_retries", "num_retries", "max_tokens", "stream", "context", "logger_fn"}
)
_UNREADABLE = "the provider could not read the answer; give one JSON object that fits the schema"


@dataclass(frozen=True)
class _Reading:
    text: str
    found: Found
    ending: Ending = Ending.GOOD


class LiteLLMReasoner:
    """One model, with others to fall back on, named as litellm does: `openai/gpt-4o`, `anthropic/claude-sonnet-4-5`.

    `api_base` and `api_key` also serve fallbacks of the same provider. `finish_reasons` are ends of an answer, in the
    provider's own words, that are good beside those that are known; `absent` is that of an answer which names none.
    Further keywords go to every call as they are.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        timeout: float = 60.0,
        max_output_tokens: int = 4096,
        fallbacks: Sequence[str] = (),
        mode: Mode = "json_schema",
        finish_reasons: Collection[str] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.perf_counter,
        **llm_kwargs: Any,
    ) -> None:
        if taken := sorted(_OURS & llm_kwargs.keys()):
            raise ConfigError(f"LiteLLMReasoner sets {', '.join(taken)} itself; leave it out")
        if mode not in MODES:
            raise ConfigError(f"mode {mode!r} is none of {', '.join(MODES)}")
        if isinstance(finish_reasons, str):
            raise ConfigError(f"finish_reasons={finish_reasons!r}: give a list of names")
        self.model = model
        self.max_output_tokens = max_output_tokens
        self._models = (model, *fallbacks)
        self._api_base = api_base
        self._api_key = api_key
        self._timeout = timeout
        self._mode: Mode = mode
        self._also_good = frozenset(finish_reasons)
        self._away_until: dict[str, float] = {}
        self._sleep = sleep
        self._monotonic = monotonic
        self._extra = {**llm_kwargs, **({} if temperature is None else {"temperature": temperature})}

    @property
    def provider(self) -> str:
        """Name all that it may call: it is away only when none of them answers. Keys have limits of their own."""
        key = sha256((self._api_key or "").encode()).hexdigest()[:8]
        return " ".join(
            [*dict.fromkeys(f"{_provider(model)}@{self._base(model) or ''}" for model in self._models), key]
        )

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        prices = [_price(model) for model in self._models]
        costs = [cost_by(price, prompt_tokens, completion_tokens) for price in prices if price is not None]
        return max(costs) if len(costs) == len(prices) else None

    def check(self) -> None:
        for model in self._models:
            _provider(model)
            if not self._has_key(model):
                raise ConfigError(
                    f"no key for {model}: set {' or '.join(_missing_keys(model))} in the environment, or give api_key="
                )

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        started = self._monotonic()
        spent: list[Paid] = []
        try:
            model, said = await self._say_first(question, spent, started)
        except SoormaError as fault:
            fault.paid = add_up(spent)
            raise
        paid = add_up(spent)
        return ModelAnswer(
            text=said.text,
            value=said.found.value,
            fault=said.found.fault,
            model=model,
            prompt_tokens=paid.prompt_tokens,
            completion_tokens=paid.completion_tokens,
            cost_usd=paid.cost_usd,
            latency_ms=(self._monotonic() - started) * 1000,
            uncounted=paid.uncounted,
            found=said.found.how,
            ending=said.ending,
        )

    async def _say_first(self, question: ModelQuestion, spent: list[Paid], now: float) -> tuple[str, _Reading]:
        """Get the first answer that there is. One that was away a moment ago is passed over, unless all were."""
        wire = wire_of(question.schema)
        first_fault: ModelUnavailable | ContentFiltered | ModelRefused | None = None
        for model in [model for model in self._models if self._away_until.get(model, now) <= now] or self._models:
            try:
                return model, await self._say(_Attempt(model, question, wire, spent))
            except (ModelUnavailable, ContentFiltered, ModelRefused) as fault:
                first_fault = first_fault or fault
                if isinstance(fault, ModelUnavailable):
                    self._away_until[model] = self._monotonic() + PASSED_OVER
        assert first_fault is not None
        raise first_fault

    async def _say(self, call: "_Attempt") -> _Reading:
        """Get one answer of one model: in another form if its provider refuses this one."""
        mode = mode_for(self._mode, _provider(call.model), call.wire)
        try:
            try:
                return await self._exchange(call, mode)
            except SchemaRejected:
                return await self._exchange(call, "tools")
        except SchemaRejected as refusal:
            raise ConfigError(
                f"{call.model}: the provider takes the decision's schema in no form: {refusal}"
            ) from refusal

    async def _exchange(self, call: "_Attempt", mode: Mode) -> _Reading:
        try:
            response, body = await self._reach(call, shape(call.model, call.question.messages, call.wire, mode))
        except BadGeneration as unreadable:
            return _Reading(unreadable.text, Found(fault=_UNREADABLE))
        call.spent.append(paid_for(response, body, _price(call.model)))
        raw = read_answer(response, body, call.model, self._also_good)
        needed = frozenset(name for name in list_in(call.question.schema.get("required")) if isinstance(name, str))
        return _Reading(raw.text(mode), find_answer(raw, mode, needed), raw.ending)

    async def _reach(self, call: "_Attempt", shaped: Mapping[str, Any]) -> tuple[Any, Body | None]:
        """Call the model, with the only transport retries: all other layers are told to make none."""
        libs = libraries()
        base = self._base(call.model)
        check_allowed(call.model, base)
        await close_clients_with_loop()
        supported = frozenset(libs.litellm.get_supported_openai_params(model=call.model) or ())
        arguments = {
            **arguments_for(shaped, call.wire, supported),
            **self._extra,
            "max_tokens": call.question.room or self.max_output_tokens,
            "timeout": self._timeout,
            "num_retries": 0,
            **({"api_base": base} if base else {}),
            **({"api_key": key} if (key := self._key(call.model)) else {}),
        }
        retrying = libs.tenacity.AsyncRetrying(
            stop=libs.tenacity.stop_after_attempt(TRANSPORT_RETRIES + 1),
            retry=libs.tenacity.retry_if_exception(_may_pass),
            wait=_pause,
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(self._send, call, arguments)

    async def _send(self, call: "_Attempt", arguments: dict[str, Any]) -> tuple[Any, Body | None]:
        libs = libraries()
        said: list[object] = []
        try:
            async with asyncio.timeout(self._timeout):
                response = await libs.litellm.acompletion(**copy.deepcopy(arguments), logger_fn=_listener(said))
        except libs.faults as error:
            secrets = find_secrets(self._api_key)
            fault = translate(error, call.model, secrets)
            if (body := read_body(said[-1]) if said else None) is not None:
                if (response := _rebuild(body)) is not None:
                    return response, body
                call.spent.append(paid_for(None, body, _price(call.model)))
                # It was answered, so nothing is wrong with the request.
                fault = BadGeneration(str(said[-1])) if isinstance(fault, ConfigError) else fault
            elif timed_out(error) or isinstance(fault, BadGeneration):
                call.spent.append(Paid(uncounted=1))
            # A provider's complaint about a key repeats parts of it; then nothing of it may reach a log.
            raise fault from (None if names_a_key(error, secrets) else error)
        return response, read_body(said[-1]) if said else None

    def _is_kin(self, model: str) -> bool:
        return _provider(model) == _provider(self.model)

    def _base(self, model: str) -> str | None:
        return self._api_base if self._is_kin(model) else None

    def _key(self, model: str) -> str | None:
        if self._api_key and self._is_kin(model):
            return self._api_key
        return NO_KEY if self._needs_no_key(model) and _missing_keys(model) else None

    def _has_key(self, model: str) -> bool:
        given = (self._api_key and self._is_kin(model)) or any(name.endswith(_CREDENTIALS) for name in self._extra)
        return bool(given) or self._needs_no_key(model) or not _missing_keys(model)

    def _needs_no_key(self, model: str) -> bool:
        return is_replayed() or is_loopback(self._base(model))


# Providers whose key has other names than their own.
_KEYS = {"gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
_CREDENTIALS = ("_token", "_credentials", "_token_provider", "_key_id")


@dataclass(frozen=True)
class _Attempt:
    """A question to one model. `spent` collects what each of its answers cost, the unusable ones too."""

    model: str
    question: ModelQuestion
    wire: Wire
    spent: list[Paid]


def _listener(said: list[object]) -> Callable[[Mapping[str, Any]], None]:
    """Return what litellm tells of a call; the provider's answer, as it came, goes into `said`."""

    def listen(details: Mapping[str, Any]) -> None:
        if details.get("log_event_type") == "post_api_call":
            said.append(details.get("original_response"))

    return listen


def _rebuild(body: Body) -> Any | None:
    """Return the response of an answer that litellm has got and cannot put together."""
    libs = libraries()
    if body.form != "openai" or "error" in body.content:
        return None
    try:
        return libs.litellm.ModelResponse(**body.content)
    except libs.faults:
        return None


def _may_pass(fault: BaseException) -> bool:
    if not isinstance(fault, ModelUnavailable):
        return False
    return fault.retry_after is None or fault.retry_after <= LONGEST_RETRY_AFTER


def _pause(state: Any) -> float:
    """Return the seconds that the provider asked for, else more from one try to the next."""
    asked: timedelta | None = state.outcome.exception().retry_after
    if asked is not None:
        return asked.total_seconds()
    tenacity = libraries().tenacity
    growing = tenacity.wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)
    return growing(state) + tenacity.wait_random(0, FIRST_PAUSE / 2)(state)


def _provider(model: str) -> str:
    libs = libraries()
    try:
        return str(libs.litellm.get_llm_provider(model)[1])
    except libs.faults as error:
        raise ConfigError(
            f"unknown model {model!r}: name it '<provider>/<model>' with a provider that litellm knows, "
            "for instance 'openai/gpt-4o'"
        ) from error


def _missing_keys(model: str) -> list[str]:
    """Return the API keys that are missing; other credentials (roles, profiles) cannot be seen in the environment."""
    missing: list[str] = libraries().litellm.validate_environment(model)["missing_keys"]
    return [name for name in missing if name.endswith("_API_KEY")] or _empty_keys(_provider(model))


def _empty_keys(provider: str) -> list[str]:
    """Return the key that is set but empty, as a compose file may pass it on; litellm takes that for a key."""
    names = _KEYS.get(provider, (f"{provider.upper()}_API_KEY",))
    given = [os.environ[name] for name in names if name in os.environ]
    return [names[0]] if given and not any(given) else []


def _price(model: str) -> Mapping[str, Any] | None:
    """Return the price in the table that comes with litellm, whose own sums are 0 for some models it does not know."""
    table: Mapping[str, Mapping[str, Any]] = libraries().litellm.model_cost
    for name in (model, model.partition("/")[2]):
        entry = table.get(name)
        if entry is not None and entry.get("input_cost_per_token") is not None:
            return entry
    return None
