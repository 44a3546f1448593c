"""Record the cassettes of the examples anew, and that of the project which `soorma init` writes.

    python examples/record.py           from a scripted server on this machine: no key, no model
    python examples/record.py --live    from the models that the examples name, whose key is in the environment

The scripted server speaks OpenAI's wire format and decides by a few rules, so the recordings are real traffic of a
made-up model. The recordings that are kept here were made that way.
"""

import argparse
import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, chdir
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from soorma_ai.kernel.ports import QuestionFacts
from soorma_ai.testing.cassettes import MODE_VARIABLE, cassette
from soorma_ai.testing.model_server import ModelServer, Reply

EXAMPLES = Path(__file__).parent
CASSETTES = EXAMPLES.parent / "cassettes"
TEMPLATE = EXAMPLES.parent / "template"

# From the user part of a prompt, and its facts, to the reasoning and the step.
Rules = Callable[[str, QuestionFacts], tuple[str, dict[str, Any]]]


def picnic(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    match facts.event:
        case "table.book.requested":
            return "The table is booked.", _complete(
                {"message": "Table 7 is yours on Saturday; clear sky, 24 degrees."}
            )
        case "user.replied":
            return "They want the table.", _publish("table.book.requested", {"day": "Saturday"})
        case "forecast.requested":
            question = "Saturday will be clear and 24 degrees. Shall I book a table in the park?"
            return "The weather is fine; I must ask before booking.", _wait("user.replied", question)
        case _:
            return "I need the weather first.", _publish("forecast.requested", {"day": "Saturday"})


def advice(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    use = "work" if '"use":"work"' in told or '"words":["work"]' in told else "tours"
    if told.startswith("Goal: research.wanted"):
        return _research(facts, use)
    match facts.event:
        case "research.wanted":
            findings = [{"claim": claim, "source": source} for source, claim in _FINDINGS[use].items()]
            report = {"title": f"A bicycle with a motor for {use}", "advice": _ADVICE[use], "reasons": findings}
            return "The findings are enough for a report.", _complete(report)
        case "user.clarified":
            topic = {"topic": f"bicycles with a motor for {use}", "words": [use]}
            return f"It is for {use}; now it can be researched.", _delegate("researcher/research.wanted", topic)
        case _:
            question = "Is it for the way to work, or for tours?"
            return "What is best depends on its use.", _wait("user.clarified", question)


def _research(facts: QuestionFacts, use: str) -> tuple[str, dict[str, Any]]:
    findings = _FINDINGS[use]
    if facts.outcome == "joined":
        found = [{"claim": claim, "source": source} for source, claim in findings.items()]
        return "All that was found is read.", _complete({"findings": found})
    if facts.event == "archive.search.requested":
        readings = [_publish("archive.read.requested", {"article": source}) for source in findings]
        return "Both articles may say something.", {"action": "publish_all", "requests": readings}
    return "I search by the word that I was given.", _publish("archive.search.requested", {"query": use})


_FINDINGS = {
    "work": {
        "city-test": "Under 18 kg it can be carried up the stairs; most weigh over 24 kg.",
        "charge-test": "On flat ways of 8 km, 400 Wh last for a week.",
    },
    "tours": {
        "charge-test": "With 1,000 m of climbing, 400 Wh are gone after 40 km.",
        "alps-diary": "700 Wh came across the Alps; brakes with four pistons stay cool with luggage.",
    },
}
_ADVICE = {
    "work": "Take a light one, under 18 kg, with 400 Wh: it is charged once a week.",
    "tours": "Take one with at least 700 Wh, and with brakes of four pistons.",
}


def owls(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    """Research in phases: a reading shows a category that is missing, and the synthesis an answer."""
    now = told.partition("\nNow: ")[2]
    phase, visit = re.findall(r'"phase":"([A-Z_]+)"', now)[0], int(re.findall(r'"visit":(\d+)', now)[-1])
    return {"DECOMPOSE": _decompose, "ANSWER": _answer, "RISE_ABOVE": _rise_above, "EXPAND": _expand}[phase](now, visit)


def _decompose(now: str, visit: int) -> tuple[str, dict[str, Any]]:
    if "wants something changed" in now:
        return "The person has changed the questions; nothing is to be added.", _decomposition({}, {})
    if visit == 1:
        categories = {"c1": "What does it live on?", "c2": "Where does it live?"}
        questions = {"q1": ("c1", "What does the barn owl eat?"), "q2": ("c2", "Where does it nest?")}
        return "Two parts of its life can be asked about.", _decomposition(categories, questions)
    danger = ("c3", "What endangers the barn owl most?")
    return "What endangers it is a part of its own.", _decomposition({"c3": "What endangers it?"}, {"q3": danger})


def _decomposition(categories: dict[str, str], questions: dict[str, tuple[str, str]]) -> dict[str, Any]:
    made = [{"id": name, "category_id": category, "text": text} for name, (category, text) in questions.items()]
    return _complete({"categories": [{"id": k, "question": v} for k, v in categories.items()], "questions": made})


def _answer(now: str, visit: int) -> tuple[str, dict[str, Any]]:
    asked = [name for name in ("q1", "q2", "q3") if f'"{name}":' in now] if visit == 1 else [("q3", "q1")[visit - 2]]
    texts = {"q1": "barn-owl-food", "q2": "barn-owl-nests", "q3": "barn-owl-dangers"}
    if visit == 3:
        texts["q1"] = "barn-owl-winter"
    if "archive.read.requested was answered" in now or ("have come to an end" in now and '"entries"' not in now):
        missing = "what endangers it: old nests are lost" if visit == 1 else ""
        return "What I read answers this.", _answers({name: texts[name] for name in asked}, missing)
    if "have come to an end" in now or "archive.search.requested was answered" in now:
        readings = [_publish("archive.read.requested", {"source_id": texts[name]}) for name in asked]
        return "These texts are about the questions.", _together(readings)
    searches = [_publish("archive.search.requested", {"query": texts[name].replace("-", " ")}) for name in asked]
    return "I search for each question.", _together(searches)


def _together(requests: list[dict[str, Any]]) -> dict[str, Any]:
    return requests[0] if len(requests) == 1 else {"action": "publish_all", "requests": requests}


def _answers(texts: dict[str, str], new_category: str) -> dict[str, Any]:
    made = [
        {"question_id": name, "text": _SAID[text][0], "quotes": [{"source_id": text, "quote": _SAID[text][1]}]}
        for name, text in texts.items()
    ]
    return _complete({"answers": made, "new_category": new_category})


def _rise_above(now: str, visit: int) -> tuple[str, dict[str, Any]]:
    if visit == 1:
        lacking = {"insights": [], "missing_answers": "what it eats in winter", "missing_category": ""}
        return "Food is answered for good times only.", _complete(lacking)
    insights = {
        "c1": "It lives on what is small, and hunger comes with snow.",
        "c2": "It stays where it once was safe.",
    }
    insights["c3"] = "What kills its prey kills the owl."
    found = [{"category_id": name, "insight": text} for name, text in insights.items()]
    return "Each part has its meaning.", _complete({"insights": found, "missing_answers": "", "missing_category": ""})


def _expand(now: str, visit: int) -> tuple[str, dict[str, Any]]:
    adjacent = [{"question": "Which farms use no poison?", "why": "There the owls could be counted."}]
    return "One question lies next to this.", _complete({"adjacent_questions": adjacent})


# The answer, and what is quoted for it.
_SAID = {
    "barn-owl-food": ("Small birds above all.", "The barn owl eats small birds above all."),
    "barn-owl-nests": ("In old nests.", "The barn owl nests in old nests."),
    "barn-owl-dangers": ("Poison in its prey.", "The barn owl is endangered by poisoned prey more than by hunters."),
    "barn-owl-winter": ("Less in winter.", "In winter the barn owl hunts by day as well, when snow covers moths."),
}


def refunds(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    order: Any = facts.result
    order_id = facts.goal["order_id"]
    match facts.event, facts.outcome:
        case "refund.pay.requested", "ok":
            message = "Your money is on its way."
            return "It is paid.", _complete({"order_id": order_id, "status": "refunded", "message": message})
        case "refund.pay.requested", _:
            message = "We are sorry, this refund was not approved."
            declined = {"order_id": order_id, "status": "declined", "message": message}
            return "No approval, so nothing is paid.", _complete(declined)
        case "order.find.requested", _:
            payment = {"order_id": order_id, "amount": order["price"]}
            return "It is young enough.", _publish("refund.pay.requested", payment)
        case _:
            return "The order comes first.", _publish("order.find.requested", {"order_id": order_id})


def purchases(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    part: Any = facts.result
    match facts.event, facts.outcome:
        case "orders.place_order", "ok":
            message = f"Your parts are ordered, for {part['total']} dollars."
            return "It is ordered.", _complete({"status": "ordered", "message": message})
        case "orders.place_order", _:
            declined = {"status": "declined", "message": "Nothing was ordered: the order was not approved."}
            return "No approval, so nothing is bought.", _complete(declined)
        case "catalogue.find_part", _:
            order = {"number": part["number"], "quantity": facts.goal["quantity"], "price": part["price"]}
            return "The part is known.", _publish("orders.place_order", order)
        case _:
            return "The part comes first.", _publish("catalogue.find_part", {"machine": facts.goal["machine"]})


# The sentence of the last event, the step with its data, and the data if they stand below.
_NOW = re.compile(r"\nNow: (.*?)(?: See (step\d+)\..*)?\n(?:step\d+[^<\n]*<data>(.*)</data>)?")
_OUTCOMES = (
    (re.compile(r"A person answered \((\w+)\) for (\S+)\."), ""),
    (re.compile(r"A() person rejected (\S+);"), "reject"),
    (re.compile(r"Nobody() decided about (\S+) in time"), "expired"),
    (re.compile(r"()(\S+) was answered\."), "ok"),
    (re.compile(r"()(\S+) failed\."), "failed"),
    (re.compile(r"()have come to an end()"), "joined"),
)


def facts_in(told: str) -> QuestionFacts:
    """Return the facts of a question as a server reads them, from the user part of its prompt."""
    goal = json.loads(told.partition("<data>")[2].partition("</data>")[0])
    now = _NOW.search("\n" + told + "\n")
    if now is None:
        return QuestionFacts(goal)
    result = json.loads(data) if (data := now[3] or _data_of(now[2], told)) else None
    for pattern, outcome in _OUTCOMES:
        if found := pattern.search(now[1]):
            return QuestionFacts(goal, found[2], outcome or found[1], result)
    return QuestionFacts(goal, "", "", result)


def _data_of(step: str | None, told: str) -> str:
    """Return the data in the line of the history about this step."""
    found = re.findall(rf"\n{step}: .*<data>(.*)</data>\n", told) if step else []
    return found[-1] if found else ""


def record_quickstart() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "cassettes").mkdir()
        with chdir(scratch):
            runpy.run_path(str(EXAMPLES / "01_quickstart.py"), run_name="__main__")
        (scratch / "cassettes" / "01_quickstart.yaml").replace(CASSETTES / "01_quickstart.yaml")


def record_orders() -> None:
    example = _loaded("02_order_approval")
    with cassette(CASSETTES / "02_order_approval", mode="record"):
        for amount, answer in (
            ("12000.00", "approve"),
            ("12000.00", "reject"),
            ("12000.00", "none"),
            ("800", "approve"),
        ):
            asyncio.run(example["order"]("sqlite://", Decimal(amount), answer))


def record_advice() -> None:
    example = _loaded("05_research_advisor")
    with cassette(CASSETTES / "05_research_advisor", mode="record"):
        for answer in ("work", "tours"):
            asyncio.run(example["advise"]("sqlite://", answer))


def record_research() -> None:
    example = _loaded("07_research")
    with cassette(CASSETTES / "07_research", mode="record"), tempfile.TemporaryDirectory() as folder:
        for answer in ("approve", "modify"):
            assert asyncio.run(example["research"]("sqlite://", answer, Path(folder))) == 0


def record_refunds() -> None:
    """By the example, and by its tests, which have recordings of their own."""
    example = _loaded("08_refunds")
    with cassette(CASSETTES / "08_refunds", mode="record"):
        for order_id, answer in (("A1", "none"), ("A2", "approve"), ("A2", "reject"), ("A2", "none")):
            assert asyncio.run(example["refund"]("sqlite://", order_id, answer)) == 0
    subprocess.run([sys.executable, "-m", "pytest", "-q", str(EXAMPLES / "08_refunds"), "--soorma-record"], check=True)


def record_purchases() -> None:
    example = _loaded("10_mcp")
    with cassette(CASSETTES / "10_mcp", mode="record"):
        for answer in ("approve", "reject"):
            assert asyncio.run(example["buy"]("sqlite://", answer)) == 0


def first_project(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    decided = runpy.run_path(str(TEMPLATE / "first_project" / "script.py"))["decide"](facts)
    return decided["reasoning"], decided["step"]


def orders(told: str, facts: QuestionFacts) -> tuple[str, dict[str, Any]]:
    decided: tuple[str, dict[str, Any]] = _order_rules()(facts)
    return decided


@cache
def _order_rules() -> Any:
    return runpy.run_path(str(EXAMPLES / "02_order_approval" / "script.py"))["decide"]


def record_template() -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "recorded", "--soorma-record")
    subprocess.run(command, check=True, cwd=TEMPLATE)


def _loaded(name: str) -> dict[str, Any]:
    """Names of the main module of an example. Each example has modules of its own by the same names."""
    for module in ("agents", "planner"):
        sys.modules.pop(module, None)
    sys.path.insert(0, str(EXAMPLES / name))
    try:
        return runpy.run_path(str(EXAMPLES / name / "main.py"))
    finally:
        sys.path.pop(0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--live", action="store_true", help="ask the real models; without it, the scripted server")
    live: bool = options.parse_args().live
    with ExitStack() as stack:
        for record, rules in (
            (record_quickstart, picnic),
            (record_orders, orders),
            (record_advice, advice),
            (record_research, owls),
            (record_refunds, refunds),
            (record_purchases, purchases),
            (record_template, first_project),
        ):
            if not live:
                server = stack.enter_context(ModelServer(_answering(rules)))
                os.environ.update(OPENAI_API_KEY="scripted", OPENAI_BASE_URL=server.url)
            os.environ[MODE_VARIABLE] = "record"
            record()


def _answering(rules: Rules) -> Callable[[Any], Reply]:
    def respond(request: Any) -> Reply:
        told = request["messages"][-1]["content"]
        reasoning, step = rules(told, facts_in(told))
        text = json.dumps({"reasoning": reasoning, "step": step})
        return Reply(text=text, usage=(sum(len(m["content"]) for m in request["messages"]) // 4, len(text) // 4))

    return respond


def _publish(event: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"action": f"publish:{event}", "data": data}


def _wait(event: str, message: str) -> dict[str, Any]:
    return {"action": "wait", "expected_event": event, "message": message}


def _delegate(goal: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"action": f"delegate:{goal}", "data": data}


def _complete(result: dict[str, Any]) -> dict[str, Any]:
    return {"action": "complete", "result": result}


if __name__ == "__main__":
    main()
