"""The offer of a request to a model: the branches of its schema, and events shown only as a line."""

import json
import re
from collections.abc import Iterable, Iterator

from payloads import Json, Payload, is_valid
from wires.form import Question

PUBLISH = "publish:"
PUBLISH_ALL, GIVE_UP = "publish_all", "give_up"
NEED, FIND, SEE = "need_schema", "find_events", "see_result"
ASKS = frozenset({NEED, FIND})
LOOKUPS = ASKS | {SEE, "find_steps"}
# Only lists of names have lines of their own between fences.
_LISTS = re.compile(r"<data>(\{\n.*?\n\})</data>", re.DOTALL)


def branches_of(schema: Payload) -> dict[str, Payload]:
    """Return the possible steps, by action, each with its definitions."""
    return _by_action(schema["properties"]["step"], schema.get("$defs", {}))


def requests_of(branches: dict[str, Payload]) -> dict[str, Payload]:
    """Return the branches of one of several requests, by action: outlines for a provider without references."""
    if PUBLISH_ALL not in branches:
        return {}
    together = branches[PUBLISH_ALL]
    return _by_action(together["properties"]["requests"]["items"], together.get("$defs", {}))


def _by_action(schema: Payload, definitions: Payload) -> dict[str, Payload]:
    found: dict[str, Payload] = {}
    for branch in _flat(schema, definitions):
        tag = branch["properties"]["action"]
        for action in tag["enum"] if "enum" in tag else [tag["const"]]:
            found[action] = {**branch, "$defs": definitions} if definitions else branch
    return found


def _flat(schema: Payload, definitions: Payload) -> Iterator[Payload]:
    if "$ref" in schema:
        yield from _flat(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from _flat(branch, definitions)
    else:
        yield schema


def lines_of(question: Question) -> frozenset[str]:
    """Return the names of all events listed in the request, with or without their schemas."""
    lists = [json.loads(inside) for inside in _LISTS.findall(question.shown)]
    return frozenset(name.removeprefix(PUBLISH) for listed in lists for name in listed)


def spelled_step(step: Payload, branches: dict[str, Payload]) -> Payload:
    """Return a step in the spelling of a provider bound to these branches, each of several requests by its own. No
    data is a text yet."""
    said = _spelled_object(step, branches.get(step["action"], {}))
    if step["action"] != PUBLISH_ALL:
        return said
    inner = requests_of(branches)
    return {**said, "requests": [_spelled_object(one, inner.get(one["action"], {})) for one in step["requests"]]}


def with_texts(step: Payload, branches: dict[str, Payload]) -> Payload:
    """Return a spelled step with JSON in a text where its branch has a text."""
    if step["action"] == PUBLISH_ALL:
        inner = requests_of(branches)
        return {**step, "requests": [_with_texts(one, inner.get(one["action"])) for one in step["requests"]]}
    return _with_texts(step, branches.get(step["action"]))


def _with_texts(step: Payload, branch: Payload | None) -> Payload:
    return as_texts(step, texts_in(branch)) if branch else step


def _spelled_object(step: Payload, branch: Payload) -> Payload:
    said = spelled(step, branch)
    assert isinstance(said, dict), said
    return said


def spelled(value: Json, schema: Payload) -> Json:
    """Return a value in the spelling of a provider bound to `schema`: an omitted required field is null."""
    if "anyOf" in schema:
        spellings = [(spelled(value, branch), branch) for branch in schema["anyOf"]]
        fitting = (said for said, branch in spellings if is_valid(said, branch))
        return next(fitting, value)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        left_out: dict[str, Json] = {name: None for name in schema.get("required", []) if name not in value}
        return {name: spelled(item, properties.get(name, {})) for name, item in (value | left_out).items()}
    if isinstance(value, list):
        return [spelled(item, schema.get("items", {})) for item in value]
    return value


def with_references(schema: Payload, names: Iterable[str]) -> Payload:
    """Return the schema with these properties allowed as references."""
    reference = {"type": "object", "required": ["$from"], "properties": {"$from": {"type": "string"}}}
    changed = {name: {"anyOf": [schema["properties"][name], reference]} for name in names}
    return {**schema, "properties": schema["properties"] | changed}


def texts_in(branch: Payload) -> frozenset[str]:
    """Return the fields of a step sent as JSON in a text: data too loose for a provider's schema."""
    fields: Payload = branch["properties"]
    return frozenset(name for name in ("data", "result") if fields.get(name, {}).get("type") == "string")


def as_texts(step: Payload, names: frozenset[str]) -> Payload:
    return {name: json.dumps(value) if name in names else value for name, value in step.items()}


def words_for(name: str, description: str) -> str:
    """Return a model's search words for an event with an unknown name."""
    for known in (name, name.rpartition(".")[2]):
        description = re.sub(re.escape(known), "", description, flags=re.IGNORECASE)
    return " ".join(description.split())
