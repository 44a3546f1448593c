"""JSON Schemas of Python types, as pydantic writes them, and of decimals as exact text."""

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DecimalSchema

_WHOLE = r"(0|[1-9]\d*)"
_EXPONENT, _LARGE_EXPONENT = r"(E[+-]?\d{1,3})?", r"(E\+\d{1,3})?"  # written for `Decimal("1E+9")`


class TypeSchemas(GenerateJsonSchema):
    """Writes a `Decimal` as text of the format `decimal`. Its sign and its decimal places are a pattern; other bounds
    are checked by the type."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        above, least, places = schema.get("gt"), schema.get("ge"), schema.get("decimal_places")
        written: JsonSchemaValue = {"type": "string", "format": "decimal"}
        if above is not None and above >= 0:
            pattern = _above_zero(places)
        elif least is not None and least >= 0:
            pattern = _WHOLE + _fraction(places)
        else:
            pattern = "" if places is None else f"-?{_WHOLE}{_fraction(places)}"
        exponent = _EXPONENT if places is None else _LARGE_EXPONENT
        return {**written, "pattern": f"^{pattern}{exponent}$"} if pattern else written


def _fraction(places: int | None) -> str:
    if places is None:
        return r"(\.\d+)?"
    return rf"(\.\d{{1,{places}}})?" if places else ""


def _above_zero(places: int | None) -> str:
    """Return the pattern of digits that are not all zero."""
    if places is None:
        small = [r"0\.\d*[1-9]\d*"]
    else:
        small = [rf"0\.0{{{zeros}}}[1-9]\d{{0,{places - zeros - 1}}}" for zeros in range(places)]
    large = r"[1-9]\d*" + _fraction(places)
    return f"({'|'.join([large, *small])})"
