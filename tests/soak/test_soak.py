"""A small soak, over PostgreSQL and NATS; `make soak` runs all of it, and plants its bugs. The judgement of an end is
tested with constructed ends."""

import json
from collections import Counter
from pathlib import Path

import ends
import pytest
from callers import CallerRecord
from ends import Rows, SoakState
from ledger import Account
from soak import SoakOptions, SoakResult, soak
from trades import name_of

ORDER, LABEL = name_of("order", 0), name_of("label", 0)
WHOLE = Counter({"asked": 1, "done": 1})
LIKE: dict[str, Rows] = {"order": {"event": WHOLE}, "label": {"event": Counter({"asked": 1})}}
EFFECTS = (("reserve", ORDER, "key-1"), ("charge", ORDER, "key-2"), ("label", LABEL, "key-3"))


@pytest.mark.timeout(1800)
def test_random_kills_lose_nothing_and_double_nothing() -> None:
    soaked = soak(SoakOptions(seconds=3, plans=10, bus="nats", patience=600))
    assert (soaked.lost, soaked.doubled) == ([], [])
    assert soaked.is_good
    assert soaked.kills.total() > 6


def told_callers(
    *, plans: tuple[str, ...] = ("p", "p"), seen: tuple[int, ...] = (1, 2, 3), accepted: str = "a"
) -> CallerRecord:
    made = CallerRecord(seen=list(seen))
    made.plans[ORDER] = list(plans)
    made.replies[LABEL] = [{"name": LABEL}] * 2
    made.accepted["wait"] = set(accepted)
    return made


def account(*effects: tuple[str, str, str]) -> Account:
    made = Account()
    for effect, name, key in effects or EFFECTS:
        made.book(key, (effect, json.dumps({"what": name})))
    return made


def judge_end(rows: Counter[str], callers: CallerRecord, effects: Account) -> tuple[list[str], list[str]]:
    found = SoakState({ORDER: {"event": rows}, LABEL: LIKE["label"]}, frozenset({1, 2, 3}))
    ends.judge(found, [ORDER, LABEL], LIKE, callers, effects)
    return found.lost, found.doubled


def test_an_undisturbed_end_has_no_losses_and_no_doubles() -> None:
    assert judge_end(WHOLE, told_callers(), account()) == ([], [])


@pytest.mark.parametrize(
    ("rows", "callers", "effects", "said"),
    [
        (Counter({"asked": 1}), told_callers(), account(), "1 missing, such as done"),
        (WHOLE, told_callers(seen=(1, 3)), account(), "led past 1 of 3: [2]"),
        (WHOLE, told_callers(seen=(1, 2)), account(), "came to 2, with 1 behind"),
        (WHOLE, told_callers(), account(*EFFECTS[1:]), f"effect reserve of {ORDER} is missing"),
    ],
    ids=["an event", "what committed late", "the end of the log", "an effect"],
)
def test_a_lost_row_event_or_effect_is_reported(
    rows: Counter[str], callers: CallerRecord, effects: Account, said: str
) -> None:
    lost, doubled = judge_end(rows, callers, effects)
    assert (len(lost), doubled) == (1, [])
    assert said in lost[0]


@pytest.mark.parametrize(
    ("rows", "callers", "effects", "said"),
    [
        (Counter({"asked": 2, "done": 1}), told_callers(), account(), "1 too many, such as asked"),
        (WHOLE, told_callers(plans=("p", "q")), account(), "was given plans ['p', 'q']"),
        (WHOLE, told_callers(accepted="ab"), account(), "took the answers of"),
        (WHOLE, told_callers(seen=(1, 2, 2, 3)), account(), "read 1 twice"),
        (
            WHOLE,
            told_callers(),
            account(*EFFECTS, ("charge", ORDER, "key-4")),
            f"effect charge of {ORDER} has another key",
        ),
        (WHOLE, told_callers(), account(*EFFECTS, ("charge", LABEL, "key-2")), "another effect under the same key"),
    ],
    ids=["an event", "a goal", "an answer", "a place of the log", "an effect", "a key"],
)
def test_a_doubled_row_answer_or_effect_is_reported(
    rows: Counter[str], callers: CallerRecord, effects: Account, said: str
) -> None:
    lost, doubled = judge_end(rows, callers, effects)
    assert (lost, len(doubled)) == ([], 1)
    assert said in doubled[0]


def test_a_lease_handed_to_two_processes_is_reported(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("7 1\n8 1\n8 2\n")
    (tmp_path / "other").write_text("7 2\n8 1\n9")  # a killed process may leave a partial line
    found = list(ends.held_twice((tmp_path / "one", tmp_path / "other", tmp_path / "never began")))
    assert found == ["delivery 8 was handed to 2 under one lease, by fence 1"]


def test_rows_of_two_orders_with_equal_content_are_equal() -> None:
    def rows(name: str, event_id: str, at: str) -> Rows:
        asked = {"id": event_id, "type": "asked", "source": "orders", "time": at, "data": {"name": name}}
        done = {"id": f"0{event_id[1:]}", "type": "done", "source": "shelf", "time": at, "causationid": event_id}
        return ends.spelled({"event": [json.dumps(asked), json.dumps(done)]})

    one = rows("order-000001", "a" * 8 + "-aaaa-aaaa-aaaa-" + "a" * 12, "today")
    other = rows("order-000002", "b" * 8 + "-bbbb-bbbb-bbbb-" + "b" * 12, "later")
    assert one == other
    assert sum(one["event"].values()) == 2


def test_the_summary_line_has_all_counts() -> None:
    kills = Counter({"worker": 3, "planner": 2, "server": 1, "nats": 4, "postgres": 5})
    soaked = SoakResult(SoakOptions(plans=9, seed=7), 9, 20, kills, [], ["a plan"])
    assert soaked.summary() == (
        "soak: 9/9 plans, 20 effects, 6 worker, 4 nats, 5 postgres kills, 0 lost, 1 doubled (seed 7)"
    )
    assert not soaked.is_good
    assert not SoakResult(SoakOptions(plans=9), 8).is_good
    assert SoakResult(SoakOptions(plans=9), 9).is_good
