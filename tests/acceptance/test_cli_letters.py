"""`soorma dead-letters` for people and scripts."""

import asyncio
import json
import re
import runpy
import sqlite3
from pathlib import Path
from typing import Any

import places
import pytest
from cli_kit import APPS, SOORMA, Shop

DONE, ERROR, USAGE = 0, 1, 2
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
RUN = (*SOORMA, "run", "breaking:agents")


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seed five letters: of a client's request, of a continued plan's request, of a goal, and of one fact for two
    agents."""
    store = tmp_path_factory.mktemp("letters") / "shop.db"
    leave_letters(Shop(store), "o-0")
    return store


def leave_letters(shop: Shop, order: str) -> None:
    breaking = runpy.run_path(str(APPS / "breaking.py"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in places.environment_of(shop.store).items():
            patch.setenv(name, value)
        asyncio.run(breaking["seed"](order))


@pytest.fixture
def shop(seeded: Path, tmp_path: Path) -> Shop:
    places.copy(seeded, tmp_path / "shop.db")
    return Shop(tmp_path / "shop.db")


def letters(shop: Shop) -> list[dict[str, Any]]:
    return shop.json("dead-letters", "ls")


def letter(shop: Shop, type: str, *, in_plan: bool = False) -> dict[str, Any]:
    return next(one for one in letters(shop) if one["event"]["type"] == type and bool(one["plan_id"]) is in_plan)


def number(shop: Shop, type: str, *, in_plan: bool = False) -> str:
    return str(letter(shop, type, in_plan=in_plan)["letter_id"])


def put_paper_in(shop: Shop) -> None:
    shop.store.with_name("paper").touch()


def wait_until(shop: Shop, number: str, status: str) -> dict[str, Any]:
    """Wait for a status, up to the time limit of the test."""
    while (one := shop.json("dead-letters", "show", number))["status"] != status:
        pass
    return one


# Lists


def test_letters_are_listed_newest_first_as_lines_and_an_empty_list_prints_no_data(shop: Shop) -> None:
    rows = [line.split("\t") for line in shop("dead-letters", "ls").stdout.splitlines()]
    assert sorted(row[1] for row in rows[:2]) == ["alarm", "till"]
    assert [row[1] for row in rows[2:]] == ["books", "till", "till"]
    assert [row[2] for row in rows] == ["drawer.opened"] * 2 + ["day.closed"] + ["receipt.print"] * 2
    assert [int(row[0]) for row in rows] == sorted((int(row[0]) for row in rows), reverse=True)
    assert rows[4][4:6] == ["1", "0"]
    assert rows[4][8] == "handler_error: RuntimeError: no paper for o-0"
    assert len(shop("dead-letters", "ls", "--limit", "2").stdout.splitlines()) == 2
    result = shop("dead-letters", "ls", "--tenant", "other")
    assert (result.exit_code, result.stdout, result.stderr) == (DONE, "", "no dead letters\n")
    assert shop("dead-letters", "show", number(shop, "receipt.print"), "--tenant", "other").exit_code == ERROR


def test_a_letter_is_shown_with_its_event_its_reason_and_the_possible_commands(shop: Shop) -> None:
    one = letter(shop, "receipt.print", in_plan=True)
    result = shop("dead-letters", "show", str(one["letter_id"]))
    assert result.exit_code == DONE
    for told in (
        f"letter {one['letter_id']}  receipt.print for till  dead",
        "handler_error: RuntimeError: no paper for o-1",
        one["plan_id"],
        f"{one['event']['id']} on action-requests, from sales",
        '{"order": "o-1"}',
        f"soorma plans show {one['plan_id'][:8]}",
        f"soorma dead-letters redrive {one['letter_id']}",
        f"soorma dead-letters discard {one['letter_id']} --note",
    ):
        assert told in result.stdout
    told = shop("dead-letters", "show", str(one["letter_id"]), "--store", shop.url).stdout
    assert f" --store {shop.url}" in told.split("soorma dead-letters redrive")[1], "the command repeats the store"


def test_a_letter_of_an_ended_plan_names_a_new_submission_as_the_cure(shop: Shop) -> None:
    one = number(shop, "day.closed", in_plan=True)
    shown = shop("dead-letters", "show", one).stdout
    assert "has ended (failed)" in shown
    assert "soorma dead-letters redrive" not in shown
    result = shop("dead-letters", "redrive", one)
    assert (result.exit_code, result.stdout) == (ERROR, "")
    assert len(result.stderr.splitlines()) == 1
    assert "submit the goal again" in result.stderr


def test_a_letter_as_json_is_complete(shop: Shop) -> None:
    one = letter(shop, "receipt.print")
    told = shop.json("dead-letters", "show", str(one["letter_id"]))
    assert told == one
    assert (told["agent"], told["status"], told["attempts"], told["redriven"]) == ("till", "dead", 1, 0)
    assert (told["tenant_id"], told["plan_id"], told["hindrance"]) == ("default", None, None)
    assert told["event"]["data"] == {"order": "o-0"}


def test_a_letter_with_an_unreadable_event_is_listed_with_its_known_fields(shop: Shop) -> None:
    one = letter(shop, "receipt.print")
    with sqlite3.connect(shop.store) as db:
        db.execute("UPDATE event SET rest = CAST(x'FF' AS TEXT) WHERE id = ?", (one["event"]["id"],))
    db.close()
    assert len(letters(shop)) == 5
    shown = shop("dead-letters", "show", str(one["letter_id"]))
    assert "receipt.print for till" in shown.stdout
    assert "cannot be redriven: unreadable: " in shown.stdout
    assert shop("events", "tail", "--limit", "99").exit_code == DONE
    assert shop("dead-letters", "discard", str(one["letter_id"])).exit_code == DONE


# Names


def test_a_letter_is_named_by_its_number_or_an_unambiguous_prefix_of_its_events_id(shop: Shop) -> None:
    one = letter(shop, "receipt.print")
    for named in (str(one["letter_id"]), one["event"]["id"], one["event"]["id"][:6]):
        assert shop.json("dead-letters", "show", named)["letter_id"] == one["letter_id"]
    both = [one for one in letters(shop) if one["event"]["type"] == "drawer.opened"]
    result = shop("dead-letters", "redrive", both[0]["event"]["id"][:8])
    assert (result.exit_code, result.stdout) == (ERROR, "")
    assert all(str(one["letter_id"]) in result.stderr for one in both)
    assert len(letters(shop)) == 5


def test_a_name_of_no_letter_is_an_error_on_one_line(shop: Shop) -> None:
    for named in ("999", "zzzz", "z", "-1", "9" * 30, "\u00b2"):
        result = shop("dead-letters", "show", "--", named)
        assert (result.exit_code, result.stdout) == (ERROR, ""), named
        assert result.stderr.startswith("Error: no dead letter of tenant 'default' has the number"), named
        assert len(result.stderr.splitlines()) == 1, named


# Actions


def test_a_letter_redriven_without_a_running_agent_is_handled_at_its_start(shop: Shop) -> None:
    one = number(shop, "receipt.print")
    result = shop("dead-letters", "redrive", one)
    assert (result.exit_code, result.stdout) == (DONE, f"redriven letter {one} (receipt.print for till)\n")
    assert result.stderr == "No agents running on this store; the letter is handled when till starts.\n"
    assert shop.json("dead-letters", "show", one)["status"] == "redriven"
    assert len(letters(shop)) == 4
    put_paper_in(shop)
    with shop.background(*RUN, ready="Ctrl-C to stop"):
        assert wait_until(shop, one, "handled")["redriven"] == 1


def test_letters_are_redriven_and_discarded_at_once_through_the_running_application(shop: Shop) -> None:
    one, other = number(shop, "receipt.print", in_plan=True), number(shop, "receipt.print")
    plan_id = letter(shop, "receipt.print", in_plan=True)["plan_id"]
    with shop.background(*RUN, ready="Ctrl-C to stop"):
        assert shop("dead-letters", "redrive", one).exit_code == DONE
        assert wait_until(shop, one, "dead")["redriven"] == 1, "there was no paper yet"
        put_paper_in(shop)
        result = shop("dead-letters", "redrive", one)
        assert (result.exit_code, result.stderr) == (DONE, "")
        wait_until(shop, one, "handled")
        discarded = shop("dead-letters", "discard", other, "--as", "ann", "--note", "no", "--json")
    assert "receipt.printed" in shop("events", "tail").stdout
    plan = shop.json("plans", "show", plan_id)
    assert (plan["status"], plan["result"]) == ("completed", {"sold": True}), (
        "a plan continued without it stays completed"
    )
    assert json.loads(discarded.stdout) == {"letter_id": int(other), "discarded": True, "status": "discarded"}
    assert "discarded by ann: no" in shop.json("dead-letters", "show", other)["reason"]


def test_a_second_redrive_is_refused_and_changes_nothing(shop: Shop) -> None:
    one = number(shop, "receipt.print")
    shop("dead-letters", "redrive", one)
    again = shop("dead-letters", "redrive", one)
    assert (again.exit_code, again.stderr) == (ERROR, "")
    told = f"not redriven letter {one} (receipt.print for till): it was redriven before, and is queued or in progress\n"
    assert again.stdout == told
    as_json = json.loads(shop("dead-letters", "redrive", one, "--json").stdout)
    assert as_json == {"letter_id": int(one), "redriven": False, "status": "redriven"}
    assert shop("dead-letters", "discard", one).exit_code == ERROR
    assert shop.json("dead-letters", "show", one)["redriven"] == 1


def test_a_letter_is_discarded_once_with_a_name_and_a_note(shop: Shop) -> None:
    one = number(shop, "day.closed", in_plan=True)
    first = shop("dead-letters", "discard", one, "--as", "ann", "--note", "kept elsewhere")
    assert (first.exit_code, first.stdout) == (DONE, f"discarded letter {one} (day.closed for books)\n")
    assert "discarded by ann: kept elsewhere; it had died of handler_error" in shop("dead-letters", "show", one).stdout
    for command in (("discard", one, "--as", "bob"), ("redrive", one)):
        again = shop("dead-letters", *command)
        assert again.exit_code == ERROR
        assert "discarded by ann: kept elsewhere" in again.stdout
    assert int(one) not in [open_now["letter_id"] for open_now in letters(shop)]


# Appearance


def test_a_terminal_shows_a_table_no_wider_than_itself(shop: Shop) -> None:
    commands = (("ls",), ("show", number(shop, "day.closed", in_plan=True)))
    told = [shop("dead-letters", *command, env={**TERMINAL, "COLUMNS": "80"}).stdout for command in commands]
    table, shown = (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in told)
    assert table.split()[:6] == ["ID", "AGENT", "EVENT", "DIED", "TRIED", "REASON"]
    assert max(len(line) for text in (table, shown) for line in text.splitlines()) <= 80


def test_control_characters_in_a_letter_are_escaped_on_the_terminal(tmp_path: Path) -> None:
    evil = Shop(tmp_path / "evil.db")
    leave_letters(evil, "\x1b[2J\x07\u202e\x9b2J\n\t!")
    one = number(evil, "receipt.print")
    everything = [evil("dead-letters", *c).stdout for c in (("ls",), ("show", one), ("show", one, "--json"))]
    for told in everything:
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(told)
    assert len(everything[0].splitlines()) == 5
