"""The history of a plan as a model is told it: within a room, and only ever added to until that is spent.

Providers keep the beginning of a prompt that they have seen, so what is told of a step stays as it is from one decision
to the next. Where the next step does not fit any more, all of it is told anew in half of the room: the newest steps
whole, older ones shortened, older ones still by their words alone, and of the oldest how many they are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import HISTORY_TOKENS, Step, StepKind
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, derived_id
from soorma_ai.kernel.rules.prompting.fence import SIZE_OF_FENCE, fence_spelled, name_in_prompt, with_name
from soorma_ai.kernel.rules.prompting.outline import shorten
from soorma_ai.kernel.rules.prompting.references import brings_result
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, size_of_text, spell

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

# Rooms of the words of people and of failures, once their steps are not shown.
PEOPLE_TOKENS, FAILURES_TOKENS = 1_000, 500
MOST_EVENTS_COUNTED, MOST_FAILURES_NAMED = 20, 5

_STRIDE = 64
_IN_OUTLINE, _LEFT_OUT, _NOT_SHOWN = "in outline", "left out", "not shown"
_TOLD_IN_LESS = re.compile("|".join((_IN_OUTLINE, _LEFT_OUT, _NOT_SHOWN)))
_VERDICT = re.compile("|".join(AnswerDecision))
_ROOM_OF_COUNT = 60
_APPROVED = AnswerDecision.APPROVE.value
_OUTCOMES = {StepKind.RECEIVED: "came", StepKind.EXPIRED: "expired", StepKind.LATE: "late"}
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


class EventCount(Struct, frozen=True):
    """Outcomes of the steps about one event, and the numbers of its first failures."""

    outcomes: tuple[tuple[str, int], ...] = ()
    failed: tuple[int, ...] = ()

    def plus(self, outcome: str, ordinal: int) -> "EventCount":
        counts = dict(self.outcomes)
        counts[outcome] = counts.get(outcome, 0) + 1
        failed = (*self.failed, ordinal) if outcome == "failed" else self.failed
        return EventCount((*counts.items(),), failed[:MOST_FAILURES_NAMED])

    def __str__(self) -> str:
        steps = ", ".join(f"step{ordinal}" for ordinal in self.failed)
        return ", ".join(
            f"{count} {outcome} ({steps})" if outcome == "failed" else f"{count} {outcome}"
            for outcome, count in self.outcomes
        )


class EarlierSteps(Struct, frozen=True):
    """Facts of steps that are not shown, up to the `last` one: lines of people and of failures by their numbers, and
    outcomes by event. Of the lines the oldest stay; of a kind of failure, the first."""

    last: int = 0
    people: tuple[tuple[int, HistoryLine], ...] = ()
    failures: tuple[tuple[str, int, HistoryLine], ...] = ()
    counts: tuple[tuple[str, EventCount], ...] = ()

    @property
    def lines(self) -> list[HistoryLine]:
        failures = [(ordinal, line) for _, ordinal, line in self.failures]
        return [line for _, line in sorted((*self.people, *failures), key=lambda one: one[0])]

    def within(self, room: int) -> "EarlierSteps":
        """Return the facts with as many lines as the room holds."""
        people, left = _fitting(self.people, room)
        known = {ordinal for _, ordinal, _ in self.failures}
        failures, _ = _fitting([(ordinal, line) for _, ordinal, line in self.failures], left)
        kept = known & {ordinal for ordinal, _ in failures}
        return replace(self, people=people, failures=tuple(one for one in self.failures if one[1] in kept))


NOTHING_EARLIER = EarlierSteps()


def add_earlier(earlier: EarlierSteps, steps: Iterable["StepLines"]) -> EarlierSteps:
    """Return the facts with those of further steps, in their order."""
    people, failures, counts = [*earlier.people], [*earlier.failures], dict(earlier.counts)
    of_people = PEOPLE_TOKENS * CHARS_PER_TOKEN - sum(_size(line) for _, line in people)
    of_failures = FAILURES_TOKENS * CHARS_PER_TOKEN - sum(_size(line) for _, _, line in failures)
    last = earlier.last
    for step in steps:
        last = max(last, step.ordinal)
        if step.outcome:
            counts[step.name] = counts.get(step.name, EventCount()).plus(step.outcome, step.ordinal)
        if step.is_of_person and (size := _size(line := step.whole_or_short)) <= of_people:
            people.append((step.ordinal, line))
            of_people -= size
        is_new = bool(step.failure) and all(kind != step.failure for kind, _, _ in failures)
        if is_new and (size := _size(step.short)) <= of_failures:
            failures.append((step.failure, step.ordinal, step.short))
            of_failures -= size
    return EarlierSteps(last, (*people,), (*failures,), (*counts.items(),))


def _fitting(lines: Iterable[tuple[int, HistoryLine]], room: int) -> tuple[tuple[tuple[int, HistoryLine], ...], int]:
    """Return the first lines within a room, and the room that is left."""
    kept: list[tuple[int, HistoryLine]] = []
    for ordinal, line in lines:
        if (size := _size(line)) <= room:
            kept.append((ordinal, line))
            room -= size
    return (*kept,), room


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
        self.outcome, self.failure, self.is_of_person = "", "", False
        if not self.is_told:
            return
        self._words, remark = _sentence_about(step)
        self.outcome = _outcome_of(step)
        self.failure = _failure_of(step) if self.outcome == "failed" else ""
        self.is_of_person = step.kind is StepKind.ASKED or (
            step.kind is StepKind.ANSWERED and (self.outcome != _APPROVED or bool(remark))
        )
        self._brings_result = brings_result(step)
        said = _SpelledValue(remark)
        self.most = size_of_text(self._words) + min(said.size, SAYING_CHARS) + _size_in_outline(result) + _ROOM_OF_WORDS
        self.whole = self._line(said.within(SAYING_CHARS), result, RESULT_TOKENS, OUTLINE_TOKENS)
        self._said = said.within(SHORT_SAYING_CHARS)
        is_large = result is not None and result.size > SHORT_TOKENS * CHARS_PER_TOKEN
        self._is_cut = is_large
        self._result = result.within(SHORT_TOKENS * CHARS_PER_TOKEN) if result else None

    @property
    def whole_or_short(self) -> HistoryLine:
        """Return the whole line, unless it takes most of the room that people's words have."""
        return self.whole if _size(self.whole) <= PEOPLE_TOKENS * CHARS_PER_TOKEN // 3 else self.short

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


