"""The history of a plan as a model is told it: within a room, and only ever added to until that is spent.

Providers keep the beginning of a prompt that they have seen, so what is told of a step stays as it is from one decision
to the next. Where the next step does not fit any more, all of it is told anew in half of the room: the newest steps
whole, older ones shortened, older ones still by their words alone, and of the oldest how many they are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from msgspec import Struct

from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, derived_id
from soorma_ai.kernel.rules.prompting.fence import SIZE_OF_FENCE, fence_spelled, with_name
from soorma_ai.kernel.rules.prompting.outline import shorten
from soorma_ai.kernel.rules.prompting.references import brings_result
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, size_of_text, spell

HISTORY_TOKENS = 6_000
RESULT_TOKENS = 1_500
OUTLINE_TOKENS = 500
SHORT_TOKENS = 100
SAYING_CHARS = 1_000
SHORT_SAYING_CHARS = 300

SAYING = {
    StepKind.PUBLISHED: "You published {name}.",
    StepKind.DELEGATED: "You delegated {name}.",
    StepKind.REPLIED: "{name} answered ({note}).",
    StepKind.ASKED: "You waited for {name} and asked:",
    StepKind.HELD: "Your publish of {name} was held for a person's approval.",
    StepKind.ANSWERED: "A person answered about {name} ({note}).",
    StepKind.RECEIVED: "{name} came.",
    StepKind.EXPIRED: "{note}",
    StepKind.PARKED: "Nobody could be asked, so you slept.",
    StepKind.RESUMED: "The agents that can be asked changed.",
    StepKind.JOINED: "{note}",
    StepKind.LATE: "{name} was answered late, after you had decided without it.",
    StepKind.MOVED: "You moved to the phase {name}.",
}

_STRIDE = 64
_IN_OUTLINE, _LEFT_OUT, _NOT_SHOWN = "in outline", "left out", "not shown"
_TOLD_IN_LESS = re.compile("|".join((_IN_OUTLINE, _LEFT_OUT, _NOT_SHOWN)))
_VERDICT = re.compile("|".join(AnswerDecision))
_ROOM_OF_COUNT = 60
_ROOM_OF_WORDS = 2 * SIZE_OF_FENCE + len("step1000000, in outline:  Their words:  \n")
# Of an earlier plan.
GOAL_CHARS, RESULT_CHARS = 500, 1_500


class HistoryLine(Struct, frozen=True, dict=True):
    """Line about a step: a sentence of ours, and the fenced data, empty for none."""

    text: str
    data: str = ""

    @cached_property
    def whole(self) -> str:
        return f"{self.text} {self.data}" if self.data else self.text

    @cached_property
    def has_outline(self) -> bool:
        return is_outline(self.text)


def first_to_read(count: int) -> int:
    """Return the step from which on a plan of `count` steps is told: it stays the same for long."""
    return max(0, count // _STRIDE - 1) * _STRIDE


class StepLines:
    """Lines about a step: whole, shortened, or by words alone. None of these is long, whatever the step brought, so
    that they can be kept as long as its plan goes on; `brought` names its data.

    `most` is the largest size of the whole line, without making an outline.
    """

    def __init__(self, step: Step) -> None:
        self.ordinal, self.kind, self.name, self.join_id = step.ordinal, step.kind, step.name, step.join_id
        result = None if step.data is None else _SpelledValue(step.data)
        self.brought = "" if result is None else derived_id("brought", result.text)
        self.is_told = step.kind in SAYING
        if not self.is_told:
            return
        self._words, remark = _sentence_about(step)
        self._brings_result = brings_result(step)
        said = _SpelledValue(remark)
        self.most = size_of_text(self._words) + min(said.size, SAYING_CHARS) + _size_in_outline(result) + _ROOM_OF_WORDS
        self.whole = self._line(said.within(SAYING_CHARS), result, RESULT_TOKENS, OUTLINE_TOKENS)
        self._said = said.within(SHORT_SAYING_CHARS)
        is_large = result is not None and result.size > SHORT_TOKENS * CHARS_PER_TOKEN
        self._is_cut = is_large
        self._result = result.within(SHORT_TOKENS * CHARS_PER_TOKEN) if result else None

    @cached_property
    def short(self) -> HistoryLine:
        return self._tell(self._said, self._result, is_cut=self._is_cut)

    @cached_property
    def words(self) -> HistoryLine:
        left_out = f", result {_LEFT_OUT}" if self._brings_result and self._result else ""
        return HistoryLine(self._text(self._said, left_out))

    def _line(self, said: "_SpelledValue", result: "_SpelledValue | None", most: int, outline: int) -> HistoryLine:
        is_large = result is not None and result.size > most * CHARS_PER_TOKEN
        shown = result.within(outline * CHARS_PER_TOKEN) if result and is_large else result
        return self._tell(said, shown, is_cut=is_large)

    def _tell(self, said: "_SpelledValue", result: "_SpelledValue | None", *, is_cut: bool) -> HistoryLine:
        about = f", {_IN_OUTLINE}" if is_cut else ""
        return HistoryLine(self._text(said, about), fence_spelled(result.text) if result else "")

    def _text(self, said: "_SpelledValue", about: str = "") -> str:
        remark = f" Their words: {fence_spelled(said.text)}" if said.value else ""
        return f"step{self.ordinal}{about}: {self._words}{remark}"


def _sentence_about(step: Step) -> tuple[str, str]:
    """Return our sentence about a step, and the words of others in its note."""
    note, remark = step.note, ""
    if step.kind is StepKind.ANSWERED:
        verdict = _VERDICT.match(note)
        note, remark = (verdict[0], note[verdict.end() :].strip(": ")) if verdict else ("", note)
    elif step.kind is StepKind.MOVED or "<" in note or len(note) > SAYING_CHARS:
        note, remark = "", note
    return with_name(SAYING[step.kind].format(name=step.name, note=note), step.name), remark


def name_data(data: Json) -> str:
    """Return the name that `StepLines.brought` has for this."""
    return "" if data is None else derived_id("brought", spell(data))


def history_lines(steps: Sequence[StepLines], room: int = HISTORY_TOKENS) -> list[HistoryLine]:
    """Return what is told of the steps, in order, in so many tokens at most.

    `steps` are the last ones of a plan, from `first_to_read` on, but for those that are told otherwise.
    """
    told = [step for step in steps if step.is_told]
    if not told:
        return []
    most = room * CHARS_PER_TOKEN - _ROOM_OF_COUNT
    used = anew = 0
    for number, one in enumerate(told, 1):
        used += one.most
        if used > most:
            used, anew = most // 2, number
    shown = [*_tell_anew(told[:anew], most // 2), *(one.whole for one in told[anew:])]
    first = told[-len(shown)].ordinal if shown else told[-1].ordinal + 1
    return [*_count_before(first), *shown]


def show_result(number: int, value: Json, most: int = RESULT_TOKENS) -> str:
    """Return the result of a step, fenced after the number of the step; in outline if it has more than `most`
    tokens."""
    spelled, room = _SpelledValue(value), most * CHARS_PER_TOKEN
    about = f", {_IN_OUTLINE}" if spelled.size > room else ""
    return f"step{number}{about}: {fence_spelled(spelled.within(room).text)}"


def is_outline(told: str) -> bool:
    """Tell whether there is more of it than is told: by our words before the fence."""
    return _TOLD_IN_LESS.search(told.partition("<")[0]) is not None


class _SpelledValue:
    """Value with its spelling in a fence and the size of that."""

    def __init__(self, value: Json) -> None:
        self.value = value
        self.text = spell(value)
        self.size = size_of_text(self.text)

    def within(self, room: int) -> "_SpelledValue":
        """Return as much of it as a room of this size holds."""
        return self if self.size <= room else _SpelledValue(shorten(self.value, room))


# Ways to tell steps, each until so much of the room is used.
_WAYS: tuple[tuple[Callable[[StepLines], HistoryLine], float], ...] = (
    (lambda step: step.whole, 2 / 3),
    (lambda step: step.short, 5 / 6),
    (lambda step: step.words, 1),
)


def _size_in_outline(value: _SpelledValue | None) -> int:
    """Return the size of a value, at most that of an outline if it is told in one."""
    size = value.size if value else 0
    return size if size <= RESULT_TOKENS * CHARS_PER_TOKEN else OUTLINE_TOKENS * CHARS_PER_TOKEN


def _tell_anew(told: Sequence[StepLines], room: int) -> list[HistoryLine]:
    """Return the newest steps in so many characters, each told in no more detail than the one after it."""
    lines: list[HistoryLine] = []
    left, used = list(told), 0
    for tell, share in _WAYS:
        while left and used + _size(line := tell(left[-1])) <= share * room:
            left.pop()
            lines.append(line)
            used += _size(line)
    return lines[::-1]


def _size(line: HistoryLine) -> int:
    return size_of_text(line.whole) + 1


def _count_before(first: int) -> list[HistoryLine]:
    """Return the line about the steps before the first that is told. The goal, which is step 0, stands elsewhere."""
    if first <= 1:
        return []
    steps = "1 earlier step is" if first == 2 else f"{first - 1} earlier steps are"
    return [HistoryLine(f"{steps} {_NOT_SHOWN}.")]


def tell_earlier(plan: PlanRecord, before: Iterable[PlanRecord], most: int) -> list[Json]:
    """Return the last `most` plans that have ended, the oldest first. `before` are those of the session, the newest
    first; what another user began, a part of a larger plan, and what came after is none of these."""
    whose = (plan.lineage.tenant_id, plan.lineage.user_id, plan.lineage.session_id)
    ended = [
        one
        for one in before
        if one.status.is_final
        and one.parent_plan_id is None
        and one.created_at <= plan.created_at
        and one.plan_id != plan.plan_id
        and (one.lineage.tenant_id, one.lineage.user_id, one.lineage.session_id) == whose
    ]
    return [_describe(one) for one in reversed(ended[:most])]


def _describe(plan: PlanRecord) -> Json:
    worked = plan.status is PlanStatus.COMPLETED
    return {
        "goal": plan.goal_event,
        "data": shorten(plan.goal_data, GOAL_CHARS),
        "status": plan.status,
        "result" if worked else "reason": shorten(plan.result if worked else plan.reason, RESULT_CHARS),
    }
