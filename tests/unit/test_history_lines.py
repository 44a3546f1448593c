"""The history in a prompt: within its room, retold rarely, each result by name."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import HISTORY_TOKENS, Step, StepKind
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.prompting import history
from soorma_ai.kernel.rules.prompting.digests import digest_of
from soorma_ai.kernel.rules.prompting.history import (
    NOTHING_EARLIER,
    OUTLINE_TOKENS,
    RESULT_TOKENS,
    SAYING,
    SAYING_CHARS,
    EarlierSteps,
    HistoryLine,
    StepLines,
    first_to_read,
    show_result,
)
from soorma_ai.kernel.rules.prompting.outline import length_of
from soorma_ai.kernel.rules.prompting.plan_text import MOST_BY_WORDS, HistoryText, tell_parts_of, tell_plan
from soorma_ai.kernel.rules.prompting.references import brings_result
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, size_of_text
from unit.kit import NOW, plan

ROOM = HISTORY_TOKENS * CHARS_PER_TOKEN
COUNT = re.compile(r"Steps? (?:1 to )?(\d+) (?:is|are) not shown\.")


def step(ordinal: int, data: Json = None, kind: StepKind = StepKind.REPLIED, note: str = "ok") -> Step:
    return Step("p-1", ordinal, kind, NOW, "part.asked", data, note)


def history_lines(
    steps: Sequence[Step], room: int = HISTORY_TOKENS, earlier: EarlierSteps = NOTHING_EARLIER
) -> list[HistoryLine]:
    text = HistoryText(room, earlier)
    text.add([StepLines(one) for one in steps])
    return text.lines


def body(lines: Sequence[HistoryLine]) -> list[HistoryLine]:
    """The lines about single steps, without the summary of hidden ones."""
    return [line for line in lines if re.match(r"step\d", line.text)]


def outcomes_in(lines: Sequence[HistoryLine]) -> list[str]:
    return [line.text for line in lines if not re.match(r"step\d", line.text)]


def hidden_in(lines: Sequence[HistoryLine]) -> int:
    """The number of the last hidden step, 0 without one."""
    counted = [found for line in lines if (found := COUNT.fullmatch(line.text))]
    return int(counted[0][1]) if counted else 0


def ordinal_of(line: HistoryLine) -> int:
    found = re.match(r"step(\d+)", line.text)
    assert found, line.text
    return int(found[1])


def within(fenced: str) -> Json:
    """The value between fences, after the platform's words."""
    found = re.fullmatch(r"(?:[^<]* )?<data>([^<]*)</data>", fenced)
    assert found, fenced
    return json.loads(found[1])


def calls_of(run: Callable[[], object]) -> int:
    """The number of calls within a function."""
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return counted


def size(lines: Sequence[HistoryLine]) -> int:
    return sum(size_of_text(line.whole) + 1 for line in lines)


kinds = st.sampled_from(list(SAYING))


def data(text: str, times: int, more: Json) -> Json:
    return {"text": text * times, "items": [more] * (times % 90)}


def numbered_steps(made: list[tuple[StepKind, Json, str]]) -> list[Step]:
    return [step(number, data, kind, note) for number, (kind, data, note) in enumerate(made, 1)]


scalars: st.SearchStrategy[Json] = st.integers() | st.text(max_size=90)
values: st.SearchStrategy[Json] = st.none() | st.builds(data, st.text(max_size=40), st.integers(0, 300), scalars)
plans = st.lists(st.tuples(kinds, values, st.text(max_size=2_000)), max_size=70).map(numbered_steps)


