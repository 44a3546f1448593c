"""What a question was made of: written down with its answer, and put together again to be shown.

What a plan's rows hold is not written down again, but made of them. Everything else is kept, and what is long as a part
of its own under its digest, so that a text which many questions share is kept once.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import NO_ANSWER, Ending, JournalEntry, PromptPart, Sent, Step
from soorma_ai.kernel.domain.limits import Payer
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, compact
from soorma_ai.kernel.rules.decisions.extraction import trim_blanks
from soorma_ai.kernel.rules.decisions.prompt import Inputs, Occasion, tell
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.history import StepLines

LONG = 200
_PART = "$part"
_DIGITS, _FEW_DIGITS = 32, 12


class StoredQuestion(Struct, frozen=True):
    """All that is stored of one question: the plan, the answer, the answers `before` it in the same handling, the
    `parts` by their digests, the steps that were told, and the results of the join that was told of."""

    plan: PlanRecord
    entry: JournalEntry
    before: Sequence[JournalEntry] = ()
    parts: Mapping[str, str] | None = None
    steps: Sequence[Step] = ()
    results: Json = None


def write_down(inputs: Inputs, tenant_id: str, payer: Payer) -> tuple[Sent, tuple[PromptPart, ...]]:
    """Return what is written into the journal, but for the digest of it all, and the parts that it refers to."""
    made, common = inputs.made, dict[str, str]()
    others = {name: value for name, value in inputs.values.items() if made is None or name not in made.names}
    # What is as it usually is stands in the frame, too: so few frames are kept.
    frame = compact(_outline({name: one for name, one in others.items() if name not in inputs.own or not one}, common))
    common[_digest(frame)] = frame
    owns = dict[str, str]()
    own = _outline({name: one for name, one in others.items() if name in inputs.own and one}, owns)
    sent = Sent(digest="", frame=_digest(frame), own=cast(JsonObject, own))
    if made is not None:
        digests = {name: _digest_of(inputs.values[name]) for name in sorted(made.names)}
        sent = replace(sent, made=digests, first=made.first, last=made.last, text=made.text, join_id=made.join_id)
    kept = [keep(digest, body, inputs, tenant_id, payer) for digest, body in common.items()]
    return sent, (*kept, *(PromptPart(digest, body, plan_id=payer.plan_id) for digest, body in owns.items()))


def keep(digest: str, body: str, inputs: Inputs, tenant_id: str, payer: Payer) -> PromptPart:
    """Return a part that many questions share: of all plans, or of this one where it was chosen for it."""
    is_common = inputs.is_common
    return (
        PromptPart(digest, body, tenant_id=tenant_id) if is_common else PromptPart(digest, body, plan_id=payer.plan_id)
    )


def retold_answer(entry: JournalEntry) -> str:
    """Return a refused answer as the next question repeats it; of one that was cut within blanks, without those."""
    said = trim_blanks(entry.raw) if entry.ending is Ending.BLANK else entry.raw
    return said or NO_ANSWER


def spell_form(form: JsonObject) -> str:
    """Return the form as text, spelled once for as long as it is in use."""
    return _spell(Same(form))


def digest_messages(messages: Iterable[tuple[str, str]]) -> str:
    """Return the digest of messages, each a role and a text."""
    found = hashlib.sha256()
    for part in (part for message in messages for part in message):
        spelled = part.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(spelled) + spelled)
    return found.hexdigest()[:_DIGITS]


def parts_of(entry: JournalEntry) -> set[str]:
    """Return the digests of the parts that a question refers to, but for those that its frame names."""
    sent = entry.sent
    if sent is None:
        return set()
    again = {sent.again} if sent.again else set[str]()
    return {entry.prompt_hash, entry.offer_digest, sent.frame, *_references(sent.own), *again}


def parts_in(frame: str) -> set[str]:
    """Return the digests of the parts that a frame refers to."""
    return set(_references(_read(frame)))


def make_inputs(stored: StoredQuestion) -> JsonObject:
    """Return the inputs of the prompt, as far as they can be had: what `find_faults` names is not among them."""
    sent, parts = stored.entry.sent, stored.parts or {}
    if sent is None:
        return {}
    inputs: JsonObject = {**_object(_read(parts.get(sent.frame, "{}"))), **sent.own}
    filled = {name: _fill_in(value, parts) for name, value in inputs.items() if not _lacks_part(value, parts)}
    return {**filled, **_make(stored, sent)}


def find_faults(stored: StoredQuestion) -> list[str]:
    """Return in words what of a question is not there any more, and what is not as it was."""
    entry, parts = stored.entry, stored.parts or {}
    sent = entry.sent
    if sent is None:
        return ["it was asked by a version of this code that wrote down no more than the hash of its template"]
    whole = (
        (entry.prompt_hash, f"the template {entry.prompt_id} of version {entry.prompt_version}"),
        (entry.offer_digest, "the offer: the form of the answer"),
        (sent.frame, "the frame: instructions, choices and what is allowed"),
        (sent.again, "the template by which a refusal is told"),
    )
    faults = [f"{what} is not kept any more (prune)" for digest, what in whole if digest and digest not in parts]
    inputs: JsonObject = {**_object(_read(parts.get(sent.frame, "{}"))), **sent.own}
    faults += [f"{name} is not kept any more (prune)" for name in sorted(inputs) if _lacks_part(inputs[name], parts)]
    gone = {*sent.after} - {one.key.ordinal for one in stored.before}
    faults += [f"the refused answer of call {one} is not in the journal any more" for one in sorted(gone)]
    made = _make(stored, sent)
    for name, digest in sent.made.items():
        if name not in made:
            faults.append(f"{name} cannot be made: steps {sent.first} to {sent.last} of the plan are not all there")
        elif _digest_of(made[name]) != digest:
            faults.append(f"{name} is told in other words by this version of the code, or of other rows")
    return faults


def _make(stored: StoredQuestion, sent: Sent) -> JsonObject:
    """Make the inputs that the plan's rows hold."""
    if not sent.made:
        return {}
    steps = [step for step in stored.steps if sent.first <= step.ordinal <= sent.last]
    if "trigger" in sent.made and sent.join_id is None and not steps:
        return {}
    data = None if "trigger" not in sent.made else stored.results if sent.join_id is not None else steps[-1].data
    occasion = Occasion(
        stored.plan,
        Trigger(sent.text, data, join_id=sent.join_id),
        history=[StepLines(step) for step in steps],
        remembered=stored.entry.remembered,
    )
    return {name: value for name, value in tell(occasion).items() if name in sent.made}


