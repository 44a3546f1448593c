"""The answer of a model is the one JSON object in its text; several different objects are a fault."""

import json
from typing import Any

import pytest

from soorma_ai.adapters.extraction import EMPTY, find_object, the_one

SHIP = {"reasoning": "Ship it.", "step": {"action": "publish:ship", "data": {"qty": 2}}}
DONE = {"reasoning": "All is done.", "step": {"action": "complete", "result": {}}}
G, D = json.dumps(SHIP), json.dumps(DONE)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (G, ""),
        (f"\n {G} \n", ""),
        ("\ufeff" + G, ""),
        (f"```json\n{G}\n```", "in fences"),
        (f"```\n{G}\n```", "in fences"),
        (f"Sure! Here you go:\n{G}\nHope this helps.", "in other text"),
        (f"I thought about {{this}} and [that] first, but then: {G}", "in other text"),
        (f"<think>\nI could say {D} first.\n</think>\n{G}", "after thoughts"),
        (f"No {{ no }}.</think>{G}", "after thoughts"),
        (f"<thinking>Hm.</thinking>\n```json\n{G}\n```", "after thoughts, in fences"),
        (G + G, "2 times"),
        (f"```json\n{G}\n```\nOnce more:\n{json.dumps(SHIP, indent=2, sort_keys=True)}", "in fences, 2 times"),
        (f"<tool_call>\n{G}\n</tool_call>", "in other text"),
        (f"[{G}]", "in a list of one"),
        (f"They are [{G}].", "in other text, in a list of one"),
    ],
)
def test_the_only_object_is_found_with_its_place(text: str, how: str) -> None:
    found = find_object(text)
    assert (found.value, found.fault, found.how) == (SHIP, "", how)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", EMPTY),
        (" \n\ufeff", EMPTY),
        (G + D, "the answer holds 2 different objects, {"),
        (f"1. {G}\n2. {D}", "2 different objects"),
        (f"Step 1:\n```json\n{G}\n```\nStep 2:\n```json\n{D}\n```", "2 different objects"),
        (f'{G}\nNote: {{"a": 1}}', "2 different objects"),
        (f"[{G}, {D}]", "no JSON object but a list of 2"),
        (f"They are [{G}, {D}].", "no JSON object but a list of 2 in other text"),
        (json.dumps(G), "no JSON object but text"),
        ("null", "no JSON object but null"),
        ("17", "no JSON object but 17"),
        ("I think so", "no JSON object: Expecting value at character 0, before 'I think so'; it begins with"),
        (f"<think>We should ship {G}", "holds thoughts and nothing after them"),
        (f"<think>{G}</think>", "holds thoughts and nothing after them"),
        (G[:-10], "no JSON object: "),
        (f"```json\n{G[:-10]}\n```", "no JSON object: "),
        (G[:-2] + ",}}", "no JSON object: "),
        (G.replace('"', "'"), "no JSON object: "),
        (f'{{"reasoning": "Say {G}", "step": 1}}', "no JSON object: "),
        ('{"step": 1, "step": 2}', "it holds 'step' twice, with different values"),
        ('{"qty": NaN}', "it holds NaN, a number that JSON does not know"),
        ('{"qty": -Infinity}', "it holds -Infinity"),
        ('{"qty": 1e999}', "it holds 1e999"),
        ("[" * 100_000, "no JSON object: it is nested too deep"),
    ],
)
def test_any_other_text_is_a_fault_with_its_content(text: str, fault: str) -> None:
    found = find_object(text)
    assert found.value is None
    assert fault in found.fault


def test_a_repeated_name_with_an_equal_value_is_accepted() -> None:
    assert find_object('{"step": {"a": 1, "b": 2}, "step": {"b": 2, "a": 1}}').value == {"step": {"a": 1, "b": 2}}


@pytest.mark.parametrize(
    ("texts", "value", "said"),
    [
        ((G,), SHIP, ""),
        ((G, G), SHIP, "2 times"),
        ((G, f"```{G}```"), SHIP, "in fences, 2 times"),
        ((G, D), None, "2 different objects"),
        ((G, "and so on"), None, "no JSON object"),
    ],
)
def test_several_texts_must_hold_the_same_object(texts: tuple[str, ...], value: Any, said: str) -> None:
    found = the_one([find_object(text) for text in texts])
    assert found.value == value
    assert said in (found.how if value else found.fault)
