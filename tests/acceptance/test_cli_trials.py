"""`soorma trial --model`: figures beside the recorded answers, and an exit code for a pipeline."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import SOORMA, Shop
from kit import PATIENCE, order, payments, planner, stock, until
from places import raw

from soorma_ai import Change, ChoreographyPlanner, Platform
from soorma_ai.testing.model_server import ModelServer, Reply
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
OTHER = publish("payment.charge.requested", amount=90.0)
DONE = complete({"reserved": True})
SET = ("--name", "refunds")
MODEL = ("--model", "openai/gpt-4o")


async def _make_plan(shop: Shop) -> None:
    async with Platform(shop.url) as platform:
        plan = await order(platform, planner([RESERVE, CHARGE, DONE]), stock(), payments())
        await plan.result(timeout=PATIENCE)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path / "shop.db")
    asyncio.run(_make_plan(made))
    return made


@pytest.fixture
def trial(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., Any]]:
    """Runs the command with a model with these answers, in order."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def run(answers: list[Any], *options: str) -> Any:
        left = iter(answers)
        with ModelServer(lambda body: Reply(json.dumps(next(left)))) as server:
            return shop("trial", *MODEL, "--api-base", server.url, "--price", "0.001", "0.001", *options)

    return run


def test_equal_answers_end_well_with_figures_beside_the_recorded_ones(trial: Callable[..., Any]) -> None:
    ended = trial([RESERVE, CHARGE, DONE])
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    assert re.match(r"\w{8}  orders  order.received  same  3 questions asked, 0.3600 US dollars", lines[0])
    assert lines[1] == "1 of 1 plans same  100.0%  (95 % interval 20.7% to 100.0%)"
    assert lines[2] == "pass@1  100.0%  (95 % interval 43.9% to 100.0%, 3 questions)"
    assert lines[3].startswith("recorded\t3\t")
    assert lines[4].startswith("openai/gpt-4o\t3\t360\t0.3600\t")


def test_a_difference_is_printed_with_a_diff_of_the_payload(trial: Callable[..., Any]) -> None:
    ended = trial([RESERVE, OTHER])
    assert ended.exit_code == 1, ended.output
    assert "decision 2: payment.charge.requested with another payload" in ended.stdout
    assert '+  "amount": 90.0' in ended.stdout
    assert "pass@1  50.0%" in ended.stdout


@pytest.mark.parametrize(("at_least", "code"), [("0.5", 0), ("0.51", 1)])
def test_at_least_sets_the_exit_code_by_the_share_of_good_answers(
    trial: Callable[..., Any], at_least: str, code: int
) -> None:
    assert trial([RESERVE, OTHER], "--at-least", at_least).exit_code == code


def test_a_spent_budget_ends_the_trial_and_a_larger_one_goes_on(trial: Callable[..., Any]) -> None:
    part = trial([], "--max-usd", "1")
    assert part.exit_code == 1, part.output
    assert "a larger --max-usd goes on" in part.stderr
    asked = part.stdout.count("incomplete")
    assert asked == 1
    whole = trial([RESERVE, CHARGE, DONE], "--max-usd", "100")
    assert whole.exit_code == 0, whole.output
    again = trial([], "--max-usd", "100")
    assert again.exit_code == 0, again.output
    assert "new calls cost 0.0000 US dollars" in again.stdout


def test_the_report_is_data_for_programs(trial: Callable[..., Any]) -> None:
    ended = trial([RESERVE, RESERVE, CHARGE, CHARGE, DONE, DONE], "--times", "2", "--json")
    report = json.loads(ended.stdout)["report"]
    assert (report["times"], report["pass_power"]["good"], report["pass_power"]["count"]) == (2, 3.0, 3)
    assert report["now"]["calls"] == 6


