"""Recorded model traffic. An unrecorded call fails at once, with the differences, and never goes out.

Bodies are kept as parsed JSON: a changed prompt is a readable diff of the file. Keys are scrubbed, and hosts have names
independent of the place of the recording.
"""

import importlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from soorma_ai.adapters.models.faults import find_secrets, scrub
from soorma_ai.adapters.models.guard import cassette_in_place, is_loopback
from soorma_ai.errors import ConfigError, Fatal
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
from soorma_ai.kernel.rules.prompting.today import without_day

Mode = Literal["replay", "record", "changed", "live"]

MODE_VARIABLE = "SOORMA_CASSETTES"
FOLDER = Path("cassettes")
SUFFIX = ".yaml"

_HOSTS = {
    "api.openai.com": "openai.test",
    "api.anthropic.com": "anthropic.test",
    "generativelanguage.googleapis.com": "gemini.test",
}
# Paths of calls and the providers that have them, by which a call to a server on this machine gets its host.
_CALLS = {
    "/chat/completions": "openai.test",
    "/responses": "openai.test",
    "/messages": "anthropic.test",
    ":generateContent": "gemini.test",
    ":streamGenerateContent": "gemini.test",
    "/api/chat": "ollama.test",
    "/api/generate": "ollama.test",
}
_KEPT_REQUEST_HEADERS = frozenset({"content-type", "anthropic-version", "anthropic-beta"})
_KEPT_RESPONSE_HEADERS = frozenset({"content-type", "retry-after"})
# Clients by which no model is called are left alone.
_UNTOUCHED = ("httplib", "requests", "boto3", "urllib3", "httplib2", "tornado")
_MATCHED = ("method", "scheme", "host", "path", "query", "json_body")
_RECORD_MODES = {"replay": "none", "record": "all", "changed": "new_episodes"}
# A choice in an answer, an awaited event, and the line of a choice in a prompt.
_CHOICE = re.compile(r"(?:publish|delegate):[^\\\s\"]+")
_AWAITED = re.compile(r'expected_event\\*"\s*:\s*\\*"([^\\"]+)')
_LINE = re.compile(r'"((?:publish|delegate|wait):[^"]+)":"')
_DIFFERENCES_SHOWN = 6
_SHOWN = 160


class UnmatchedModelCall(Fatal):
    """Raised for a call without a recording."""


class UnplayedModelCalls(AssertionError):
    """Raised for recorded calls no longer made by the program."""


class Cassette(Struct, frozen=True):
    """`tape` is vcr's cassette."""

    path: Path
    tape: Any

    @property
    def calls(self) -> int:
        return len(self.tape)

    @property
    def played(self) -> int:
        return int(self.tape.play_count)


@contextmanager
def cassette(
    name_or_path: str | Path, *, mode: Mode | None = None, repeat: bool = False, allow_unplayed: bool = False
) -> Generator[Cassette | None]:
    """Replay or record calls of models. A bare name is a file in `./cassettes`. `record` calls the model and replaces
    the file, unless something raises; `changed` calls it only for requests without a recording; `live` calls it and
    keeps nothing. By default SOORMA_CASSETTES, else `replay`. A recording also answers a request that differs only in
    choices its answer did not use. Each recorded call is played once, the same ones in order; with `repeat`, any number
    of times.
    """
    mode = mode or _mode_of_the_environment()
    if mode == "live":
        yield None
        return
    path = _path(name_or_path)
    if mode == "replay" and not path.is_file():
        raise ConfigError(f"there is no cassette at {path}; make it with mode='record', or pytest --soorma-record")
    misses: list[UnmatchedModelCall] = []
    used: dict[int, frozenset[str]] = {}
    with _recorder(mode, used).use_cassette(str(path), allow_playback_repeats=repeat) as tape:
        played = Cassette(path, tape)
        used.update({id(request): _choices_in(response) for request, response in tape.data})
        if mode != "replay":
            yield played
            return
        _refuse_what_is_not_recorded(played, misses)
        try:
            with cassette_in_place():
                yield played
        finally:
            # A task may have died of it, and what waited for that task knows only that it waited in vain.
            if misses:
                raise misses[0].with_traceback(None) from None
        if not (allow_unplayed or tape.all_played):
            left = [str(request.uri) for number, request in enumerate(tape.requests) if not tape.play_counts[number]]
            raise UnplayedModelCalls(f"{path}: {len(left)} of {len(tape)} recorded calls were not made: {left[:3]}")


def _mode_of_the_environment() -> Mode:
    mode = os.environ.get(MODE_VARIABLE, "replay")
    if mode not in get_args(Mode):
        raise ConfigError(f"{MODE_VARIABLE}={mode!r}: give one of {', '.join(get_args(Mode))}")
    return cast(Mode, mode)


