"""Prompts are files: front matter and named blocks, rendered strictly and in a sandbox."""

import hashlib
from collections.abc import Hashable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.values import Same, identity_of
from soorma_ai.kernel.ports import Prompt

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.runtime import Context

SUFFIX = ".md.j2"
SHORT_HASH = 8


_OF_DICTS = frozenset(dir(dict))
# Block that stays the same from question to question.
_STABLE = "system"


class _ParsedPrompt(Struct, frozen=True):
    """Template with its globals, and the inputs of its stable block. None: the block uses more than inputs."""

    template: "Template"
    globals: Mapping[str, object]
    stable_inputs: tuple[str, ...] | None


class _PromptSource(Struct, frozen=True):
    prompt_id: str
    version: str
    inputs: frozenset[str]
    hash: str
    body: str
    parsed: _ParsedPrompt


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
        return Prompt(source.prompt_id, source.version, source.hash, _fill(source.parsed, inputs), source.body)

    def fill(self, template: str, inputs: Mapping[str, object]) -> Mapping[str, str]:
        from jinja2 import TemplateError

        try:
            return _fill(_parse(template, frozenset(inputs)), inputs)
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


def _fill(parsed: _ParsedPrompt, inputs: Mapping[str, object]) -> dict[str, str]:
    stable = _fill_stable(parsed, inputs)
    context = _context(parsed, inputs)
    return {
        name: stable if stable is not None and name == _STABLE else "".join(block(context)).strip()
        for name, block in parsed.template.blocks.items()
    }


def _fill_stable(parsed: _ParsedPrompt, inputs: Mapping[str, object]) -> str | None:
    """Return the stable block, filled once for the same inputs. None for inputs with lists or objects."""
    if parsed.stable_inputs is None:
        return None
    values = tuple([inputs[name] for name in parsed.stable_inputs])
    try:
        hash(values)
    except TypeError:
        return None
    return _fill_block(identity_of(parsed), *cast("tuple[Hashable, ...]", values))


@lru_cache(maxsize=64, typed=True)
def _fill_block(same: Same[_ParsedPrompt], *values: Hashable) -> str:
    inputs = dict(zip(same().stable_inputs or (), values, strict=True))
    return "".join(same().template.blocks[_STABLE](_context(same(), inputs))).strip()


def _context(parsed: _ParsedPrompt, inputs: Mapping[str, object]) -> "Context":
    template = parsed.template
    return template.environment.context_class(
        template.environment, {**parsed.globals, **inputs}, template.name, template.blocks
    )


def _parse(body: str, inputs: frozenset[str]) -> _ParsedPrompt:
    from jinja2 import StrictUndefined, meta, nodes
    from jinja2.sandbox import SandboxedEnvironment

    class Environment(SandboxedEnvironment):
        """Sandbox in which a field of an object is found at once."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            if obj.__class__ is dict and attribute in obj and attribute not in _OF_DICTS:
                return obj[attribute]
            return super().getattr(obj, attribute)

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(body)
    stable = [block for block in environment.parse(body).find_all(nodes.Block) if block.name == _STABLE]
    parts = [nodes.Template(block.body).set_environment(environment) for block in stable]
    used = {name for part in parts for name in meta.find_undeclared_variables(cast(nodes.Template, part))}
    is_plain = len(stable) == 1 and used <= inputs
    return _ParsedPrompt(template, dict(template.globals), tuple(sorted(used)) if is_plain else None)


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
            parsed=_parse(body, frozenset(cast(list[str], about["inputs"]))),
        )
    except (yaml.YAMLError, TemplateError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path.name} is no prompt: {error!r}; it needs id, version and inputs, then blocks"
        ) from error
