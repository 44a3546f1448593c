"""Text of a plan in a prompt: the goal, and the history within a room. Steps are appended until the room is spent.

Providers cache the beginning of a prompt, so the text of a step stays the same from decision to decision. Once the room
is spent, the history is made anew in half of it: the newest steps whole, older ones shortened, then a few by their
words alone, and the oldest as a count. That moment depends on the sizes of all steps, so it is the same wherever the
text begins.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf

from msgspec import Struct

from soorma_ai.kernel.domain.history import HISTORY_TOKENS
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.prompting.digests import TextDigest, digest_of
from soorma_ai.kernel.rules.prompting.fence import FENCE_CHARS, name_in_prompt
from soorma_ai.kernel.rules.prompting.history import (
    NOT_SHOWN,
    NOTHING_EARLIER,
    OUTLINE_TOKENS,
    EarlierSteps,
    HistoryLine,
    StepLines,
    StepText,
    add_earlier,
    is_outline,
    show_result,
    size_of_line,
)
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN

GOAL_TOKENS = FENCE_CHARS // CHARS_PER_TOKEN
MOST_EVENTS_COUNTED = 20
_ROOM_OF_COUNT = 60
MOST_BY_WORDS = 32

# Ways to tell steps, each until so much of the room is used, or so many steps are told.
_WAYS: tuple[tuple[Callable[[StepText], HistoryLine], float, float], ...] = (
    (lambda step: step.whole, 2 / 3, inf),
    (lambda step: step.short, 5 / 6, inf),
    (lambda step: step.words, 1, MOST_BY_WORDS),
)


class PlanText(Struct, frozen=True):
    """Goal and history of a plan in a prompt, with their `digests`. `has_outlines`: a part of them is shortened. Steps
    up to the `hidden` one are not shown; `last` is the last line."""

    goal: JsonObject
    history: str
    digests: Mapping[str, str]
    has_outlines: bool
    hidden: int
    last: HistoryLine | None


class HistoryText:
    """History of a plan in a `room` of tokens: lasting facts and outcomes of hidden steps, then the steps in order.

    Steps are appended: those from `first_to_read` on, without those in the trigger. `earlier` has the facts of the
    steps before them.
    """

    def __init__(self, room: int = HISTORY_TOKENS, earlier: EarlierSteps = NOTHING_EARLIER) -> None:
        self.room, self.earlier = room, earlier
        self._most = room * CHARS_PER_TOKEN - _ROOM_OF_COUNT
        self._size, self._used, self._anew = earlier.size, _size_of_facts(earlier, self._most // 4), 0
        self._added: list[StepLines] = []
        self._told: list[StepLines] = []
        self.lines: list[HistoryLine] = []
        self._begin([], earlier)

    def add(self, steps: Sequence[StepLines]) -> None:
        """Append the steps behind those of the last call."""
        new = steps[len(self._added) :]
        told = [step for step in new if step.is_told]
        self._added += new
        if not told:
            return
        texts, is_first, anew = [step.lines for step in told], not self._told, self._anew
        for number, one in enumerate(texts, len(self._told) + 1):
            if self._is_spent(one.most):
                self._used, self._anew = self._most // 2, number
        self._told += told
        if self._anew > anew:
            self._tell_anew()
        elif is_first and told[0].ordinal > 1 and not self.earlier.last:
            self._begin([one.whole for one in texts], EarlierSteps(told[0].ordinal - 1))
        else:
            self._append([one.whole for one in texts])

    def _is_spent(self, more: int) -> bool:
        """Tell whether a step of this size spends the room: the whole plan takes a further half of it, or the text is
        too long."""
        before, half = self._size, max(1, self._most // 2)
        self._size += more
        self._used += more
        return self._used > self._most or self._size // half > max(1, before // half)

    def begins(self, steps: Sequence[StepLines], room: int, earlier: EarlierSteps) -> bool:
        """Tell whether the text so far is that of the first of these steps."""
        count = len(self._added)
        is_of_these = count <= len(steps) and (not count or self._added[-1] is steps[count - 1])
        return is_of_these and self.room == room and self.earlier.last == earlier.last

    @property
    def digest(self) -> str:
        return str(self._digest)

    def _tell_anew(self) -> None:
        told, most = self._told[: self._anew], self._most
        reserved = _size_of_facts(add_earlier(self.earlier, told), most // 4)
        newest = _tell_newest(told, most // 2 - reserved)
        hidden = add_earlier(self.earlier, told[: len(told) - len(newest)])
        if not hidden.last and told[0].ordinal > 1:
            hidden = EarlierSteps(told[0].ordinal - 1)
        self._begin([*newest, *(step.lines.whole for step in self._told[self._anew :])], hidden)

    def _begin(self, shown: Sequence[HistoryLine], hidden: EarlierSteps) -> None:
        """Make the text of the shown steps and of the facts of the hidden ones."""
        self.hidden = hidden.last
        outcomes = _outcomes(hidden, self._most // 4)
        self.lines, self.text, self._digest, self.has_outlines = [], "", TextDigest(), False
        facts = hidden.within(self._most // 4 - sum(map(size_of_line, outcomes)))
        self._append([*facts.lines, *outcomes, *shown])

    def _append(self, lines: Sequence[HistoryLine]) -> None:
        if not lines:
            return
        more = "\n".join([line.whole for line in lines])
        if self.lines:
            more = f"\n{more}"
        self.lines += lines
        self.text += more
        self._digest.add(more)
        for line in lines:
            self.has_outlines = self.has_outlines or line.has_outline


class _KeptText(Struct, frozen=True):
    """Text of a running plan, kept by its first step."""

    goal: JsonObject
    goal_digest: str
    is_outline: bool
    history: HistoryText


def tell_plan(
    plan: PlanRecord, steps: Sequence[StepLines], room: int = HISTORY_TOKENS, earlier: EarlierSteps = NOTHING_EARLIER
) -> PlanText:
    """Return the goal and the history. Each decision appends only the new steps."""
    kept = steps[0].kept if steps else None
    if not isinstance(kept, _KeptText) or not kept.history.begins(steps, room, earlier):
        kept = _begin_text(plan, room, earlier)
        if steps:
            steps[0].kept = kept
    return _add(kept, steps)


def tell_parts_of(
    plan: PlanRecord, steps: Sequence[StepLines], room: int = HISTORY_TOKENS, earlier: EarlierSteps = NOTHING_EARLIER
) -> PlanText:
    """Return the goal, and the history of some of a plan's steps."""
    return _add(_begin_text(plan, room, earlier), steps)


