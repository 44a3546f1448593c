"""Thirty files are read at once, by a service that is busy, breaks and hangs up; each is read and paid once.

python examples/09_files/main.py             all are there
python examples/09_files/main.py --lost 2    two are not: the answer says which
"""

import argparse
import asyncio
import os
import sys

import httpx
from files import Folder, Total, make_reader, make_worker
from service import Service

from soorma_ai import Platform

FILES = 30


async def count(store_url: str, lost: int) -> int:
    names = [f"lost-{number}" if number < lost else f"file-{number:02}" for number in range(FILES)]
    with Service() as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=5) as client, Platform(store_url) as platform:
            await platform.start(make_worker(), make_reader(client))
            reply = await platform.request("folder.count.requested", Folder(names=names), timeout=60)
        total = Total.model_validate(reply["result"])
        print(f"{total.files} files, {total.words:,} words")
        for name, why in total.missing.items():
            print(f"{name}: {why}")
        print(f"{sum(service.calls.values())} calls, {sum(service.paid.values())} paid")
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lost", type=int, default=0, help="so many of the files are not there")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///files.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    return asyncio.run(count(given.store, given.lost))


if __name__ == "__main__":
    sys.exit(main())
