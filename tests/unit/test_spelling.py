"""JSON text of values in a prompt, and its cost with a real tokenizer."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.prompting.fence import fence
from soorma_ai.kernel.rules.prompting.spelling import (
    CHARS_PER_TOKEN,
    clip_to_size,
    size_of_spelled,
    size_of_text,
    spell,
)

TEXTS = {
    "English": "Please refund the customer because the parcel arrived damaged on Monday, and the box was open.",
    "German": "Bitte erstatten Sie dem Kunden den Betrag, weil das Päckchen am Montag beschädigt ankam.",
    "Russian": "Пожалуйста, верните клиенту деньги: посылка пришла повреждённой в понедельник.",
    "Arabic": "يرجى رد المبلغ إلى العميل لأن الطرد وصل تالفا يوم الاثنين.",
    "Chinese": "请给客户退款,因为包裹在星期一到达时已经损坏。",
    "Hindi": "कृपया ग्राहक को पैसे वापस करें क्योंकि पार्सल सोमवार को टूटा हुआ आया।",
    "Japanese": "月曜日に荷物が破損して届いたので、お客様に返金してください。",
    "Korean": "월요일에 소포가 파손되어 도착했으므로 고객에게 환불해 주세요.",
    "Greek": "Παρακαλώ επιστρέψτε τα χρήματα στον πελάτη, γιατί το δέμα έφτασε κατεστραμμένο.",
    "Hebrew": "נא להחזיר את הכסף ללקוח כי החבילה הגיעה פגומה ביום שני.",
    "Thai": "กรุณาคืนเงินให้ลูกค้าเพราะพัสดุเสียหายเมื่อมาถึงในวันจันทร์",
}


@cache
def tokenizer() -> Any:
    pytest.importorskip(
        "soorma_ai.adapters.models.litellm.libraries"
    ).libraries()  # sets its switches: no download of prices
    return pytest.importorskip("litellm.litellm_core_utils.default_encoding").encoding


def tokens(text: str) -> int:
    return len(tokenizer().encode(text, disallowed_special=()))


@pytest.mark.parametrize("language", TEXTS)
def test_a_fenced_value_costs_no_more_than_its_plain_json(language: str) -> None:
    value: Json = {"order_id": "A-17", "note": TEXTS[language], "lines": [TEXTS[language], 12.5, None]}
    inside = fence(value).removeprefix("<data>").removesuffix("</data>")
    assert tokens(inside) <= 1.05 * tokens(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("language", TEXTS)
def test_estimated_tokens_of_a_script_are_near_those_of_a_real_tokenizer(language: str) -> None:
    real = tokens(TEXTS[language])
    assert 0.7 * real <= size_of_text(TEXTS[language]) / CHARS_PER_TOKEN <= 1.5 * real


def test_a_text_of_any_script_is_cut_by_tokens() -> None:
    cut = {language: clip_to_size(text * 20, 400) for language, text in TEXTS.items()}
    assert all(350 < size_of_text(text) <= 410 for text in cut.values())
    assert len(cut["Chinese"]) < 100 < 200 < len(cut["Russian"]) < len(cut["English"]) == 400


@given(st.text())
def test_json_for_a_prompt_is_equal_json_without_forbidden_characters(text: str) -> None:
    spelled = spell({text: [text]})
    assert json.loads(spelled) == {text: [text]}
    assert not any(sign in spelled for sign in "<\x00\n\x7f\x85\u2028\u2029") and spelled.encode()
    assert size_of_text(spelled) >= len(spelled)


@given(st.text() | st.text('<\n"\\\t\x00\x1f\x7f', max_size=30) | st.text('<\n"\\ aя请ü', max_size=30))
def test_the_size_of_json_for_a_prompt_is_known_without_its_text(text: str) -> None:
    assert size_of_spelled(text) == size_of_text(spell(text))
