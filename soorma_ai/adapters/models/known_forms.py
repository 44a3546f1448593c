"""Memory of what a model at an address takes: forms that it refused, and its name for the longest answer."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from soorma_ai.adapters.models.forms import AnswerForm
from soorma_ai.kernel.ports import Mode

# So many answers in prose, one after the other, are a refusal of the form.
MOST_PROSE = 3
PROSE = f"{MOST_PROSE} answers in a row were prose"


class KnownForms(Struct):
    """`refused` has the reasons by mode, `prose` the answers in prose under it since the last good one. `room` is the
    name for the longest answer; None is the usual one."""

    refused: dict[Mode, str] = field(default_factory=dict[Mode, str])
    prose: dict[Mode, int] = field(default_factory=dict[Mode, int])
    room: str | None = None


class FormMemory:
    """What is known of each model at its address. It lasts as long as the process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], KnownForms] = {}

    def of(self, model: str, base: str | None) -> KnownForms:
        return self._known.setdefault((model, base or ""), KnownForms())


def usable(forms: Iterable[AnswerForm], known: KnownForms) -> Sequence[AnswerForm]:
    """Return the forms in their order, each mode once, without those that were refused; all where every one was."""
    each: dict[Mode, AnswerForm] = {}
    for form in forms:
        each.setdefault(form.mode, form)
    return [form for form in each.values() if form.mode not in known.refused] or [*each.values()]


def count_prose(known: KnownForms, mode: Mode, *, is_prose: bool) -> None:
    """Count an answer under a form; after some in prose the form counts as refused."""
    known.prose[mode] = known.prose.get(mode, 0) + 1 if is_prose else 0
    if known.prose[mode] >= MOST_PROSE and mode != "md_json":
        known.refused[mode] = PROSE