def _outcome_of(step: Step) -> str:
    """Return the outcome in one word; empty for a step that has none."""
    match step.kind:
        case StepKind.REPLIED:
            return "ok" if step.note == "ok" else "failed"
        case StepKind.ANSWERED:
            verdict = _VERDICT.match(step.note)
            return verdict[0] if verdict else "answered"
        case _:
            return _OUTCOMES.get(step.kind, "")


def _failure_of(step: Step) -> str:
    """Return the kind of a failure: the event and the code."""
    code = step.data.get("code") if isinstance(step.data, dict) else None
    return f"{step.name} {code if isinstance(code, str) else ''}"


def name_data(data: Json) -> str:
    """Return the name that `StepLines.brought` has for this."""
    return "" if data is None else derived_id("brought", spell(data))


def history_lines(
    steps: Sequence[StepLines], room: int = HISTORY_TOKENS, earlier: EarlierSteps = NOTHING_EARLIER
) -> list[HistoryLine]:
    """Return the history in so many tokens at most: facts that stay, the steps in order, and the outcomes of steps that
    are not shown.

    `steps` are the last ones of a plan, from `first_to_read` on, but for those that are told otherwise; `earlier` has
    the facts of the steps before them.
    """
    told = [step for step in steps if step.is_told]
    if not told and not earlier.last:
        return []
    most = room * CHARS_PER_TOKEN - _ROOM_OF_COUNT
    used, anew = _size_of_facts(earlier, most // 4), 0
    for number, one in enumerate(told, 1):
        used += one.most
        if used > most:
            used, anew = most // 2, number
    hidden = earlier
    shown = [one.whole for one in told[anew:]]
    if anew:
        reserved = _size_of_facts(add_earlier(earlier, told[:anew]), most // 4)
        newest = _tell_anew(told[:anew], most // 2 - reserved)
        hidden = add_earlier(earlier, told[: anew - len(newest)])
        shown = [*newest, *shown]
    if not hidden.last and told and told[0].ordinal > 1:
        hidden = EarlierSteps(told[0].ordinal - 1)
    facts = hidden.within(_room_of_lines(hidden, most // 4))
    return [*facts.lines, *shown, *_outcomes(hidden, most // 4)]


def _size_of_facts(earlier: EarlierSteps, room: int) -> int:
    """Return the most that the facts of these steps, or of fewer, take of a room."""
    if not earlier.last:
        return 0
    return min(room, sum(map(_size, (*earlier.lines, *_outcomes(earlier, room)))))


def _room_of_lines(earlier: EarlierSteps, room: int) -> int:
    return room - sum(map(_size, _outcomes(earlier, room)))


def _outcomes(hidden: EarlierSteps, room: int) -> list[HistoryLine]:
    """Return the lines about steps that are not shown: their number, and a line for each event. The goal, which is step
    0, stands elsewhere."""
    if not hidden.last:
        return []
    which = "Step 1 is" if hidden.last == 1 else f"Steps 1 to {hidden.last} are"
    lines, left = [HistoryLine(f"{which} {_NOT_SHOWN}.")], room // 2
    for name, count in sorted(hidden.counts, key=lambda one: -sum(number for _, number in one[1].outcomes)):
        line = HistoryLine(f"{name_in_prompt(name)}: {count}")
        left -= _size(line)
        if left < 0 or len(lines) > MOST_EVENTS_COUNTED:
            break
        lines.append(line)
    return lines


def show_result(number: int, value: Json, most: int = RESULT_TOKENS, outline: int = RESULT_TOKENS) -> str:
    """Return the result of a step, fenced after the number of the step. One of more than `most` tokens is an outline of
    so many."""
    spelled = _SpelledValue(value)
    if spelled.size <= most * CHARS_PER_TOKEN:
        return f"step{number}: {fence_spelled(spelled.text)}"
    return f"step{number}, {_IN_OUTLINE}: {fence_spelled(spelled.within(outline * CHARS_PER_TOKEN).text)}"


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
