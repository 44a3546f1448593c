"""Steps of a plan in a prompt, and the lasting facts of hidden steps."""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, derived_id
from soorma_ai.kernel.rules.prompting.fence import SIZE_OF_FENCE, fence_whole, with_name
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
MOST_FAILURES_NAMED = 5

_STRIDE = 64
IN_OUTLINE, _LEFT_OUT, NOT_SHOWN = "in outline", "left out", "not shown"
_TOLD_IN_LESS = re.compile("|".join((IN_OUTLINE, _LEFT_OUT, NOT_SHOWN)))
_VERDICT = re.compile("|".join(AnswerDecision))
_APPROVED = AnswerDecision.APPROVE.value
_OF_REQUESTS = frozenset({StepKind.REPLIED, StepKind.ANSWERED})
_OUTCOMES = {StepKind.RECEIVED: "came", StepKind.EXPIRED: "expired", StepKind.LATE: "late"}
_ROOM_OF_WORDS = 2 * SIZE_OF_FENCE + len("step1000000, in outline:  Their words:  \n")
# Of an earlier plan.
GOAL_CHARS, RESULT_CHARS = 500, 1_500


class HistoryLine(Struct, frozen=True):
    """Line about a step: a sentence of ours, and the fenced data, empty for none. `has_outline`: there is more of it
    than is told."""

    text: str
    data: str = ""
    has_outline: bool = False

    @property
    def whole(self) -> str:
        return f"{self.text} {self.data}" if self.data else self.text


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
    outcomes by event. Of the lines the oldest stay; of a kind of failure, the first. `size` is the sum of the steps'
    whole lines."""

    last: int = 0
    size: int = 0
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
    of_people = PEOPLE_TOKENS * CHARS_PER_TOKEN - sum(size_of_line(line) for _, line in people)
    of_failures = FAILURES_TOKENS * CHARS_PER_TOKEN - sum(size_of_line(line) for _, _, line in failures)
    last, size_of_all = earlier.last, earlier.size
    for step in steps:
        last = max(last, step.ordinal)
        if not step.is_told:
            continue
        lines = step.lines
        size_of_all += lines.most
        if lines.outcome:
            counts[step.name] = counts.get(step.name, EventCount()).plus(lines.outcome, step.ordinal)
        if lines.is_of_person and (size := size_of_line(line := lines.whole_or_short)) <= of_people:
            people.append((step.ordinal, line))
            of_people -= size
        is_new = bool(lines.failure) and all(kind != lines.failure for kind, _, _ in failures)
        if is_new and (size := size_of_line(lines.short)) <= of_failures:
            failures.append((lines.failure, step.ordinal, lines.short))
            of_failures -= size
    return EarlierSteps(last, size_of_all, (*people,), (*failures,), (*counts.items(),))


def _fitting(lines: Iterable[tuple[int, HistoryLine]], room: int) -> tuple[tuple[tuple[int, HistoryLine], ...], int]:
    """Return the first lines within a room, and the room that is left."""
    kept: list[tuple[int, HistoryLine]] = []
    for ordinal, line in lines:
        if (size := size_of_line(line)) <= room:
            kept.append((ordinal, line))
            room -= size
    return (*kept,), room


def first_to_read(count: int) -> int:
    """Return the step from which on a plan of `count` steps is told: it stays the same for long."""
    return max(0, count // _STRIDE - 1) * _STRIDE


class StepLines:
    """Step of a plan with its lines. These are made once, at their first use."""

    def __init__(self, step: Step) -> None:
        self.ordinal, self.kind, self.name, self.join_id = step.ordinal, step.kind, step.name, step.join_id
        self.is_told = step.kind in SAYING
        # The first step of a plan keeps the text of all of them.
        self.kept: object = None
        self._step = step if self.is_told else None
        self._lines: StepText | None = None

    @property
    def lines(self) -> "StepText":
        """Return the lines of a told step. From then on its data is not held."""
        if self._lines is None:
            assert self._step is not None
            self._lines, self._step = StepText(self._step), None
        return self._lines

    @property
    def is_told_whole(self) -> bool:
        """Tell whether the whole line has all that the step brought."""
        return self.is_told and not self.lines.whole.has_outline

    def brings(self, data: Json) -> bool:
        """Tell whether the step brought this data."""
        if self._step is None:
            return self._lines is not None and self._lines.brings(data)
        return self._step.data is data or spell(self._step.data) == spell(data)


class StepText:
    """Lines about a step: whole, shortened, or by words alone. None of these is long, whatever the step brought, so
    that they can be kept as long as its plan goes on.

    `most` is the largest size of the whole line, without making an outline.
    """

    def __init__(self, step: Step) -> None:
        self._ordinal = step.ordinal
        self._words, size, remark = _sentence_about(step)
        self.outcome = _outcome_of(step)
        self.failure = _failure_of(step) if self.outcome == "failed" else ""
        self.is_of_person = step.kind is StepKind.ASKED or (
            step.kind is StepKind.ANSWERED and (self.outcome != _APPROVED or bool(remark))
        )
        self._brings_result = brings_result(step)
        result = None if step.data is None else _SpelledValue(step.data)
        said = _SpelledValue(remark) if remark else _NOTHING_SAID
        is_large, self._is_cut = _is_longer(result, RESULT_TOKENS), _is_longer(result, SHORT_TOKENS)
        self._brought = derived_id("brought", result.text) if result and is_large else ""
        shown = result.within(OUTLINE_TOKENS * CHARS_PER_TOKEN) if result and is_large else result
        self.whole = self._tell(said.within(SAYING_CHARS), shown, is_cut=is_large)
        of_result = OUTLINE_TOKENS * CHARS_PER_TOKEN if is_large else result.size if result else 0
        self.most = size + min(said.size, SAYING_CHARS) + of_result + _ROOM_OF_WORDS
        self._said = said.within(SHORT_SAYING_CHARS) if remark else said
        self._result = result.within(SHORT_TOKENS * CHARS_PER_TOKEN) if result and self._is_cut else result

    @property
    def whole_or_short(self) -> HistoryLine:
        """Return the whole line, unless it takes most of the room that people's words have."""
        return self.whole if size_of_line(self.whole) <= PEOPLE_TOKENS * CHARS_PER_TOKEN // 3 else self.short

    @cached_property
    def short(self) -> HistoryLine:
        return self._tell(self._said, self._result, is_cut=self._is_cut)

    @cached_property
    def words(self) -> HistoryLine:
        left_out = f", result {_LEFT_OUT}" if self._brings_result and self._result else ""
        return HistoryLine(self._text(self._said, left_out), has_outline=bool(left_out))

    def brings(self, data: Json) -> bool:
        """Tell whether the step brought this data."""
        spelled = spell(data)
        if self._brought:
            return self._brought == derived_id("brought", spelled)
        return bool(self.whole.data) and self.whole.data == fence_whole(spelled)

    def _tell(self, said: "_SpelledValue", result: "_SpelledValue | None", *, is_cut: bool) -> HistoryLine:
        about = f", {IN_OUTLINE}" if is_cut else ""
        return HistoryLine(self._text(said, about), fence_whole(result.text) if result else "", is_cut)

    def _text(self, said: "_SpelledValue", about: str = "") -> str:
        remark = f" Their words: {fence_whole(said.text)}" if said.value else ""
        return f"step{self._ordinal}{about}: {self._words}{remark}"


