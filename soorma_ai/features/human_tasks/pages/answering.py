"""A filled form of a question: read, and checked as far as possible before it is an answer."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.waits.answers import say_approved
from soorma_ai.surfaces.forms.forms import FormField, add_item, form_of, remove_item
from soorma_ai.surfaces.forms.readings import FormReading, read_form, read_value
from soorma_ai.surfaces.forms.shapes import ABSENT

# What a form calls the fields of the held payload, and those of the answer itself.
PAYLOAD = "payload"
ANSWER = "answer"
ADD = "add"
REMOVE = "remove"
MOST_NOTE = 2_000
# Told by the button and by the note.
_TOLD = frozenset({"approved", "note"})


class Sheet(Struct, frozen=True):
    """`do` is the button: a decision, or `add payload$.lines`, `remove payload$.lines 2`."""

    do: str = ""
    note: str = ""
    payload: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: Mapping[str, str] = field(default_factory=dict[str, str])


class AnswerDraft(Struct, frozen=True):
    """An answer that can be said."""

    decision: AnswerDecision
    payload: JsonObject
    note: str


class AnswerRefusal(Struct, frozen=True):
    """Faults to correct first."""

    words: str
    payload: FormReading | None = None
    answer: FormReading | None = None
    note: str = ""


def sheet_of(sent: Sequence[tuple[str, str]]) -> Sheet:
    said = dict(sent)
    return Sheet(
        do=said.get("do", ""),
        note=said.get("note", "").strip(),
        payload={name.removeprefix(PAYLOAD): text for name, text in sent if name.startswith(f"{PAYLOAD}$")},
        answer={name.removeprefix(ANSWER): text for name, text in sent if name.startswith(f"{ANSWER}$")},
    )


def change_list(sheet: Sheet) -> Sheet | None:
    """Return the sheet with an item more or less, where its button says so."""
    verb, _, rest = sheet.do.partition(" ")
    if verb not in (ADD, REMOVE):
        return None
    name, _, place = rest.rpartition(" ") if verb == REMOVE else (rest, "", "")
    part = PAYLOAD if name.startswith(PAYLOAD) else ANSWER
    typed, name = (sheet.payload if part == PAYLOAD else sheet.answer), name.removeprefix(part)
    is_number = place.isascii() and place.isdigit() and len(place) < 5
    changed = add_item(typed, name) if verb == ADD else remove_item(typed, name, int(place) if is_number else -1)
    return replace(sheet, payload=changed) if part == PAYLOAD else replace(sheet, answer=changed)


def payload_form(ask: Ask, sheet: Sheet, refusal: AnswerRefusal | None) -> FormField | None:
    """Return the fields for a change of a held payload; None for an unchangeable one."""
    if ask.proposal is None or AnswerDecision.EDIT not in ask.allowed_decisions:
        return None
    faults = refusal.payload.faults if refusal and refusal.payload else None
    return form_of(ask.proposal.payload_schema, ask.proposal.data, sheet.payload, faults)


def answer_form(ask: Ask, sheet: Sheet, refusal: AnswerRefusal | None) -> FormField | None:
    """Return the fields of the answer itself; None where button and note are all of it."""
    schema = answer_schema(ask)
    if schema.get("properties") == {} and ask.proposal is not None:
        return None
    faults = refusal.answer.faults if refusal and refusal.answer else None
    return form_of(schema, {} if schema.get("type") == "object" else ABSENT, sheet.answer, faults)


def answer_schema(ask: Ask) -> JsonObject:
    """Return the schema of the answer without the fields of a button and of the note."""
    schema = ask.response_schema
    members, needed = schema.get("properties"), schema.get("required")
    if not isinstance(members, dict) or not _is_yes_or_no(ask):
        return schema
    left = {name: one for name, one in members.items() if name not in _TOLD}
    still = [one for one in needed if one not in _TOLD] if isinstance(needed, list) else []
    return {**schema, "properties": left, "required": still}


def checks_of(asked: Expectation, sheet: Sheet) -> list[tuple[JsonObject, Json]]:
    """Return the values that `judge` judges, each with its schema."""
    ask = asked.ask
    if ask is None or sheet.do not in ask.allowed_decisions:
        return []
    schema, held = answer_schema(ask), ask.proposal
    values = [(schema, read_value(schema, {}, sheet.answer))]
    if held is not None and sheet.do in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        values.append((held.payload_schema, read_value(held.payload_schema, held.data, sheet.payload)))
    return values


def judge(asked: Expectation, sheet: Sheet) -> AnswerDraft | AnswerRefusal:
    """Return the answer, or its faults by the fields of its form."""
    ask = asked.ask
    if ask is None or sheet.do not in ask.allowed_decisions:
        return AnswerRefusal("Choose one of the buttons.")
    decision = AnswerDecision(sheet.do)
    if len(sheet.note) > MOST_NOTE:
        return AnswerRefusal("The note is too long.", note=f"at most {MOST_NOTE} characters")
    if decision is AnswerDecision.REJECT and not sheet.note:
        return AnswerRefusal("Give a reason: the requester will see it.", note="a reason is required")
    if ask.proposal is not None and decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        edited = read_form(ask.proposal.payload_schema, ask.proposal.data, sheet.payload)
        is_changed = not edited.is_good or edited.value != ask.proposal.data
        if decision is AnswerDecision.EDIT:
            return _edit(edited, sheet, is_changed=is_changed)
        if is_changed:
            words = "You edited the payload. Approve it with changes, or undo your edits."
            return AnswerRefusal(words, payload=edited)
    return _answer(ask, decision, sheet)


def _edit(edited: FormReading, sheet: Sheet, *, is_changed: bool) -> AnswerDraft | AnswerRefusal:
    if not edited.is_good:
        return AnswerRefusal("The changed payload cannot be published yet.", payload=edited)
    if not is_changed:
        return AnswerRefusal("Nothing was changed. Approve it as it is, or edit it.", payload=edited)
    return AnswerDraft(AnswerDecision.EDIT, {"data": edited.value}, sheet.note)


def _answer(ask: Ask, decision: AnswerDecision, sheet: Sheet) -> AnswerDraft | AnswerRefusal:
    members = ask.response_schema.get("properties")
    read = read_form(answer_schema(ask), {}, sheet.answer)
    if not read.is_good and decision is not AnswerDecision.REJECT:
        return AnswerRefusal("The answer is not complete yet.", answer=read)
    said = read.value if isinstance(read.value, dict) and read.is_good else {}
    if _is_yes_or_no(ask) and isinstance(members, dict) and "note" in members and sheet.note:
        said = {**said, "note": sheet.note}
    return AnswerDraft(decision, say_approved(decision, said, ask.response_schema), sheet.note)


def _is_yes_or_no(ask: Ask) -> bool:
    return AnswerDecision.APPROVE in ask.allowed_decisions or AnswerDecision.REJECT in ask.allowed_decisions
