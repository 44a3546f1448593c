"""Records for a border: structs inside, read and written by pydantic at the edges."""

from contextvars import ContextVar
from typing import cast

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, asdict, fields
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidatorFunctionWrapHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

# Records hold records of their own kind.
_in_hand: ContextVar[tuple[type, ...]] = ContextVar("_in_hand", default=())


class Record(Struct, frozen=True, omit_defaults=True):
    """Struct with a pydantic schema, as a field's type, like a dataclass of the same fields. In the text of another
    record it stands without fields at their default."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        name = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
        if cls in _in_hand.get():
            return core_schema.definition_reference_schema(name)
        token = _in_hand.set((*_in_hand.get(), cls))
        try:
            read = [core_schema.dataclass_field(one.name, _schema(one, handler)) for one in fields(cls)]
        finally:
            _in_hand.reset(token)
        written = {one["name"]: core_schema.typed_dict_field(one["schema"]) for one in read}

        made = core_schema.no_info_after_validator_function(
            lambda found: cls(**found[0]), core_schema.dataclass_args_schema(cls.__name__, read)
        )

        def take(value: object, check: ValidatorFunctionWrapHandler) -> object:
            return value if isinstance(value, cls) else check(value)

        return core_schema.json_or_python_schema(
            json_schema=made,
            python_schema=core_schema.no_info_wrap_validator_function(take, made),
            ref=name,
            serialization=core_schema.wrap_serializer_function_ser_schema(
                lambda record, write: write(asdict(record)), schema=core_schema.typed_dict_schema(written)
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        assert schema["type"] == "json-or-python"
        made = cast("core_schema.AfterValidatorFunctionSchema", schema["json_schema"])
        return handler(core_schema.dataclass_schema(cls, made["schema"], []))


def _schema(field: FieldInfo, handler: GetCoreSchemaHandler) -> CoreSchema:
    schema = handler.generate_schema(field.type)
    if field.default is not NODEFAULT:
        return core_schema.with_default_schema(schema, default=field.default)
    if field.default_factory is not NODEFAULT:
        return core_schema.with_default_schema(schema, default_factory=field.default_factory)
    return schema


def plain(value: object) -> dict[str, object]:
    """Return a struct's fields, for `to_jsonable_python(fallback=)`. Raise PydanticSerializationError for anything
    else."""
    if isinstance(value, Struct):
        return asdict(value)
    raise PydanticSerializationError(f"Unable to serialize unknown type: {type(value)}")