def _outline(value: Json, found: dict[str, str]) -> Json:
    """Return the value with references in the place of long texts, which are `found`."""
    match value:
        case str() if len(value) > LONG:
            digest = _digest(value)
            found[digest] = value
            return {_PART: digest}
        case dict():
            return {name: _outline(one, found) for name, one in value.items()}
        case list():
            return [_outline(one, found) for one in value]
        case _:
            return value


def _references(value: Json) -> Iterable[str]:
    match value:
        case {"$part": str(digest)}:
            yield digest
        case dict():
            for one in value.values():
                yield from _references(one)
        case list():
            for one in value:
                yield from _references(one)
        case _:
            return


def _lacks_part(value: Json, parts: Mapping[str, str]) -> bool:
    return any(digest not in parts for digest in _references(value))


def _fill_in(value: Json, parts: Mapping[str, str]) -> Json:
    match value:
        case {"$part": str(digest)}:
            return parts[digest]
        case dict():
            return {name: _fill_in(one, parts) for name, one in value.items()}
        case list():
            return [_fill_in(one, parts) for one in value]
        case _:
            return value


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _read(text: str) -> Json:
    """Return a frame; nothing of one that is damaged, which its digest tells."""
    try:
        return cast(Json, json.loads(text))
    except ValueError:
        return {}


def _digest_of(value: Json) -> str:
    return _hash(value if isinstance(value, str) else compact(value))[:_FEW_DIGITS]


# Most texts are those of the question before: their digests are known.
@lru_cache(maxsize=256)
def _digest(text: str) -> str:
    return _hash(text)[:_DIGITS]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=128)
def _spell(same: Same[JsonObject]) -> str:
    return compact(same.it)
