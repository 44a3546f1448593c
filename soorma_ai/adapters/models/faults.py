"""Faults of calls as errors of ours, read from the words of providers and not from the wrapping of a client."""

import json
import os
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import cast
from urllib.parse import urlsplit

from msgspec import Struct, field

from soorma_ai.adapters.models.guard import is_loopback
from soorma_ai.adapters.models.refused_forms import refuses_form, replacement_of
from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    ModelBlocked,
    ModelUnavailable,
    RateLimited,
    SoormaError,
    UnreadableAnswer,
)
from soorma_ai.kernel.domain.values import Json, JsonObject, clip

_SECRET = re.compile(
    r"\b(?:sk|gsk|xai|hf)[-_](?=[\w-]*\d)[\w-]{16,}|\bsk-[\w-]*\*{2,}[\w*-]*|\bAIza[\w-]{20,}|Bearer\s+[\w.~+/=-]{12,}"
)
_FILTERED = re.compile(r"content management policy|finish_reason['\"]: ['\"]content_filter", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|context window|prompt is too long|input is too long|"
    r"too many tokens|maximum number of tokens|exceeds? (the )?(available )?context",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance is too low|billing_(hard_limit_reached|not_active)",
    re.IGNORECASE,
)
_GONE = re.compile(r"model_not_found|model_decommissioned|DeploymentNotFound", re.IGNORECASE)
# A request that OpenAI takes for a breach of its rules of use.
_INVALID_PROMPT = "invalid_prompt"
_LOADING = re.compile(r"\bis (?:currently |still )?(?:loading|being loaded|warming up)|\bloading model", re.IGNORECASE)
# A quota of a day ends by itself, though no moment is told.
_OF_A_DAY = re.compile(r"per ?day|PerDay|daily", re.IGNORECASE)
A_WHILE = timedelta(minutes=30)
_BESIDES = re.compile(r"Traceback|This looks like a bug")
_RETRY_DELAY = re.compile(r"retryDelay\W+([0-9.]+)s")
_TRY_AGAIN = re.compile(r"try again in (?:(\d+)h)?(?:(\d+)m(?!s))?(?:([0-9.]+)s)?", re.IGNORECASE)
_NOBODY = frozenset({"ConnectError", "ConnectTimeout"})
_MOST_CAUSES = 20
_SHORTEST_SECRET = 8  # a shorter one is a placeholder, and may be a word of the message
_MAY_WORK_LATER = frozenset({409, 424, 425, 499})
_AS_LOCAL = frozenset({"openai", "custom_openai", "openai_like", "hosted_vllm", "lm_studio", "llamafile"})


class SchemaRejected(Exception):
    """The provider does not take the schema in this form; it may take another."""


class ParameterRejected(Exception):
    """The provider knows the room of an answer by the other name `wanted`."""

    def __init__(self, wanted: str, said: str) -> None:
        super().__init__(said)
        self.wanted = wanted


class BadGeneration(Exception):
    """The provider refused the model's answer as malformed. `text` is that answer."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without these secrets and without words that look like a key."""
    for secret in secrets:
        text = text.replace(secret, "<scrubbed>")
    return _SECRET.sub("<scrubbed>", text)


def find_secrets(given: str | None) -> list[str]:
    """Return the given key and those in the environment."""
    set_here = [value for name, value in os.environ.items() if name.endswith("_API_KEY")]
    return [secret for secret in (given or "", *set_here) if len(secret) >= _SHORTEST_SECRET]


class CallFailure(Struct, frozen=True):
    """Failed call, as far as it is known. `text` is the whole response, `error` the provider's own object in it;
    `kinds` are the names of the classes of a client's error. `unreached` is the URL without a server, and `base` the
    address given by the caller. `is_unreadable`: the response has a good status and is no answer."""

    text: str
    status: int | None = None
    error: JsonObject = field(default_factory=dict[str, Json])
    retry_after: str | None = None
    kinds: frozenset[str] = frozenset()
    unreached: str = ""
    base: str | None = None
    is_unreadable: bool = False

    @property
    def code(self) -> str:
        return str(self.error.get("code") or "")

    @property
    def pause(self) -> timedelta | None:
        """Return the wait that is asked for in seconds; a date is not read, since there is no clock here."""
        delay = _RETRY_DELAY.search(self.text)
        if self.retry_after is None and delay is None:
            return _pause_in(self.text)
        try:
            seconds = float(self.retry_after if self.retry_after is not None else delay.group(1) if delay else "")
        except ValueError:
            return None
        return timedelta(seconds=seconds) if 0 <= seconds < 10**7 else None

    @property
    def timed_out(self) -> bool:
        """Tell whether the call may have been answered, and paid, all the same."""
        return self.status == 408 or bool(self.kinds & {"Timeout", "TimeoutError", "TimeoutException"})

    def names_a_key(self, secrets: Iterable[str]) -> bool:
        return self.status in (401, 403) or scrub(self.text, secrets) != self.text


