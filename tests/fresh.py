"""A fresh wheel in an empty environment: the commands of the first day from README, `soorma init` and its project.

python tests/fresh.py                 with every Python from 3.11 on this machine; dependencies by pip
python tests/fresh.py --python 3.12   with one of them
python tests/fresh.py --offline       with this Python, and the dependencies of its environment
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
READY = "Press Ctrl-C to stop"
OURS = ("SOORMA_", "PIP_", "VIRTUAL_ENV", "PYTHONPATH")
_INSTALL = re.compile(r"^## Install\n.*?^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEXT = re.compile(r"make ((?:[a-z]+ ?)+)")
_URL = re.compile(r"http://[\d.:]+")


class Fault(Exception):
    """A failed command; the message has the command and its output."""


@dataclass(frozen=True)
class Shell:
    """Commands in a folder, with the programs of an environment first on the PATH."""

    environment: Path
    folder: Path
    more: Mapping[str, str]

    def run(self, line: str) -> str:
        """Run a command to its end, and return its output. Raise Fault."""
        words = shlex.split(line)
        ran = subprocess.run(words, cwd=self.folder, env=self._variables, check=False, capture_output=True, text=True)
        said = ran.stdout + ran.stderr
        if ran.returncode != 0:
            raise Fault(f"{line}: exit code {ran.returncode}\n{said}")
        return said

    def start_and_stop(self, line: str, path: str = "/healthz") -> None:
        """Start a server at a free port, call it, and end it by Ctrl-C. Raise Fault."""
        started = subprocess.Popen(
            [*shlex.split(line), "--port", "0"],
            cwd=self.folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self._call(started, line, path)
        finally:
            started.kill()
            started.communicate()

    def _call(self, started: subprocess.Popen[str], line: str, path: str) -> None:
        assert started.stdout is not None
        said: list[str] = []
        for printed in started.stdout:
            said.append(printed)
            if READY in printed and (url := _URL.search("".join(said))):
                urllib.request.urlopen(f"{url[0]}{path}", timeout=60).close()
                started.send_signal(signal.SIGINT)
                said.append(started.communicate(timeout=60)[0])
                break
        if started.wait(60) != 0:
            raise Fault(f"{line}: exit code {started.returncode}\n{''.join(said)}")

    @property
    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS) or name in _PIP}
        path = os.pathsep.join((str(self.environment / "bin"), os.environ["PATH"]))
        return {**kept, "PATH": path, "PYTHON": "python", **self.more}


# The machine's access to its package index.
_PIP = frozenset({"PIP_CERT", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT", "PIP_DISABLE_PIP_VERSION_CHECK"})
_OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def first_day(python: str, folder: Path, *, is_offline: bool) -> Iterator[str]:
    """Carry out the commands, and yield each completed one. Raise Fault."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    if is_offline:
        _lend_libraries(environment)
    shell = Shell(environment, folder, _OFFLINE if is_offline else {})
    wheel = _wheel(folder / "wheel")
    for line in ("python -m pip install --quiet {}", "python -m soorma_ai --version"):
        shell.run(line.format(wheel))
        yield line.format("soorma-ai")
    shell.start_and_stop("python -m soorma_ai dev")
    yield "python -m soorma_ai dev"
    said = ""
    for line in _install_lines():
        said = shell.run(line.replace("soorma-ai", str(wheel))) if line.startswith("pip") else shell.run(line)
        yield line
        if line.startswith("soorma init"):
            shell = Shell(environment, folder / line.split()[2], shell.more)
            targets = _NEXT.search(said)
            assert targets is not None, said
            yield from _make(shell, targets[1].split())
    app = f"{shell.folder.name.replace('-', '_')}.app:offline"
    shell.start_and_stop(f"soorma serve {app}")
    yield f"soorma serve {app}"


def _make(shell: Shell, targets: Sequence[str]) -> Iterator[str]:
    """Make the targets printed by `soorma init`, after `install`."""
    for target in targets if "install" in targets else ["install", *targets]:
        if target == "dev":
            shell.start_and_stop(shell.run("make --no-print-directory -n dev").strip())
        else:
            shell.run(f"make {target}")
        yield f"make {target}"


def _install_lines() -> list[str]:
    found = _INSTALL.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1].splitlines()


def _wheel(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def _lend_libraries(environment: Path) -> None:
    """Let the environment find the libraries of this one, after its own: the wheel is its own."""
    (own,) = environment.glob("lib/python*/site-packages")
    (own / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")


def pythons(versions: Sequence[str]) -> dict[str, str]:
    """Return the installed interpreters, by version: on the PATH, else among those of pyenv."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for version in versions:
        kept = sorted(home.glob(f"{version}.*/bin/python"))
        candidates = (shutil.which(f"python{version}"), *map(str, kept))
        runs = (one for one in candidates if one and _is_version(one, version))
        if (path := next(runs, None)) is not None:
            found[version] = path
    return found


def _is_version(path: str, version: str) -> bool:
    look = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([path, "-c", look], check=False, capture_output=True, text=True)
    return ran.stdout.strip() == version


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", choices=VERSIONS)
    parser.add_argument("--offline", action="store_true")
    asked = parser.parse_args()
    wanted = [asked.python] if asked.python else list(VERSIONS)
    found = {"this Python": sys.executable} if asked.offline else pythons(wanted)
    if missing := [] if asked.offline else [version for version in wanted if version not in found]:
        print(f"not here, and not tried: Python {', '.join(missing)}")
    for version, path in found.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                for line in first_day(path, Path(folder), is_offline=asked.offline):
                    print(f"{version}: {line}", flush=True)
            except Fault as fault:
                sys.exit(f"{version}: {fault}")
    if not found:
        sys.exit("no Python to try it with")


if __name__ == "__main__":
    main()