def test_kills_count_no_dollar_twice_and_pay_no_answer_twice(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is killed with the first, the second and the third question on its way."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    answers, asked = [RESERVE, CHARGE, DONE], list[int]()
    left, is_hanging = iter(answers), threading.Event()
    hung = set[int]()

    def respond(body: Any) -> Reply:
        number = len(asked) - len(hung)
        asked.append(number)
        if number in hung:
            return Reply(json.dumps(next(left)))
        hung.add(number)
        is_hanging.set()
        return Reply(silent=True)

    with ModelServer(respond) as server:
        command = ("trial", *MODEL, "--api-base", server.url, "--price", "0.001", "0.001", "--json")
        for _ in answers:
            is_hanging.clear()
            with shop.start(*SOORMA, *command) as process:
                assert is_hanging.wait(PATIENCE)
                process.kill()
                process.wait()
        ended = shop(*command)
    assert ended.exit_code == 0, ended.output
    assert asked == [0, 0, 1, 1, 2, 2]
    with raw(shop.store) as store:
        rows = [json.loads(body) for (body,) in store.execute("SELECT body FROM trial_call")]
    assert sum(row.get("answer") is not None for row in rows) == 3
    report = json.loads(ended.stdout)["report"]
    assert report["now"]["calls"] == len(rows) == 6
    assert report["now"]["usd"] == pytest.approx(sum(row["usd"] for row in rows))


def case_of(shop: Shop, *options: str) -> Any:
    (plan,) = shop.json("plans", "ls")
    return shop("cases", "add", plan["plan_id"], *options)


def test_a_decision_is_made_a_case_listed_exported_and_tried(
    shop: Shop, trial: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wanted.json").write_text('{"amount": 90.0}')
    assert re.fullmatch(r"case \w{8} in refunds: decision 1 is right\n", case_of(shop, "1", *SET, "--right").stdout)
    made = case_of(shop, "2", *SET, "--should", "wanted.json")
    assert made.stdout.endswith("decision 2 should be another\n"), made.output
    listed = shop("cases", "ls").stdout.splitlines()
    assert [line.split("\t")[1:3] for line in listed] == [["refunds", "right"], ["refunds", "should"]]
    assert shop("cases", "export").stdout == "cases/refunds.jsonl: 2 cases\n"
    assert shop("cases", "import", "cases/refunds.jsonl").stdout == "2 cases, 0 of them new\n"
    good = trial([RESERVE, OTHER], "--cases", "refunds", "--at-least", "1")
    assert good.exit_code == 0, good.output
    assert "2 of 2 cases good" in good.stdout
    first = shop("cases", "ls").stdout.split("\t")[0]
    assert shop("cases", "rm", first).exit_code == 0
    assert len(shop("cases", "ls").stdout.splitlines()) == 1


def test_cases_in_a_file_need_no_store(
    shop: Shop, trial: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case_of(shop, "2", *SET, "--right")
    assert shop("cases", "export").exit_code == 0
    shop.store.unlink()
    good, bad = (trial([answer], "--cases", "refunds") for answer in (CHARGE, OTHER))
    assert (good.exit_code, bad.exit_code) == (0, 1), good.output + bad.output
    assert "another payload than the wanted one" in bad.stdout
    assert not shop.store.exists()


def test_a_case_needs_one_judgement(shop: Shop) -> None:
    assert case_of(shop, "1", *SET).exit_code == 2


@pytest.mark.parametrize("option", ["--times 2", "--max-usd 1", "--at-least 0.9", "--price 1 1", "--cases refunds"])
def test_options_of_a_model_need_one(shop: Shop, option: str) -> None:
    ended = shop("trial", *option.split())
    assert ended.exit_code == 2
    assert "give --model too" in ended.stderr


def test_a_trial_runs_beside_the_owner_of_the_store(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    answers = iter([RESERVE, CHARGE, DONE])

    async def run() -> Any:
        async with Platform(shop.url):
            with ModelServer(lambda body: Reply(json.dumps(next(answers)))) as server:
                return await asyncio.to_thread(shop, "trial", *MODEL, "--api-base", server.url)

    for _ in range(2):
        ended = asyncio.run(run())
        assert ended.exit_code == 0, ended.output
        assert "1 of 1 plans same" in ended.stdout


def test_a_fork_names_its_origin_in_each_view(shop: Shop) -> None:
    [plan] = json.loads(shop("plans", "ls", "--json").stdout)
    forked = json.loads(shop("plans", "fork", plan["plan_id"], "--at", "2", "--dry", "--json").stdout)
    told = f"dry fork of plan {plan['plan_id']} at decision 2"
    assert told in shop("plans", "show", forked["plan_id"]).stdout
    assert told in shop("why", forked["plan_id"]).stdout
    refused = shop("plans", "fork", plan["plan_id"], "--at", "9")
    assert refused.exit_code != 0
    assert "has no decision 9, only 3" in refused.stderr


@pytest.fixture
def models(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs `soorma models retire scripted --to openai/gpt-4o` with a model with these answers, in order."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def run(answers: list[Any], *options: str) -> Any:
        left, price = iter(answers), ("--price", "0.001", "0.001")
        with ModelServer(lambda body: Reply(json.dumps(next(left)))) as server:
            command = ("models", "retire", "scripted", "--to", "openai/gpt-4o")
            return shop(*command, "--api-base", server.url, *price, *options)

    return run


def test_a_model_is_retired_after_a_trial_and_restored(shop: Shop, models: Callable[..., Any]) -> None:
    ended = models([RESERVE, OTHER])
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    assert lines[0] == "scripted: orders; 0 open plans, 0 of them parked"
    assert "decision 2: payment.charge.requested with another payload" in ended.stdout
    assert "pass@1  50.0%" in ended.stdout
    assert lines[-2].startswith("openai/gpt-4o in the place of scripted: orders; 0 open plans")
    assert lines[-1] == "`soorma models restore scripted` undoes this"
    assert shop("models", "ls").stdout.splitlines() == [
        "openai/gpt-4o\topenai/gpt-4o\t\t0\t0",
        "scripted\topenai/gpt-4o\torders\t0\t0",
    ]
    assert shop("models", "restore", "scripted").exit_code == 0
    assert shop.json("models", "ls")[0]["model"] == "scripted"
    assert shop("models", "restore", "scripted").exit_code == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [(("--at-least", "0.51"), "nothing is switched"), (("--max-usd", "1"), "a larger --max-usd goes on")],
)
def test_a_bad_or_incomplete_trial_switches_nothing(
    shop: Shop, models: Callable[..., Any], options: tuple[str, ...], told: str
) -> None:
    ended = models([RESERVE, OTHER], *options)
    assert ended.exit_code == 1, ended.output
    assert told in ended.stderr
    assert [one["model"] for one in shop.json("models", "ls")] == ["scripted"]


def test_a_model_is_retired_without_a_trial(shop: Shop, models: Callable[..., Any]) -> None:
    ended = models([], "--no-trial", "--json")
    assert ended.exit_code == 0, ended.output
    switch = json.loads(ended.stdout)["switch"]
    assert (switch["model"], switch["to"], switch["planners"]) == ("scripted", "openai/gpt-4o", ["orders"])


async def _run_with_shadow(shop: Shop) -> None:
    async with Platform(shop.url) as platform:
        agent = planner([RESERVE, CHARGE, DONE], name="shadowed", goals=["shadowed.wanted"])
        agent.shadow(Change(model="other"), max_usd_a_day=5, share=1.0)
        answers = iter([RESERVE, OTHER, DONE])
        other = ScriptedReasoner(lambda _: next(answers), model="other", usd_per_token=1e-4)
        owner = ChoreographyPlanner("owner", reasoner=other, goals=["owner.wanted"])
        await platform.start(agent, owner, stock(), payments())
        plan = await platform.submit("shadowed.wanted", {})
        await plan.result(timeout=PATIENCE)

        async def all_asked() -> bool:
            return len((await platform.shadow_report("shadowed")).trials) == 3

        await until(platform, all_asked)


def test_the_outcomes_of_a_shadow_are_shown(shop: Shop) -> None:
    asyncio.run(_run_with_shadow(shop))
    ended = shop("trial", "--shadow", "shadowed")
    assert ended.exit_code == 0, ended.output
    assert "decision 2: payment.charge.requested with another payload" in ended.stdout
    assert "2 of 3 decisions same  66.7%" in ended.stdout
    assert shop("trial", "--shadow", "nobody").stdout == "no outcomes\n"
    assert shop("trial", "--shadow", "shadowed", *MODEL).exit_code == 2
