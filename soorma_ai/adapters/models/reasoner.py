"""A Reasoner: models in order, each with its own transport; tenacity repeats calls after faults that may pass."""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.adapters.extraction import Extraction
from soorma_ai.adapters.models.answers import add_up, cost_of, find_answer, read_answer
from soorma_ai.adapters.models.bodies import Usage
from soorma_ai.adapters.models.direct.providers import PASSED_ON, speaks_openai
from soorma_ai.adapters.models.direct.transport import Direct
from soorma_ai.adapters.models.faults import BadGeneration, ParameterRejected, SchemaRejected, guess_at
from soorma_ai.adapters.models.forms import MODES, NEXT_MODES, AnswerForm, form_for
from soorma_ai.adapters.models.guard import check_allowed, is_loopback, is_replayed
from soorma_ai.adapters.models.known_forms import FormMemory, KnownForms, usable
from soorma_ai.adapters.models.litellm.transport import ThroughLiteLLM
from soorma_ai.adapters.models.prices import Price, read_price
from soorma_ai.adapters.models.texts import read_texts
from soorma_ai.adapters.models.transport import ProviderAnswer, ProviderCall, Transport
from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    ModelBlocked,
    ModelRefused,
    ModelUnavailable,
    Paid,
    RateLimited,
    SoormaError,
    UnreadableAnswer,
)
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.ports import Mode, ModelAnswer, ModelOptions, ModelQuestion, Way
from soorma_ai.kernel.rules.schemas.combine import list_in
from soorma_ai.kernel.runtime.handling.logs import warn

TRANSPORT_RETRIES = 2
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
LONGEST_RETRY_AFTER = timedelta(seconds=30)
PASSED_OVER = 60.0
NO_KEY = "not-needed"
_OURS = frozenset(
    {"messages", "response_model", "max_retries", "num_retries", "max_tokens", "stream", "context", "logger_fn"}
)
_CURE = "every call of a model sets that itself, so leave it out"
_CREDENTIALS = ("_token", "_credentials", "_token_provider", "_key_id")
_UNREADABLE = "the provider could not read the answer; give one JSON object that fits the schema"
_LITELLM, _DIRECT = ThroughLiteLLM(), Direct()


_Fault = ModelUnavailable | ContentFiltered | ModelRefused | ModelBlocked


class _ParsedAnswer(Struct, frozen=True):
    text: str
    found: Extraction
    ending: Ending = Ending.GOOD


