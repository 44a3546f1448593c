"""Memory of refused forms, by model and address, and of its name for the longest answer."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from soorma_ai.adapters.models.forms import MODES, AnswerForm
from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.kernel.ports import FormStore, Mode
from soorma_ai.kernel.rules.schemas.combine import object_in

# So many answers in prose, one after the other, are a refusal of the form.
MOST_PROSE = 3
PROSE = f"{MOST_PROSE} answers in a row were prose"
REASON_CHARS = 200


class KnownForms(Struct):
    """`refused` has the reasons by mode, `prose` the number of answers in prose since the last good one. `room` is the
    name for the longest answer; None is the usual one."""

    refused: dict[Mode, str] = field(default_factory=dict[Mode, str])
    prose: dict[Mode, int] = field(default_factory=dict[Mode, int])
    room: str | None = None

    def count_prose(self, mode: Mode, *, is_prose: bool) -> bool:
        """Count an answer under a form. Return True for one too many: the form then counts as refused."""
        self.prose[mode] = self.prose.get(mode, 0) + 1 if is_prose else 0
        if self.prose[mode] < MOST_PROSE or mode == "md_json":
            return False
        self.refused[mode] = PROSE
        return True


class FormMemory:
    """Known forms of each model at its address, for the life of the process. They begin with those of the `store`."""

    def __init__(self, store: FormStore | None = None) -> None:
        self._store = store
        self._known: dict[str, KnownForms] = {}
        self._is_loaded = store is None

    async def of(self, model: str, base: str | None) -> KnownForms:
        if self._store is not None and not self._is_loaded:
            self._is_loaded = True
            loaded = await self._store.load()
            self._known = {name: _read(one) for name, one in loaded.items()} | self._known
        return self._known.setdefault(_name(model, base), KnownForms())

    async def keep(self, model: str, base: str | None) -> None:
        """Keep the known forms of a model in the store."""
        if self._store is not None:
            known = await self.of(model, base)
            refused: JsonObject = {mode: clip(reason, REASON_CHARS) for mode, reason in known.refused.items()}
            await self._store.keep(_name(model, base), {"refused": refused, "room": known.room})


def usable(forms: Iterable[AnswerForm], known: KnownForms) -> Sequence[AnswerForm]:
    """Return the forms in their order, each mode once, without the refused ones; if all are, all."""
    each: dict[Mode, AnswerForm] = {}
    for form in forms:
        each.setdefault(form.mode, form)
    return [form for form in each.values() if form.mode not in known.refused] or [*each.values()]


def _name(model: str, base: str | None) -> str:
    """Return the name of a model at an address, without the user and the key in it."""
    if not base:
        return model
    scheme, _, rest = base.partition("://")
    host, slash, path = rest.partition("/")
    return f"{model} at {scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def _read(one: JsonObject) -> KnownForms:
    refused, room = object_in(one.get("refused")), _text(one.get("room"))
    return KnownForms({mode: str(refused[mode]) for mode in MODES if mode in refused}, room=room or None)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