def translate(
    failed: CallFailure, model: str, secrets: Iterable[str] = ()
) -> SoormaError | SchemaRejected | ParameterRejected | BadGeneration:
    status, kinds, text = failed.status, failed.kinds, failed.text
    said = clip(scrub(str(failed.error.get("message") or _words(text)), secrets), 400)
    filtered = {"content_filter", _INVALID_PROMPT} & {status, failed.code}
    if "ContentPolicyViolationError" in kinds or filtered or _FILTERED.search(text):
        return ContentFiltered(f"{model}: the provider filtered the request or the answer: {said}")
    if status in (401, 403) or kinds & {"AuthenticationError", "PermissionDeniedError"}:
        guess = guess_at(model, failed.base)
        return ModelBlocked(f"{model}: the provider does not accept the key (status {status}); set another one{guess}")
    if _is_spent_for_today(failed):
        return RateLimited(f"{model}: the quota of a day is used up: {said}", retry_after=failed.pause or A_WHILE)
    if status == 402 or failed.code == "insufficient_quota" or (_NO_QUOTA.search(text) and failed.pause is None):
        return ModelBlocked(f"{model}: the provider's quota is used up; add credit or use another key")
    if status == 429 or "RateLimitError" in kinds:
        return RateLimited(f"{model}: too many requests: {said}", retry_after=failed.pause)
    if failed.unreached:
        return ModelUnavailable(f"{model}: {failed.unreached} cannot be reached ({said}): {_advice(failed, model)}")
    if failed.timed_out:
        return ModelUnavailable(f"{model}: no answer in time")
    if isinstance(generation := failed.error.get("failed_generation"), str):
        return BadGeneration(generation)
    if failed.is_unreadable:
        return UnreadableAnswer(f"{model}: what came is no answer of a model: {said or 'nothing'}")
    if _LOADING.search(text):
        return ModelUnavailable(f"{model}: the model is not loaded yet: {said}", retry_after=failed.pause)
    if _is_final(status) or refuses_form(status, text):
        return _refusal(failed, model, said)
    return ModelUnavailable(f"{model}: no usable answer: {said}", retry_after=failed.pause)


def guess_at(model: str, base: str | None) -> str:
    """Return a hint at a forgotten setting, for a call without the address of a server. Models of local servers have
    names like those of OpenAI."""
    is_hosted = model.partition("/")[0] not in _AS_LOCAL
    return "" if base is not None or is_hosted else "; api_base is not set: is a local server meant? Give api_base="


def unreached_url(error: BaseException) -> str:
    """Return the URL without a server, from the client behind an error; empty for any other error. Parts that may hold
    a key are left out."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            break
        if type(cause).__name__ in _NOBODY and type(cause).__module__.partition(".")[0] == "httpx":
            request: object = getattr(cause, "_request", None)
            url = urlsplit(str(getattr(request, "url", "")))
            return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
        cause = cause.__cause__ or cause.__context__
    return ""


def _advice(failed: CallFailure, model: str) -> str:
    if failed.base is not None or is_loopback(failed.unreached):
        return "start the server there, or give the address of another by api_base="
    return f"try again when the network is there{guess_at(model, failed.base)}"


def error_in(text: str) -> JsonObject:
    """Return the provider's own error object, which stands in the text as JSON."""
    start = text.find("{")
    if start < 0:
        return {}
    try:
        found = cast(Json, json.JSONDecoder().raw_decode(text, start)[0])
    except (ValueError, RecursionError):
        return {}
    inner = found.get("error") if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else {}


def error_of(text: str) -> JsonObject:
    """Return the error in a body with a good status; empty without one."""
    try:
        found = cast(Json, json.loads(text))
    except (ValueError, RecursionError):
        return {}
    error = found.get("error") if isinstance(found, dict) else None
    match error:
        case dict():
            return error
        case str() if error:
            return {"message": error}
        case _:
            return {}


def _is_final(status: object) -> bool:
    """Tell whether the request is at fault."""
    return isinstance(status, int) and 400 <= status < 500 and status not in _MAY_WORK_LATER


def _is_spent_for_today(failed: CallFailure) -> bool:
    return failed.status == 429 and failed.code != "insufficient_quota" and _OF_A_DAY.search(failed.text) is not None


def _pause_in(text: str) -> timedelta | None:
    """Return the wait that is asked for in words, as "try again in 7m12s"."""
    found = _TRY_AGAIN.search(text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds = found.groups()
    try:
        return timedelta(hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0))
    except (ValueError, OverflowError):
        return None


def _refusal(failed: CallFailure, model: str, said: str) -> ConfigError | SchemaRejected | ParameterRejected:
    status, kinds, text = failed.status, failed.kinds, failed.text
    if "ContextWindowExceededError" in kinds or status == 413 or _TOO_LONG.search(text):
        return ConfigError(
            f"{model}: the prompt is longer than its context window: {said}. "
            "Use a model with a larger one, or shorten instructions, history or custom context"
        )
    if wanted := replacement_of(text, failed.error.get("param")):
        return ParameterRejected(wanted, said)
    if refuses_form(status, text):
        return SchemaRejected(said)
    if status in (404, 410) or _GONE.search(f"{failed.code} {failed.error.get('type')}"):
        return ModelBlocked(f"{model}: no such model, or not for this key: {said}{guess_at(model, failed.base)}")
    return ConfigError(f"{model}: the provider does not accept the request (status {status}): {said}")


def _words(text: str) -> str:
    """Return the provider's part of litellm's message."""
    _, _, said = text.partition("Exception - ")
    return _BESIDES.split(said or text)[0].strip()
