"""Prompts are files: front matter and named blocks, rendered strictly and in a sandbox."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.ports import Prompt

if TYPE_CHECKING:
    from jinja2 import Template

SUFFIX = ".md.j2"
SHORT_HASH = 8


class _PromptSource(Struct, frozen=True):
    prompt_id: str
    version: str
    inputs: frozenset[str]
    hash: str
    body: str
    template: "Template"


class PromptFiles:
    """Prompts in the given folders, searched first, and those of the package."""

    def __init__(self, *folders: Path) -> None:
        self._folders = (*folders, packaged_prompts())
        self._found: dict[str, Path] = {}

    def render(self, prompt_id: str, inputs: Mapping[str, object]) -> Prompt:
        source = _load(self._find(prompt_id))
        if source.inputs != frozenset(inputs):
            raise ConfigError(
                f"prompt {prompt_id} declares the inputs {sorted(source.inputs)} and was given {sorted(inputs)}"
            )
        return Prompt(source.prompt_id, source.version, source.hash, _fill(source.template, inputs), source.body)

    def fill(self, template: str, inputs: Mapping[str, object]) -> Mapping[str, str]:
        from jinja2 import TemplateError

        try:
            return _fill(_parse(template), inputs)
        except (TemplateError, TypeError) as error:
            raise ConfigError(f"the template that was kept cannot be filled: {error!r}") from error

    def label(self, prompt_id: str) -> str:
        source = _load(self._find(prompt_id))
        return f"{source.prompt_id} {source.version} {source.hash[:SHORT_HASH]}"

    def _find(self, prompt_id: str) -> Path:
        """Look for a prompt once; its content is read once, too."""
        if prompt_id in self._found:
            return self._found[prompt_id]
        for folder in self._folders:
            path = folder / f"{prompt_id}{SUFFIX}"
            if path.is_file():
                return self._found.setdefault(prompt_id, path)
        raise ConfigError(f"no prompt {prompt_id}{SUFFIX} in {', '.join(str(folder) for folder in self._folders)}")


def packaged_prompts() -> Path:
    """Return the folder of prompts inside the wheel; in a checkout, beside the package."""
    inside = Path(str(files("soorma_ai") / "prompts"))
    return inside if inside.is_dir() else inside.parent.parent / "prompts"


def _fill(template: "Template", inputs: Mapping[str, object]) -> dict[str, str]:
    context = template.new_context(dict(inputs))
    return {name: "".join(block(context)).strip() for name, block in template.blocks.items()}


def _parse(body: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(body)


@lru_cache(maxsize=64)
def _load(path: Path) -> _PromptSource:
    import yaml
    from jinja2 import TemplateError

    text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    _, front, body = text.split("---\n", 2) if text.startswith("---\n") else ("", "", text)
    try:
        about = cast(dict[str, object], yaml.safe_load(front))
        return _PromptSource(
            prompt_id=str(about["id"]),
            version=str(about["version"]),
            inputs=frozenset(cast(list[str], about["inputs"])),
            hash=hashlib.sha256(body.encode()).hexdigest(),
            body=body,
            template=_parse(body),
        )
    except (yaml.YAMLError, TemplateError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path.name} is no prompt: {error!r}; it needs id, version and inputs, then blocks"
        ) from error