@settings(max_examples=25)
@given(plans, st.integers(100, 8_000))
def test_the_history_is_within_its_room_and_each_result_is_json_under_its_step(steps: list[Step], room: int) -> None:
    lines = history_lines(steps, room)
    assert size(lines) <= room * CHARS_PER_TOKEN
    hidden = hidden_in(lines)
    shown = [line for line in body(lines) if ordinal_of(line) > hidden]
    for one, line in zip(steps[hidden:], shown, strict=True):
        head = line.text.partition(": ")[0]
        is_left_out = one.data is not None and brings_result(one) and not line.data
        is_cut = bool(line.data) and within(line.data) != one.data
        told = ", result left out" if is_left_out else ", in outline" if is_cut else ""
        assert head == f"step{one.ordinal}{told}" and line.has_outline is bool(told)
        assert "<" not in line.text or isinstance(within(line.text), str)


@settings(max_examples=25)
@given(plans, st.integers(400, 8_000))
def test_a_new_step_is_appended_until_the_room_is_spent(steps: list[Step], room: int) -> None:
    """Then the history is retold in half of the room, at most once for each half of a room of new text."""
    before: list[HistoryLine] = []
    most = told_anew = 0
    for count, one in enumerate(steps, 1):
        lines = history_lines(steps[:count], room)
        most += min(length_of(one.data), RESULT_TOKENS * CHARS_PER_TOKEN) + min(length_of(one.note), SAYING_CHARS)
        most += 250
        if lines[: len(before)] != before:
            assert size(lines) <= room * CHARS_PER_TOKEN // 2 + 60
            told_anew += 1
            assert told_anew <= most // (room * CHARS_PER_TOKEN // 2 - 60) - 1
        before = lines
    assert history_lines(steps, room) == history_lines([*steps], room)


@settings(max_examples=25)
@given(plans, st.integers(100, 8_000), st.integers(0, 30))
def test_a_growing_history_equals_one_built_at_once(steps: list[Step], room: int, hidden: int) -> None:
    known = [StepLines(one) for one in steps]
    earlier = history.add_earlier(NOTHING_EARLIER, known[:hidden])
    growing = HistoryText(room, earlier)
    for count in range(hidden, len(known) + 1):
        growing.add(known[hidden:count])
        if count % 9 and count < len(known):
            continue
        fresh = HistoryText(room, earlier)
        fresh.add([StepLines(one) for one in steps[hidden:count]])
        assert (growing.lines, growing.has_outlines) == (fresh.lines, fresh.has_outlines)
        text = "\n".join(line.whole for line in fresh.lines)
        assert growing.text == fresh.text == text
        assert growing.digest == fresh.digest == digest_of(text)


@pytest.mark.parametrize("chars", [300, 900, 5_000])
@pytest.mark.parametrize("count", [128, 192, 256])
def test_the_history_of_large_steps_is_the_same_wherever_it_begins(count: int, chars: int) -> None:
    steps = [step(n, {"n": n, "text": "x" * chars}) for n in range(1, count + 1)]
    first = first_to_read(count)
    earlier = history.add_earlier(NOTHING_EARLIER, map(StepLines, steps[: first - 1]))
    assert history_lines(steps[first - 1 :], earlier=earlier) == history_lines(steps)


def test_the_cost_of_a_decision_does_not_grow_with_the_steps_of_its_plan() -> None:
    known = [StepLines(step(number, {"n": number})) for number in range(1, 127)]
    tell_plan(plan(), known[:20])
    early = calls_of(lambda: tell_plan(plan(), known[:22]))
    tell_plan(plan(), known[:124])
    # A garbage collection adds a few calls.
    assert calls_of(lambda: tell_plan(plan(), known)) <= early + 10


@pytest.mark.parametrize("kind", [StepKind.GOAL, StepKind.REPLIED])
@pytest.mark.parametrize("data", [{"n": 1}, {"text": "x" * 9_000}])
def test_a_step_recognises_its_data_before_and_after_its_lines_are_built(data: Json, kind: StepKind) -> None:
    one, same = StepLines(step(1, data, kind)), json.loads(json.dumps(data))
    found = [one.brings(same), one.brings({"n": 2})]
    if one.is_told:
        assert one.lines.whole.text.startswith("step1")
    assert [one.brings(same), one.brings({"n": 2})] == found == [one.is_told, False]


