"""What a question was made of, written down with its answer.

What a plan's rows hold is not written down again, but made of them. Everything else is kept, and what is long as a part
of its own under its digest, so that a text which many questions share is kept once.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from msgspec.structs import replace

from soorma_ai.kernel.domain.history import NO_ANSWER, Ending, JournalEntry, PromptPart, Sent
from soorma_ai.kernel.domain.limits import Payer
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, compact
from soorma_ai.kernel.rules.decisions.prompt import Inputs

LONG = 200
# Blanks, also escaped ones within a text, at the end of an answer.
_BLANKS = re.compile(r"(?:\s|\\[nrt])+\Z")
MOST_BLANKS = 100
_PART = "$part"
_DIGITS, _FEW_DIGITS = 32, 12


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
        digests = {name: digest_of(inputs.values[name]) for name in sorted(made.names)}
        told = {"text": made.text, "said": made.said, "join_id": made.join_id, "room": made.room}
        sent = replace(sent, made=digests, first=made.first, last=made.last, **told)
    kept = [keep(digest, body, inputs, tenant_id, payer) for digest, body in common.items()]
    return sent, (*kept, *(PromptPart(digest, body, plan_id=payer.plan_id) for digest, body in owns.items()))


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
    return _spell(Same(form))


def digest_messages(messages: Iterable[tuple[str, str]]) -> str:
    """Return the digest of messages, each a role and a text."""
    found = hashlib.sha256()
    for part in (part for message in messages for part in message):
        spelled = part.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(spelled) + spelled)
    return found.hexdigest()[:_DIGITS]


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


def digest_of(value: Json) -> str:
    """Return the short digest of an input."""
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
