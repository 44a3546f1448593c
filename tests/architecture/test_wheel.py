"""The content of the wheel: the package, its prompts, and no stray files."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMPTS = "soorma_ai/prompts/"
Tracked = Callable[[str], set[str]]


def build_wheel(root: Path, target: Path) -> set[str]:
    """Return the names in the wheel. The build backend is called directly, without downloads."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_prompts_in_the_wheel_are_those_of_the_project(names: set[str], tracked: Tracked) -> None:
    shipped = {f"prompts/{name.removeprefix(PROMPTS)}" for name in names if name.startswith(PROMPTS)}
    assert shipped
    assert shipped == tracked("prompts")


@pytest.mark.parametrize(("inside", "folder"), [("template", "template"), ("demo", "examples/02_order_approval")])
def test_the_project_template_and_the_demo_are_shipped(
    names: set[str], tracked: Tracked, inside: str, folder: str
) -> None:
    beginning = f"soorma_ai/{inside}/"
    shipped = {f"{folder}/{name.removeprefix(beginning)}" for name in names if name.startswith(beginning)}
    assert len(shipped) > 3
    assert shipped == tracked(folder)


def test_every_module_is_in_the_wheel(names: set[str], tracked: Tracked) -> None:
    modules = {name for name in tracked("soorma_ai") if name.endswith(".py")}
    assert len(modules) > 20
    assert modules - names == set()


def test_the_wheel_has_its_type_marker_and_licence(names: set[str]) -> None:
    assert "soorma_ai/py.typed" in names
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]


def test_the_wheel_has_only_the_package(names: set[str]) -> None:
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"soorma_ai"}


def test_an_ignored_secret_is_not_shipped(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("soorma_ai", "prompts", "template", "examples/02_order_approval"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "prompts" / "keys.db").write_text("secret")
    (tmp_path / "prompts" / "noted.md.j2").write_text("no secret")
    (tmp_path / "soorma_ai" / "local.db").write_text("secret")
    names = build_wheel(tmp_path, tmp_path / "dist")
    assert "soorma_ai/prompts/noted.md.j2" in names, "files in prompts are shipped, so the next line can fail"
    assert [name for name in names if name.endswith(".db")] == []