class LiteLLMReasoner:
    """One model, with others to fall back on, named as litellm does: `openai/gpt-4o`, `anthropic/claude-sonnet-4-5`.

    `memory` has the known forms of models, shared by the reasoners of a process. For the options see
    `ModelOptions`.
    """

    def __init__(
        self,
        model: str,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.perf_counter,
        memory: FormMemory | None = None,
        **options: Unpack[ModelOptions],
    ) -> None:
        if taken := sorted(_OURS & options.keys()):
            raise ConfigError(f"{model}: {', '.join(f'{name}=' for name in taken)} cannot be set; {_CURE}")
        self.model = model
        self.max_output_tokens = options.get("max_output_tokens", 4096)
        extra = options.keys() - ModelOptions.__annotations__.keys()
        self._extra: dict[str, Any] = {name: options[name] for name in extra}
        if (temperature := options.get("temperature")) is not None:
            self._extra["temperature"] = temperature
        self._api_base, self._api_key = options.get("api_base"), options.get("api_key")
        self._models = (model, *options.get("fallbacks", ()))
        self._ways = {name: self._way(name, options.get("transport")) for name in self._models}
        self._price = read_price(options.get("price"))
        self._timeout = options.get("timeout", 60.0)
        self._mode: Mode = _mode(options.get("mode", "json_schema"))
        self._also_good = _finish_reasons(options.get("finish_reasons", ()))
        self._away_until: dict[str, float] = {}
        self._memory = memory or FormMemory()
        self._sleep = sleep
        self._monotonic = monotonic

    @property
    def provider(self) -> str:
        """Name all that it may call: it is away only when none of them answers. Keys have limits of their own."""
        key = sha256((self._api_key or "").encode()).hexdigest()[:8]
        called = (f"{self._provider(model)}@{self._base(model) or ''}" for model in self._models)
        return " ".join([*dict.fromkeys(called), key])

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        prices = [self._price_of(model) for model in self._models]
        kinds = [Usage(prompt_tokens, completion_tokens, written_tokens=written) for written in (0, prompt_tokens)]
        costs = [max(map(price.cost, kinds)) for price in prices if price is not None]
        return max(costs) if len(costs) == len(prices) else None

    def check(self) -> None:
        """Raise ModelBlocked where a call cannot work: a library, an address or a key is missing, also of a
        fallback."""
        _tenacity()
        for model in self._models:
            self._ways[model].check(model, self._base(model))
            if not self._has_key(model):
                names = " or ".join(self._ways[model].missing_keys(model))
                guess = guess_at(model, self._base(model))
                raise ModelBlocked(f"no key for {model}: set {names} in the environment, or give api_key={guess}")

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
            cached_tokens=paid.cached_tokens,
            found=said.found.how,
            ending=said.ending,
        )

    async def _say_first(self, question: ModelQuestion, spent: list[Paid], now: float) -> tuple[str, _ParsedAnswer]:
        """Get the first answer that there is. One that was away or blocked a moment ago is passed over, unless all
        were."""
        faults: list[_Fault] = []
        for model in [model for model in self._models if self._away_until.get(model, now) <= now] or self._models:
            try:
                return model, await self._say(model, question, spent)
            except (ModelUnavailable, ContentFiltered, ModelRefused, ModelBlocked) as fault:
                faults.append(fault)
                if isinstance(fault, ModelUnavailable | ModelBlocked):
                    self._away_until[model] = self._monotonic() + PASSED_OVER
                if isinstance(fault, ModelBlocked) and len(self._models) > 1:
                    warn("model_blocked", reason=fault)
        raise _worth_telling(faults)

    async def _say(self, model: str, question: ModelQuestion, spent: list[Paid]) -> _ParsedAnswer:
        """Get one answer of one model: in the next form if its provider refuses one, which is remembered."""
        known = await self._memory.of(model, self._base(model))
        forms = usable((self._form(model, question, mode) for mode in (self._mode, *NEXT_MODES)), known)
        refusal: SchemaRejected | None = None
        for form in forms[1:] if question.other_form and len(forms) > 1 else forms:
            try:
                return await self._exchange(self._call(model, question, form, spent), question, known)
            except SchemaRejected as refused:
                known.refused[form.mode] = str(refused)
                await self._memory.keep(model, self._base(model))
                refusal = refused
        raise ConfigError(f"{model}: the provider takes the decision's schema in no form: {refusal}") from refusal

    async def _exchange(self, call: ProviderCall, question: ModelQuestion, known: KnownForms) -> _ParsedAnswer:
        try:
            said = await self._follow(call, known)
        except BadGeneration as unreadable:
            return _ParsedAnswer(unreadable.text, Extraction(fault=_UNREADABLE))
        call.spent.append(cost_of(said, call.price))
        raw = read_answer(said, call.model, self._also_good)
        needed = frozenset(name for name in list_in(question.schema.get("required")) if isinstance(name, str))
        found = find_answer(raw, call.form.mode, needed)
        if found.value is not None:
            value = read_texts(found.value, call.form.wire)
            found = replace(found, value=value) if isinstance(value, dict) else found
        if known.count_prose(call.form.mode, is_prose=found.value is None and raw.is_prose):
            await self._memory.keep(call.model, call.base)
        return _ParsedAnswer(raw.text(call.form.mode), found, raw.ending)

    async def _follow(self, call: ProviderCall, known: KnownForms) -> ProviderAnswer:
        """Call the model; once more where its provider names another parameter, which is remembered."""
        call = replace(call, room_name=known.room)
        try:
            return await self._reach(call)
        except ParameterRejected as named:
            if named.wanted == call.room_name:
                raise ConfigError(f"{call.model}: the provider does not accept the request: {named}") from named
            known.room = named.wanted
            await self._memory.keep(call.model, call.base)
            try:
                return await self._reach(replace(call, room_name=named.wanted))
            except ParameterRejected as again:
                raise ConfigError(f"{call.model}: the provider does not accept the request: {again}") from again

    async def _reach(self, call: ProviderCall) -> ProviderAnswer:
        """Call the model, with the only transport retries: all other layers are told to make none."""
        check_allowed(call.model, call.base)
        tenacity = _tenacity()
        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(TRANSPORT_RETRIES + 1),
            retry=tenacity.retry_if_exception(_may_pass),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=_warn_once,
            reraise=True,
        )
        said: ProviderAnswer = await retrying(self._ways[call.model].send, call)
        return said

    def _call(self, model: str, question: ModelQuestion, form: AnswerForm, spent: list[Paid]) -> ProviderCall:
        return ProviderCall(
            model,
            question.messages,
            form,
            self._base(model),
            self._key(model),
            self._timeout,
            question.room or self.max_output_tokens,
            self._extra,
            self._price_of(model),
            spent,
        )

    def _form(self, model: str, question: ModelQuestion, mode: Mode) -> AnswerForm:
        is_direct = self._ways[model] is _DIRECT
        return form_for(mode, self._provider(model), question.schema, direct=is_direct)

    def _way(self, model: str, wanted: Way | None) -> Transport:
        if wanted not in (None, "litellm", "direct"):
            raise ConfigError(f"transport={wanted!r}: give 'litellm' or 'direct', or leave it out")
        base = self._api_base if model.partition("/")[0] == self.model.partition("/")[0] else None
        may_be_direct = speaks_openai(model, base)
        others = sorted(name for name in self._extra if name not in PASSED_ON)
        if wanted == "direct" and (not may_be_direct or others):
            why = (
                f"litellm alone knows {', '.join(others)}"
                if may_be_direct
                else "it does not speak OpenAI's wire format"
            )
            raise ConfigError(f"transport='direct' cannot reach {model}: {why}")
        return _DIRECT if wanted != "litellm" and may_be_direct and not others else _LITELLM

    def _provider(self, model: str) -> str:
        return self._ways[model].provider(model)

    def _is_kin(self, model: str) -> bool:
        return model == self.model or self._provider(model) == self._provider(self.model)

    def _base(self, model: str) -> str | None:
        return self._api_base if self._is_kin(model) else None

    def _key(self, model: str) -> str | None:
        if self._api_key and self._is_kin(model):
            return self._api_key
        return NO_KEY if self._needs_no_key(model) and self._ways[model].missing_keys(model) else None

    def _has_key(self, model: str) -> bool:
        given = (self._api_key and self._is_kin(model)) or any(name.endswith(_CREDENTIALS) for name in self._extra)
        return bool(given) or self._needs_no_key(model) or not self._ways[model].missing_keys(model)

    def _needs_no_key(self, model: str) -> bool:
        return is_replayed() or is_loopback(self._base(model))

    def _price_of(self, model: str) -> Price | None:
        if model == self.model and self._price is not None:
            return self._price
        return self._ways[model].price(model)


