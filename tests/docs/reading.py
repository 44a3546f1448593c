"""Blocks of a page, and a session to carry them out from the first to the last."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from click.testing import CliRunner, Result

from soorma_ai.apps.cli.main import cli

SOORMA = (sys.executable, "-m", "soorma_ai")
PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
NOT_RUN = "# not run"
# Machine-dependent blocks, and blocks with a need for a network: shown, and not run.
NOT_OURS = frozenset({"pip"})
PLUGINS = " ".join(f"-p no:{name}" for name in ("schemathesis", "hypothesispytest", "xdist"))

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.py)\n")
_URL = re.compile(r"http://[\d.:]+")
_EXITS = re.compile(r"# exits with (\d+)")


def broken_links(page: Path, within: Path | None = None) -> list[str]:
    """Return the relative links to a missing file or heading, and, for a page of the site, links out of the site."""
    root = within or (DOCS if page.is_relative_to(DOCS) else PROJECT)
    return [link for link in _LINK.findall(_prose(page)) if not _leads(page, link, root.resolve())]


def _leads(page: Path, link: str, root: Path) -> bool:
    name, _, heading = link.partition("#")
    target = (page.parent / name).resolve() if name else page.resolve()
    if not (target.exists() and target.is_relative_to(root)):
        return False
    return not heading or heading in {_anchor(title) for title in _HEADING.findall(_prose(target))}


def _prose(page: Path) -> str:
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


@dataclass(frozen=True)
class Block:
    """A block of code. `line` is its first line in the page."""

    page: str
    line: int
    language: str
    text: str

    @property
    def is_run(self) -> bool:
        return not self.text.startswith(NOT_RUN)

    @property
    def file(self) -> str | None:
        """The file of this block, if its first line names one."""
        found = _FILE.match(self.text)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(PROJECT))
    return [Block(name, text[: found.start()].count("\n") + 1, found[1], found[2]) for found in _BLOCK.finditer(text)]


def steps(page: Path) -> list[Block]:
    """Return the blocks of a session: commands, their output, and files."""
    found = blocks(page)
    return [
        one
        for before, one in zip([None, *found], found, strict=False)
        if one.is_run and (one.language == "console" or one.file or _is_output(before, one))
    ]


def _is_output(before: Block | None, block: Block) -> bool:
    return block.language == "text" and before is not None and before.language == "console"


def programs(page: Path) -> Iterator[tuple[Block, str | None]]:
    """Yield each whole program, and its output on the page."""
    found = blocks(page)
    for block, behind in zip_longest(found, found[1:]):
        if block.language == "python" and block.is_run and block.file is None:
            yield block, behind.text if behind is not None and behind.language == "text" else None


class Session:
    """A shell in a folder, and beside it another shell with an endless program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: subprocess.Popen[str] | None = None
        self._command: list[str] = []
        self._told: list[str] = []
        self._written: list[Block] = []
        self._set: dict[str, str] = {}
        self._printed = ""

    def carry_out(self, block: Block) -> None:
        if block.file is not None:
            self._written.append(block)
            return
        if block.language == "text":
            assert self._printed == block.text, f"{block.page}, line {block.line}"
            return
        self._save()
        wanted = 0
        for line in block.text.splitlines():
            words = shlex.split(line)
            if found := _EXITS.fullmatch(line):
                wanted = int(found[1])
            elif words[0] not in NOT_OURS:
                self._run(words, wanted, f"{block.page}, below line {block.line}: {line}")

    def end(self) -> None:
        """End the running program, and require exit code 0."""
        self._save()
        if self._running is None:
            return
        self._running.send_signal(signal.SIGINT)
        self._told.append(self._running.communicate(timeout=60)[0])
        assert self._running.returncode == 0, "".join(self._told)
        self._running = None

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.communicate()

    def _run(self, words: list[str], wanted: int, place: str) -> None:
        if words[0] == "cd":
            self._folder = self._folder / words[1]
        elif words[0] == "export":
            self._set |= [words[1].split("=", 1)]
        elif words == ["make", "dev"]:
            self._begin(shlex.split(self._process(["make", "-n", "dev"], place)))
        elif words[:2] in (["soorma", "dev"], ["soorma", "serve"]):
            self._begin(words)
        elif words[0] == "python":
            self._printed = self._process([sys.executable, *words[1:]], place)
        elif words[0] == "make":
            self._process(words, place)
        else:
            assert words[0] == "soorma", place
            options = words[words.index("--store") :] if "--store" in words else []
            done = self._soorma([self._id(word, options) for word in words[1:]])
            assert done.exit_code == wanted, f"{place}\n{done.output}"

    def _process(self, words: list[str], place: str) -> str:
        ran = subprocess.run(
            words, cwd=self._folder, env=self._environment, check=False, capture_output=True, text=True
        )
        assert ran.returncode == 0, f"{place}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def _soorma(self, words: list[str]) -> Result:
        with chdir(self._folder):
            return CliRunner().invoke(cli, words, env={"SOORMA_STORE_URL": None, "COLUMNS": "100", "FORCE_COLOR": None})

    def _id(self, word: str, options: list[str]) -> str:
        """Return the id for a word, of the newest object; a question is awaited."""
        if word == "PLAN":
            return str(json.loads(self._soorma(["plans", "ls", "--json", *options]).stdout)[0]["plan_id"])
        if word != "WAIT":
            return word
        while not (waits := json.loads(self._soorma(["inbox", "--json", *options]).stdout)):
            self._hear("soorma a")
        return str(waits[0]["wait_id"])

    def _begin(self, words: list[str]) -> None:
        """Start an endless program, in the place of the previous one."""
        if words == self._command:
            return
        self.end()
        self._command = words
        self._running = subprocess.Popen(
            [*SOORMA, *words[1:], "--port", "0"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        address = _URL.search(self._hear("Listening on"))
        assert address is not None, self._told
        self._hear("Ctrl-C to stop")
        self._set["SOORMA_URL"] = address[0]

    def _save(self) -> None:
        """Write files, all at once, and wait for the restart of the running program."""
        for block in self._written:
            file = self._folder / str(block.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if self._written and self._running is not None:
            self._hear("Reloading")
            self._hear("Ctrl-C to stop")
        self._written.clear()

    def _hear(self, word: str) -> str:
        """Read the running program's output up to a line with this text, and return the line."""
        assert self._running is not None and self._running.stdout is not None, f"no program runs to print {word!r}"
        for line in self._running.stdout:
            self._told.append(line)
            if word in line:
                return line
        raise AssertionError(f"{word!r} was never said: {''.join(self._told)}")

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHON": sys.executable, "PYTEST_ADDOPTS": PLUGINS, **self._set}