def test_the_text_of_a_plan_is_rebuilt_for_another_room_and_other_steps() -> None:
    known = [StepLines(step(number, {"text": "x" * 900})) for number in range(1, 40)]
    texts = [tell_plan(plan(), known[:count], room).history for count, room in ((39, 9_000), (39, 900), (20, 9_000))]
    fresh = [[StepLines(step(n, {"text": "x" * 900})) for n in range(1, last)] for last in (40, 40, 21)]
    assert texts == [tell_plan(plan(), one, room).history for one, room in zip(fresh, (9_000, 900, 9_000), strict=True)]
    parts = [step for step in known if step.ordinal % 2]
    assert tell_parts_of(plan(), parts).history.count("\n") == 19
    assert tell_plan(plan(), known[:20], 9_000).history == texts[2]


def test_the_newest_steps_are_whole_older_ones_cut_then_worded_then_counted() -> None:
    steps = [step(n, {"n": n, "text": "x" * 900}) for n in range(1, 121)]
    lines = history_lines(steps)
    told = body(lines)
    assert outcomes_in(lines)[1:] == [f"part.asked: {hidden_in(lines)} ok"]
    assert lines[-len(told) :] == told and MOST_BY_WORDS <= len(told) < MOST_BY_WORDS + 10
    ways = ["words" if not one.data else "short" if one.has_outline else "whole" for one in told]
    assert ways == sorted(ways, key=["words", "short", "whole"].index) and set(ways) == {"words", "short", "whole"}
    assert within(told[-1].data) == steps[-1].data
    short = told[ways.index("short")]
    assert re.fullmatch(r"step\d+, in outline: part\.asked answered \(ok\)\.", short.text)
    assert len(short.data) < 500 and "... (" in short.data and 'characters more)"' in short.data


@pytest.mark.parametrize(("chars", "told_anew"), [(200, 3), (900, 9), (5_000, 63)])
def test_most_decisions_only_append_to_the_history(chars: int, told_anew: int) -> None:
    steps = [step(n, {"n": n, "text": "x" * chars}) for n in range(1, 127)]
    told = [history_lines(steps[:count]) for count in range(1, 127)]
    bodies = pairwise(map(body, told))
    anew = [count for count, (one, other) in enumerate(bodies) if other[: len(one)] != one]
    assert len(anew) <= told_anew
    assert ROOM * 0.8 < max(map(size, told)) <= ROOM


@pytest.mark.parametrize("room", [0, 20, 60, 300])
def test_a_history_without_room_counts_its_steps(room: int) -> None:
    lines = history_lines([step(n, "x" * 9_000, note="y" * 9_000) for n in range(1, 10)], room)
    assert size(lines) <= max(room * CHARS_PER_TOKEN, 60)
    assert hidden_in(lines)


def test_a_large_result_is_an_outline_under_the_name_of_the_whole() -> None:
    rows: Json = {"rows": [{"n": n, "name": "x" * 50} for n in range(200)], "total": 200}
    (line,) = history_lines([step(1, rows)])
    assert line.text.startswith("step1, in outline: ")
    told = within(line.data)
    assert isinstance(told, dict) and told["total"] == 200
    assert len(line.data) < OUTLINE_TOKENS * CHARS_PER_TOKEN + 100 < RESULT_TOKENS * CHARS_PER_TOKEN
    assert within(show_result(4, {"small": "<data>"})) == {"small": "<data>"}
    assert show_result(4, {"small": 1}).startswith("step4: <data>")


