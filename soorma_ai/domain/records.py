"""Frozen dataclasses that are made quickly, and copied quickly.

`dataclass(frozen=True)` compiles six methods for each class, which for the two hundred that most programs load takes
longer than all else that importing them does. Here five are shared by all, and `__init__` is compiled when the first
record of its class is made. To everybody else they are dataclasses: `fields`, `asdict`, pydantic, who derives from one.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, is_dataclass
from operator import attrgetter
from reprlib import recursive_repr
from typing import TypeVar, cast, dataclass_transform

T = TypeVar("T")

_FIELDS, _PARAMETERS, _COMPARED = "__dataclass_fields__", "__dataclass_params__", "__record_compared__"
_put = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Make a frozen dataclass of a class. What it defines by itself stays."""
    own, said, starts_itself = vars(kind), kind.__doc__, "__init__" in vars(kind)
    kind.__doc__ = said or kind.__name__  # else its signature is spelled for it, slowly
    dataclass(init=False, repr=False, eq=False, frozen=is_dataclass(kind))(kind)
    kind.__doc__ = said
    getattr(kind, _PARAMETERS).frozen = True
    compared = [one.name for one in _fields_of(kind).values() if one.compare]
    setattr(kind, _COMPARED, attrgetter(*compared) if compared else type)
    for name, method in _SHARED.items():
        if own.get(name) is None:
            setattr(kind, name, method)
    if not starts_itself:
        _put_init(kind)
    return kind


def replace(old: T, /, **changes: object) -> T:
    """Return a copy of a record in which some fields are others; what it has worked out since is not copied. Raise
    TypeError for a field that it does not have."""
    names = _fields_of(type(old))
    if not names.keys() >= changes.keys():
        raise TypeError(f"{type(old).__name__} has no field {', '.join(sorted(changes.keys() - names.keys()))}")
    state = vars(old) | changes
    if len(state) > len(names):
        state = {name: state[name] for name in names}
    new = object.__new__(type(old))
    _put(new, "__dict__", state)
    check = getattr(new, "__post_init__", None)
    if check is not None:
        check()
    return new


def _fields_of(kind: type) -> Mapping[str, Field[object]]:
    return cast(Mapping[str, Field[object]], getattr(kind, _FIELDS))


def _put_init(kind: type) -> None:
    def __init__(self: object, /, *given: object, **named: object) -> None:
        compiled = _compile_init(kind)
        kind.__init__ = compiled
        compiled(self, *given, **named)

    kind.__init__ = __init__


def _compile_init(kind: type) -> Callable[..., None]:
    """Return a function with the parameters that the fields of a class name. It gives the record its dictionary in one
    go, where that of a frozen dataclass goes through a call for each field."""
    known: dict[str, object] = {"_put": _put, "_missing": MISSING}
    by_place, by_name, values = ["self"], ["*"], list[str]()
    for one in (one for one in fields(kind) if one.init):
        name, value, default = one.name, one.name, ""
        if one.default_factory is not MISSING:
            known[f"_new_{name}"] = one.default_factory
            value, default = f"(_new_{name}() if {name} is _missing else {name})", " = _missing"
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            default = f" = _default_{name}"
        (by_name if one.kw_only else by_place).append(f"{name}{default}")
        values.append(f"{name!r}: {value}")
    parameters = ", ".join(by_place + by_name if len(by_name) > 1 else by_place)
    check = "\n    self.__post_init__()" if hasattr(kind, "__post_init__") else ""
    body = f"_put(self, '__dict__', {{{', '.join(values)}}}){check}"
    exec(f"def __init__({parameters}):\n    {body}", known)
    compiled = cast(Callable[..., None], known["__init__"])
    compiled.__qualname__ = f"{kind.__qualname__}.__init__"
    return compiled


def _equal(self: object, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = getattr(self, _COMPARED)
    return values(self) == values(other)


def _hash(self: object) -> int:
    return hash(getattr(self, _COMPARED)(self))


@recursive_repr()
def _spell(self: object) -> str:
    shown = (one.name for one in _fields_of(type(self)).values() if one.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse(self: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}: make a copy by `replace`")


_SHARED: Mapping[str, Callable[..., object]] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _spell,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}