def _mode(given: Mode) -> Mode:
    if given not in MODES:
        raise ConfigError(f"mode {given!r} is none of {', '.join(MODES)}")
    return given


def _finish_reasons(given: Collection[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise ConfigError(f"finish_reasons={given!r}: give a list of names")
    return frozenset(given)


def _worth_telling(faults: list[_Fault]) -> _Fault:
    """Return the first fault; but one that passes by itself before one that an operator has to mend."""
    first = faults[0]
    if isinstance(first, ModelBlocked):
        return next((fault for fault in faults if isinstance(fault, ModelUnavailable)), first)
    return first


def _tenacity() -> Any:
    try:
        return importlib.import_module("tenacity")
    except ImportError as error:
        raise ModelBlocked(
            "calling a model needs tenacity, which is not installed: pip install 'soorma-ai[direct]', or [llm]"
        ) from error


def _may_pass(fault: BaseException) -> bool:
    if not isinstance(fault, ModelUnavailable) or isinstance(fault, UnreadableAnswer):
        return False
    return fault.retry_after is None or fault.retry_after <= LONGEST_RETRY_AFTER


def _warn_once(state: Any) -> None:
    """Say at once that a model is away, before it is tried again and again."""
    fault: object = state.outcome.exception()
    if state.attempt_number == 1 and not isinstance(fault, RateLimited):
        warn("model_away", reason=fault)


def _pause(state: Any) -> float:
    """Return the seconds that the provider asked for, else more from one try to the next."""
    asked: timedelta | None = state.outcome.exception().retry_after
    if asked is not None:
        return asked.total_seconds()
    tenacity = _tenacity()
    growing = tenacity.wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)
    return growing(state) + tenacity.wait_random(0, FIRST_PAUSE / 2)(state)