@pytest.mark.parametrize(
    ("kind", "note", "told"),
    [
        (StepKind.REPLIED, "ok", "part.asked (request 3) answered (ok)."),
        (StepKind.REPLIED, "failed", "part.asked (request 3) answered (failed)."),
        (StepKind.ANSWERED, "reject", "A person answered about part.asked (request 3) (reject)."),
        (StepKind.JOINED, "All came.", "All came."),
    ],
)
def test_an_answer_to_one_of_several_requests_has_the_number_of_its_request(
    kind: StepKind, note: str, told: str
) -> None:
    (line,) = history_lines([replace(step(1, None, kind, note), join_id="j", place=2)])
    assert line.text == f"step1: {told}"
    late = replace(step(2, None, StepKind.LATE, ""), place=2)
    assert history_lines([late])[-1].text.startswith("step2: part.asked (request 3) was answered late")


def test_a_persons_words_are_fenced_and_the_platforms_sentence_is_not() -> None:
    lines = history_lines(
        [
            step(1, {"n": 1}, StepKind.PUBLISHED),
            step(2, {"ok": True}, StepKind.ANSWERED, "approve: fine"),
            step(3, None, StepKind.COMPLETED),
        ]
    )
    assert lines[0].whole == 'step1: You published part.asked. <data>{"n":1}</data>'
    assert lines[1].text == 'step2: A person answered about part.asked (approve). Their words: <data>"fine"</data>'
    assert lines[1].data == '<data>{"ok":true}</data>'


def test_the_goal_is_left_out_and_unread_steps_are_counted() -> None:
    assert history_lines([step(0, {"a": 1}, StepKind.GOAL)]) == []
    assert [line.text[:10] for line in history_lines([step(0, {}, StepKind.GOAL), step(1)])] == ["step1: par"]
    assert history_lines([step(2)])[0].text == "Step 1 is not shown."
    assert history_lines([step(64), step(65)])[0].text == "Steps 1 to 63 are not shown."


def test_the_first_step_read_of_a_long_plan_moves_rarely() -> None:
    begins = [first_to_read(count) for count in range(1_000)]
    assert begins[:128] == [0] * 128
    assert sorted(begins) == begins and len(set(begins)) == 15
    assert all(64 <= count - first_to_read(count) < 128 for count in range(64, 10_000))


def test_peoples_words_and_each_kind_of_failure_outlast_their_hidden_steps() -> None:
    asked = step(1, "Which day?", StepKind.ASKED, "")
    said = step(2, {"text": "never on a Sunday"}, StepKind.ANSWERED, "respond: whatever happens")
    no = step(3, {}, StepKind.ANSWERED, "reject (lead): too much")
    yes = step(4, {"approved": True}, StepKind.ANSWERED, "approve")
    failed = [step(n, {"code": "sold_out", "message": "gone"}, note="failed") for n in (5, 6)]
    steps = [asked, said, no, yes, *failed, *(step(n, {"text": "x" * 300}) for n in range(7, 121))]
    lines = history_lines(steps)
    kept = [line for line in body(lines) if ordinal_of(line) <= hidden_in(lines)]
    assert [ordinal_of(line) for line in kept] == [1, 2, 3, 5]
    assert "never on a Sunday" in kept[1].data and "whatever happens" in kept[1].text and "too much" in kept[2].text
    (counted,) = outcomes_in(lines)[1:]
    assert "2 failed (step5, step6)" in counted and "1 approve" in counted
    assert [line.text for line in lines[4:6]] == outcomes_in(lines)


def test_facts_of_unread_steps_stay_within_a_bound() -> None:
    people = [StepLines(step(n, {"text": "y" * 400}, StepKind.ANSWERED, "respond")) for n in range(1, 100)]
    earlier = history.add_earlier(history.NOTHING_EARLIER, people)
    assert history.add_earlier(history.add_earlier(history.NOTHING_EARLIER, people[:50]), people[50:]) == earlier
    lines = history_lines([step(100)], HISTORY_TOKENS, earlier)
    assert ordinal_of(lines[0]) == 1 and hidden_in(lines) == 99
    assert size(body(lines)) <= history.PEOPLE_TOKENS * CHARS_PER_TOKEN + 100