def _begin_text(plan: PlanRecord, room: int, earlier: EarlierSteps) -> _KeptText:
    data = show_result(0, plan.goal_data, GOAL_TOKENS, OUTLINE_TOKENS)
    goal: JsonObject = {"name": name_in_prompt(plan.goal_event), "data": data}
    return _KeptText(goal, digest_of(goal), is_outline(data), HistoryText(room, earlier))


def _add(kept: _KeptText, steps: Sequence[StepLines]) -> PlanText:
    history = kept.history
    history.add(steps)
    digests = {"goal": kept.goal_digest, "history": history.digest}
    has_outlines = kept.is_outline or history.has_outlines
    last = history.lines[-1] if history.lines else None
    return PlanText(kept.goal, history.text, digests, has_outlines, history.hidden, last)


def _size_of_facts(earlier: EarlierSteps, room: int) -> int:
    """Return the most that the facts of these steps, or of fewer, take of a room."""
    if not earlier.last:
        return 0
    return min(room, sum(map(size_of_line, (*earlier.lines, *_outcomes(earlier, room)))))


def _outcomes(hidden: EarlierSteps, room: int) -> list[HistoryLine]:
    """Return the lines about steps that are not shown: their number, and a line for each event. The goal, which is step
    0, stands elsewhere."""
    if not hidden.last:
        return []
    which = "Step 1 is" if hidden.last == 1 else f"Steps 1 to {hidden.last} are"
    lines, left = [HistoryLine(f"{which} {NOT_SHOWN}.", has_outline=True)], room // 2
    for name, count in sorted(hidden.counts, key=lambda one: -sum(number for _, number in one[1].outcomes)):
        line = HistoryLine(f"{name_in_prompt(name)}: {count}")
        left -= size_of_line(line)
        if left < 0 or len(lines) > MOST_EVENTS_COUNTED:
            break
        lines.append(line)
    return lines


def _tell_newest(told: Sequence[StepLines], room: int) -> list[HistoryLine]:
    """Return the newest steps in so many characters, each told in no more detail than the one after it."""
    whole = [step.lines.whole for step in told]
    if sum(map(size_of_line, whole)) <= room:
        return whole
    lines: list[HistoryLine] = []
    left, used = list(told), 0
    for tell, share, most in _WAYS:
        while left and len(lines) < most and used + size_of_line(line := tell(left[-1].lines)) <= share * room:
            left.pop()
            lines.append(line)
            used += size_of_line(line)
    return lines[::-1]
