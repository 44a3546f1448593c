"""JSON in the oracle: types, and schemas as `jsonschema` reads them. Nothing here is of the product."""

from typing import Any, TypeAlias

import jsonschema

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Payload = dict[str, Any]


def faults_in(value: Json, schema: Payload) -> list[str]:
    """Return the violations of the schema, in words."""
    return [str(fault.message) for fault in _validator(schema).iter_errors(value)]


def is_valid(value: Json, schema: Payload) -> bool:
    return bool(_validator(schema).is_valid(value))


# The types of `jsonschema` leave an argument unknown.
def _validator(schema: Payload) -> Any:
    return jsonschema.Draft202012Validator(schema)