def _path(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix != SUFFIX:
        path = path.with_name(path.name + SUFFIX)
    return FOLDER / path if isinstance(name_or_path, str) and len(path.parts) == 1 else path


def _recorder(mode: Literal["replay", "record", "changed"], used: Mapping[int, frozenset[str]]) -> Any:
    """Return a recorder; `used` are the choices in the answer to each recorded request, by its identity."""
    try:
        vcr: Any = importlib.import_module("vcr")
    except ImportError as error:
        raise ConfigError("cassettes need vcrpy, which is not installed: pip install 'soorma-ai[cassettes]'") from error
    recorder = vcr.VCR(
        record_mode=_RECORD_MODES[mode],
        drop_unused_requests=mode != "replay",
        record_on_exception=False,
        before_record_request=_stable_request,
        before_record_response=_stable_response,
        decode_compressed_response=True,
        skip_patchers=_UNTOUCHED,
        match_on=_MATCHED,
        serializer="soorma",
    )

    def same_body(asked: Any, recorded: Any) -> None:
        _same_body(used, recorded, asked)

    recorder.register_matcher("json_body", same_body)
    recorder.register_serializer("soorma", _Serializer)
    return recorder


def _refuse_what_is_not_recorded(played: Cassette, misses: list[UnmatchedModelCall]) -> None:
    tape = played.tape
    can_play: Callable[[Any], bool | None] = tape.can_play_response_for

    def can_play_or_fail(request: Any) -> bool | None:
        if can_play(request):
            return True
        stable = tape.filter_request(request)
        if stable is not None:
            misses.append(UnmatchedModelCall(_describe_miss(played, stable)))
            raise misses[-1]
        return None

    tape.can_play_response_for = can_play_or_fail


def _describe_miss(played: Cassette, asked: Any) -> str:
    tape = played.tape
    text = f"{played.path} holds no answer to {asked.method} {asked.uri} ({played.played} of {played.calls} played)"
    compared = [(_differences(request, asked), number) for number, request in enumerate(tape.requests)]
    if not compared:
        return f"{text}; the cassette is empty"
    differences, nearest = min(compared, key=lambda pair: (len(pair[0]), bool(tape.play_counts[pair[1]])))
    if not differences:
        return f"{text}; call {nearest + 1} is this one, and it has been played"
    shown = "\n".join(f"  {difference}" for difference in differences[:_DIFFERENCES_SHOWN])
    more = len(differences) - _DIFFERENCES_SHOWN
    rest = f"\n  and {more} more" if more > 0 else ""
    return f"{text}; nearest is call {nearest + 1}, it differs in\n{shown}{rest}"


def _differences(recorded: Any, asked: Any) -> list[str]:
    found = [
        f"{part}: recorded {getattr(recorded, part)}, asked {getattr(asked, part)}"
        for part in ("method", "uri")
        if getattr(recorded, part) != getattr(asked, part)
    ]
    return found + list(_compare("$", _body(recorded), _body(asked)))


def _compare(path: str, recorded: Json, asked: Json) -> Iterator[str]:
    match recorded, asked:
        case dict(), dict():
            for key in sorted(recorded.keys() | asked.keys()):
                if key not in asked or key not in recorded:
                    yield f"{path}.{key}: {'only recorded' if key in recorded else 'only asked'}"
                else:
                    yield from _compare(f"{path}.{key}", recorded[key], asked[key])
        case list(), list():
            if len(recorded) != len(asked):
                yield f"{path}: recorded {len(recorded)} items, asked {len(asked)}"
            for number, (one, other) in enumerate(zip(recorded, asked, strict=False)):
                yield from _compare(f"{path}[{number}]", one, other)
        case str(), str() if recorded != asked:
            at = next((i for i, (a, b) in enumerate(zip(recorded, asked, strict=False)) if a != b), 0)
            start = max(0, at - _SHOWN // 4)
            yield f"{path}: from character {start}, recorded {_cut(recorded, start)}, asked {_cut(asked, start)}"
        case _ if recorded != asked:
            yield f"{path}: recorded {clip(json.dumps(recorded), _SHOWN)}, asked {clip(json.dumps(asked), _SHOWN)}"
        case _:
            pass


def _cut(text: str, start: int) -> str:
    return json.dumps(clip(text[start:], _SHOWN), ensure_ascii=False)


def _stable_request(request: Any) -> Any:
    """Return a request in its stored and compared form; None if it calls no model. A second conversion changes
    nothing."""
    uri: str = request.uri
    url = urlsplit(uri)
    local = next((host for ending, host in _CALLS.items() if url.path.endswith(ending)), None)
    if is_loopback(uri):
        if local is None:
            return None
        url = url._replace(netloc=local)
    elif url.hostname in _HOSTS:
        url = url._replace(netloc=_HOSTS[url.hostname])
    query = urlencode([(name, value) for name, value in parse_qsl(url.query) if name != "key"])
    request.uri = urlunsplit(url._replace(scheme="https", query=query))
    request.headers = {key: value for key, value in request.headers.items() if key.lower() in _KEPT_REQUEST_HEADERS}
    if request.body:
        request.body = scrub(_text(request.body), find_secrets(None)).encode()
    return request


def _stable_response(response: Any) -> Any:
    headers = response["headers"].items()
    response["headers"] = {key.lower(): value for key, value in headers if key.lower() in _KEPT_RESPONSE_HEADERS}
    body = response["body"].get("string") or b""
    response["body"] = {"string": scrub(_text(body), find_secrets(None)).encode()}
    return response


def _text(body: bytes | str) -> str:
    return body if isinstance(body, str) else body.decode("utf-8", "replace")


def _same_body(used: Mapping[int, frozenset[str]], recorded: Any, asked: Any) -> None:
    one, other = _body(recorded), _body(asked)
    if one == other:
        return
    kept = used.get(id(recorded))
    assert kept is not None and _narrowed(one, kept) == _narrowed(other, kept), "the JSON bodies differ"


def _choices_in(response: Any) -> frozenset[str]:
    """Return the choices that an answer names."""
    text = _text(response["body"].get("string") or b"")
    return frozenset((*_CHOICE.findall(text), *(f"wait:{name}" for name in _AWAITED.findall(text))))


def _narrowed(body: Json, kept: frozenset[str]) -> Json:
    """Return a request without all choices but these: their branches in a schema, and their lines in a prompt."""
    match body:
        case dict():
            return {key: _narrowed(value, kept) for key, value in body.items()}
        case list():
            return [_narrowed(item, kept) for item in body if not _is_of_another(item, kept)]
        case str():
            lines = [line.rstrip(",") for line in body.split("\n") if not _is_line_of_another(line, kept)]
            return "\n".join(lines)
        case _:
            return body


def _is_of_another(item: Json, kept: frozenset[str]) -> bool:
    """Tell whether it is the branch of another choice."""
    properties = item.get("properties") if isinstance(item, dict) else None
    action = properties.get("action") if isinstance(properties, dict) else None
    named = {*_CHOICE.findall(compact(action))} if action else set[str]()
    return bool(named) and not kept & named


def _is_line_of_another(line: str, kept: frozenset[str]) -> bool:
    found = _LINE.match(line)
    return found is not None and found[1] not in kept


def _body(request: Any) -> Json:
    """Return the compared part of a request; its day makes no difference."""
    return _parse(without_day(_text(request.body or b"")))


@lru_cache(maxsize=512)
def _parse(text: str) -> Json:
    try:
        return cast(Json, json.loads(text))
    except ValueError:
        return text


class _Serializer:
    """vcr's own form, with JSON bodies as structures under `json` instead of as text."""

    @staticmethod
    def serialize(recorded: dict[str, Any]) -> str:
        yaml: Any = importlib.import_module("yaml")
        readable = type("Readable", (yaml.SafeDumper,), {"ignore_aliases": _always})
        readable.add_representer(str, _as_lines)
        interactions = [
            {
                "request": {**kept["request"], "body": _unpack(kept["request"]["body"] or "")},
                "response": {**kept["response"], "body": _unpack(kept["response"]["body"]["string"])},
            }
            for kept in recorded["interactions"]
        ]
        tree = {"version": recorded["version"], "interactions": interactions}
        return yaml.dump(tree, Dumper=readable, sort_keys=True, allow_unicode=True, width=120)

    @staticmethod
    def deserialize(text: str) -> dict[str, Any]:
        recorded: dict[str, Any] = importlib.import_module("yaml").safe_load(text)
        for kept in recorded["interactions"]:
            kept["request"]["body"] = _pack(kept["request"]["body"])
            kept["response"]["body"] = {"string": _pack(kept["response"]["body"])}
        return recorded


def _always(dumper: Any, value: object) -> bool:
    return True


def _as_lines(dumper: Any, text: str) -> Any:
    """Write a text of several lines, as prompts are, line by line."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, "|" if "\n" in text else None)


def _unpack(body: str | bytes) -> JsonObject:
    text = _text(body)
    value = _parse(text)
    return {"text": text} if isinstance(value, str) else {"json": value}


def _pack(body: JsonObject) -> str:
    return json.dumps(body["json"], ensure_ascii=False) if "json" in body else str(body["text"])
