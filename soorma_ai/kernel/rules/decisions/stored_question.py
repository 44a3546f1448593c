"""Questions to models, put together again from stored data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from soorma_ai.kernel.domain.history import JournalEntry, Sent, Step
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.decisions.prompt import Occasion, tell
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.digests import digest_of
from soorma_ai.kernel.rules.prompting.history import EarlierSteps, StepLines, add_earlier


class StoredQuestion(Struct, frozen=True):
    """All that is stored of one question: the plan, the answer, the answers `before` it in the same handling, the
    `parts` by their digests, the steps that were told, and the results of the join that was told of."""

    plan: PlanRecord
    entry: JournalEntry
    before: Sequence[JournalEntry] = ()
    parts: Mapping[str, str] | None = None
    steps: Sequence[Step] = ()
    results: Json = None


def parts_of(entry: JournalEntry) -> set[str]:
    """Return the digests of a question's parts, without those of its frame."""
    sent = entry.sent
    if sent is None:
        return set()
    again = {sent.again} if sent.again else set[str]()
    return {entry.prompt_hash, entry.offer_digest, sent.frame, *_references(sent.own), *again}


def parts_in(frame: str) -> set[str]:
    """Return the digests of the parts that a frame refers to."""
    return set(_references(_read(frame)))


def make_inputs(stored: StoredQuestion) -> JsonObject:
    """Return the inputs of the prompt, as far as they exist; the ones named by `find_faults` are left out."""
    sent, parts = stored.entry.sent, stored.parts or {}
    if sent is None:
        return {}
    inputs: JsonObject = {**_object(_read(parts.get(sent.frame, "{}"))), **sent.own}
    filled = {name: _fill_in(value, parts) for name, value in inputs.items() if not _lacks_part(value, parts)}
    return {**filled, **_make(stored, sent)}


def find_faults(stored: StoredQuestion) -> list[str]:
    """Return in words the missing and the changed parts of a question."""
    return [*find_missing(stored), *find_changed(stored)]


def find_missing(stored: StoredQuestion) -> list[str]:
    """Return in words the missing parts of a question."""
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
    return [
        *faults,
        *(
            f"{name} cannot be made: steps {sent.first} to {sent.last} of the plan are not all there"
            for name in sent.made
            if name not in made
        ),
    ]


def find_changed(stored: StoredQuestion) -> list[str]:
    """Return in words the parts of a question that this version of the code makes otherwise."""
    sent = stored.entry.sent
    made = _make(stored, sent) if sent else {}
    return [
        f"{name} is told in other words by this version of the code, or of other rows"
        for name, digest in (sent.made if sent else {}).items()
        if name in made and digest_of(made[name]) != digest
    ]


def _make(stored: StoredQuestion, sent: Sent) -> JsonObject:
    """Make the inputs that the plan's rows hold."""
    if not sent.made:
        return {}
    steps = [step for step in stored.steps if sent.first <= step.ordinal <= sent.last]
    if "trigger" in sent.made and sent.join_id is None and not steps:
        return {}
    last = steps[-1] if "trigger" in sent.made and sent.join_id is None else None
    data = last.data if last else stored.results if sent.join_id is not None else None
    occasion = Occasion(
        stored.plan,
        Trigger(sent.text, data, join_id=sent.join_id, name=last.name if last else "", said=sent.said),
        history=[StepLines(step) for step in steps],
        earlier=add_earlier(EarlierSteps(), [StepLines(step) for step in stored.steps if step.ordinal < sent.first]),
        history_tokens=sent.room,
        remembered=stored.entry.remembered,
    )
    return {name: value for name, value in tell(occasion).items() if name in sent.made}


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
