"""The worker and the tool with a service that answers as the test says, and a clock that waits for nothing."""

from collections import Counter

import httpx
from files import Folder, Total, make_reader, make_worker
from service import Service

from soorma_ai import Platform

NAMES = [f"file-{number:02}" for number in range(30)]


async def count(client: httpx.AsyncClient, names: list[str]) -> Total:
    async with Platform("sqlite://") as platform:
        await platform.start(make_worker(), make_reader(client))
        reply = await platform.request("folder.count.requested", Folder(names=names), timeout=30)
    return Total.model_validate(reply["result"])


async def test_every_file_is_read_and_paid_once_although_the_service_fails_now_and_then() -> None:
    with Service() as service:
        async with httpx.AsyncClient(base_url=service.url) as client:
            assert await count(client, NAMES) == Total(files=30, words=3_000, missing={})
    assert sum(service.calls.values()) > 30, "some went wrong, and were tried again"
    assert [*service.paid.values()] == [1] * 30


async def test_the_answer_says_which_files_are_not_there() -> None:
    with Service() as service:
        async with httpx.AsyncClient(base_url=service.url) as client:
            total = await count(client, ["file-01", "lost-1"])
    assert total == Total(files=1, words=100, missing={"lost-1": "there is no file lost-1"})


async def test_a_key_is_that_of_the_request_at_every_attempt() -> None:
    keys = Counter[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        keys[request.headers["Idempotency-Key"]] += 1
        return httpx.Response(503 if keys.total() == 1 else 200, json={"words": 1})

    async with httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(answer)) as client:
        assert (await count(client, ["a"])).words == 1
    assert [*keys.values()] == [2]