def _sentence_about(step: Step) -> tuple[str, int, str]:
    """Return our sentence about a step with its size, and the words of others in its note."""
    note, remark = step.note, ""
    if step.kind is StepKind.ANSWERED:
        verdict = _VERDICT.match(note)
        note, remark = (verdict[0], note[verdict.end() :].strip(": ")) if verdict else ("", note)
    elif step.kind is StepKind.MOVED or "<" in note or len(note) > SAYING_CHARS:
        note, remark = "", note
    is_of_several = step.kind is StepKind.LATE or (step.kind in _OF_REQUESTS and step.join_id is not None)
    return *_sentence(step.kind, step.name, note, step.place + 1 if is_of_several else 0), remark


@lru_cache(maxsize=1024)
def _sentence(kind: StepKind, name: str, note: str, number: int) -> tuple[str, int]:
    """Return the sentence with its size. The `number` is that of a request among several; 0 for a single one."""
    told = f"{name} (request {number})" if number else name
    sentence = with_name(SAYING[kind].format(name=told, note=note), name)
    return sentence, size_of_text(sentence)


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


def show_result(number: int, value: Json, most: int = RESULT_TOKENS, outline: int = RESULT_TOKENS) -> str:
    """Return the result of a step, fenced after the number of the step. One of more than `most` tokens is an outline of
    so many."""
    spelled = _SpelledValue(value)
    if spelled.size <= most * CHARS_PER_TOKEN:
        return f"step{number}: {fence_whole(spelled.text)}"
    return f"step{number}, {IN_OUTLINE}: {fence_whole(spelled.within(outline * CHARS_PER_TOKEN).text)}"


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


_NOTHING_SAID = _SpelledValue("")


def _is_longer(value: _SpelledValue | None, tokens: int) -> bool:
    return value is not None and value.size > tokens * CHARS_PER_TOKEN


def size_of_line(line: HistoryLine) -> int:
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
