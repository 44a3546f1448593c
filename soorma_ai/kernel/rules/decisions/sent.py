"""Composition of a question, written down with its answer.

Parts held by the plan's rows are made of them again. Everything else is kept, and long text as a part of its own under
its digest: a text of many questions is kept once.
"""

import re
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import cast

from msgspec.structs import replace

from soorma_ai.kernel.domain.history import NO_ANSWER, Ending, JournalEntry, PromptPart, Sent
from soorma_ai.kernel.domain.limits import Payer
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, compact, identity_of
from soorma_ai.kernel.rules.decisions.prompt import Inputs
from soorma_ai.kernel.rules.prompting.digests import digest_of, digest_of_part

LONG = 200
# Blanks, also escaped ones within a text, at the end of an answer.
_BLANKS = re.compile(r"(?:\s|\\[nrt])+\Z")
MOST_BLANKS = 100
_PART = "$part"
# The digest of a frame, and its parts by their digests.
Frame = tuple[str, tuple[tuple[str, str], ...]]


def write_down(inputs: Inputs, tenant_id: str, payer: Payer) -> tuple[Sent, tuple[PromptPart, ...]]:
    """Return the journal's record of a question, without its digest, and the parts referred to."""
    made, owns = inputs.made, dict[str, str]()
    written = made.names if made else frozenset[str]()
    frame, own = JsonObject(), JsonObject()
    for name, value in inputs.values.items():
        if name in written:
            continue
        # What is as it usually is stands in the frame, too: so few frames are kept.
        if value and name in inputs.own:
            own[name] = _outline(value, owns)
        else:
            frame[name] = value
    digest, common = _frame(frame)
    sent = Sent(digest="", frame=digest, own=own)
    if made is not None:
        known = made.digests
        digests = {name: known[name] if name in known else digest_of(inputs.values[name]) for name in sorted(written)}
        told = {"text": made.text, "said": made.said, "join_id": made.join_id, "room": made.room}
        sent = replace(sent, made=digests, first=made.first, last=made.last, **told)
    kept = [keep(digest, body, inputs, tenant_id, payer) for digest, body in common]
    return sent, (*kept, *(PromptPart(digest, body, plan_id=payer.plan_id) for digest, body in owns.items()))


def _frame(frame: JsonObject) -> Frame:
    """Return the digest of a frame and its parts by their digests, itself the last of them."""
    values = [() if value == [] else value for value in frame.values()]
    try:
        return _frame_of((*frame,), *cast("list[Hashable]", values))
    except TypeError:  # it holds lists or objects
        return _make_frame(frame)


@lru_cache(maxsize=64, typed=True)
def _frame_of(names: tuple[str, ...], *values: Hashable) -> Frame:
    return _make_frame(dict(zip(names, cast("Iterable[Json]", values), strict=True)))


def _make_frame(frame: JsonObject) -> Frame:
    parts = dict[str, str]()
    spelled = compact(_outline(frame, parts))
    digest = digest_of_part(spelled)
    return digest, (*parts.items(), (digest, spelled))


def keep(digest: str, body: str, inputs: Inputs, tenant_id: str, payer: Payer) -> PromptPart:
    """Return a part that many questions share: of all plans, or of this one where it was chosen for it."""
    is_common = inputs.is_common
    return (
        PromptPart(digest, body, tenant_id=tenant_id) if is_common else PromptPart(digest, body, plan_id=payer.plan_id)
    )


def trim_blanks(text: str) -> str:
    return _BLANKS.sub("", text)


def ends_blank(text: str) -> bool:
    """Tell whether the end of a cut answer is a long run of blanks."""
    return len(text) - len(trim_blanks(text)) >= MOST_BLANKS


def retold_answer(entry: JournalEntry) -> str:
    """Return a refused answer as the next question repeats it, without the blanks of a cut one."""
    said = trim_blanks(entry.raw) if entry.ending is Ending.BLANK else entry.raw
    return said or NO_ANSWER


def spell_form(form: JsonObject) -> str:
    """Return the form as text, spelled once for as long as it is in use."""
    return _spell(identity_of(form))


def _outline(value: Json, found: dict[str, str]) -> Json:
    """Return the value with references in the place of long texts, which are `found`."""
    match value:
        case str() if len(value) > LONG:
            digest = digest_of_part(value)
            found[digest] = value
            return {_PART: digest}
        case dict():
            return {name: _outline(one, found) for name, one in value.items()}
        case list():
            return [_outline(one, found) for one in value]
        case _:
            return value


@lru_cache(maxsize=128)
def _spell(same: Same[JsonObject]) -> str:
    return compact(same())
