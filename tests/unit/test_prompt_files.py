"""Prompts rendered from files, with a cache for the system block."""

from pathlib import Path

import pytest

from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.errors import ConfigError

HEAD = '---\nid: own\nversion: "1"\ninputs: [who, rules, work]\n---\n'


def files(folder: Path, system: str, user: str = "{{ work }}") -> PromptFiles:
    text = f"{HEAD}{{% block system %}}{system}{{% endblock %}}{{% block user %}}{user}{{% endblock %}}"
    (folder / "own.md.j2").write_text(text)
    return PromptFiles(folder)


def test_the_system_block_is_rendered_once_for_equal_inputs(tmp_path: Path) -> None:
    prompts = files(tmp_path, "You are {{ who }}.{% if rules %} Rules: {{ rules }}{% endif %}\n")
    one, other, third = (
        prompts.render("own", {"who": who, "rules": "", "work": {"n": number}}).parts
        for number, who in enumerate(("Ada", "Ada", "Bob"))
    )
    assert one["system"] is other["system"] and one == {"system": "You are Ada.", "user": "{'n': 0}"}
    assert other["user"] == "{'n': 1}" and third["system"] == "You are Bob."


@pytest.mark.parametrize(("first", "second"), [(True, 1), (1, 1.0), ([1], [2]), ({"a": 1}, {"a": 2})])
def test_equal_inputs_of_other_types_and_changed_lists_render_again(
    tmp_path: Path, first: object, second: object
) -> None:
    prompts = files(tmp_path, "{{ rules }}")
    texts = [prompts.render("own", {"who": "", "rules": one, "work": ""}).parts["system"] for one in (first, second)]
    assert texts == [str(first), str(second)]


def test_a_block_with_other_expressions_is_rendered_each_time(tmp_path: Path) -> None:
    prompts = files(tmp_path, "{{ range(3) | list }} {% set n = 2 %}{{ n }}{{ who }}")
    inputs = {"who": "!", "rules": "", "work": ""}
    assert prompts.render("own", inputs).parts["system"] == prompts.render("own", inputs).parts["system"]
    assert prompts.render("own", inputs).parts["system"] == "[0, 1, 2] 2!"


def test_a_stored_template_is_rendered_and_a_fault_in_it_is_a_config_error() -> None:
    blocks = "{% block system %}{{ who }}{% endblock %}{% block user %}{{ who }}?{% endblock %}"
    assert PromptFiles().fill(blocks, {"who": "Ada"}) == {"system": "Ada", "user": "Ada?"}
    with pytest.raises(ConfigError, match="cannot be filled"):
        PromptFiles().fill(blocks, {"whom": "Ada"})
