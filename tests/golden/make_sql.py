"""Make the golden dump of a database, from the golden file of the same version, with the version of the package on the
path.

    python tests/golden/make_sql.py tests/golden/v10.sql
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from click.testing import CliRunner
from postgres_server import OWNER, as_role, program, serving

from soorma_ai.apps.cli.main import cli
from soorma_ai.kernel.sql.schema import VERSION

OPTIONS = ("--schema=soorma", "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=200")


def make(target: Path) -> None:
    if target.exists() or target.stem != f"v{VERSION}":
        sys.exit(f"give v{VERSION}.sql that is not there yet; a golden dump is never made again")
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        url, left = as_role(server.database(), OWNER), shutil.copy(target.with_suffix(".db"), folder)
        moved = CliRunner().invoke(cli, ["db", "move", left, url])
        assert moved.exit_code == 0, moved.output
        dumped = subprocess.run([program("pg_dump"), *OPTIONS, url], check=True, capture_output=True, text=True).stdout
    # Commands of psql alone, commands of one server version, and notes.
    lines = (line for line in dumped.splitlines() if not re.match(r"\\|--|SET transaction_timeout", line))
    target.write_text(re.sub(r"\n{2,}", "\n", "\n".join(lines)).lstrip() + "\n")
    print(f"{target}: schema {VERSION}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
