"""A worker that has thirty files read at once, by a tool that calls a service which fails now and then.

The service is paid by the page, so the tool hands it the key of the request: a page that is asked for twice is paid
once.
"""

from datetime import timedelta

import httpx
from pydantic import BaseModel

from soorma_ai import (
    DelegationSpec,
    InvocationContext,
    PlatformContext,
    Reject,
    ResultContext,
    Retry,
    TaskContext,
    Tool,
    Worker,
)

BUSY, GONE = 429, 404


class Folder(BaseModel):
    """Files to read."""

    names: list[str]


class File(BaseModel):
    name: str


class Page(BaseModel):
    words: int


class Total(BaseModel):
    """The answer of the worker. `missing` says of each file that could not be read why."""

    files: int
    words: int
    missing: dict[str, str]


class ServiceBroke(Exception):
    """The service answered with an error of its own, which may be gone the next time."""


def make_reader(client: httpx.AsyncClient) -> Tool:
    """Return the tool. A lost connection or a time-out is tried again by itself; the rest is said here."""
    reader = Tool("reader", max_in_flight=8)

    @reader.on_invoke("file.read.requested", retry_on=ServiceBroke, attempts=6)
    async def read(request: InvocationContext[File], context: PlatformContext) -> Page:
        key = {"Idempotency-Key": request.idempotency_key}
        response = await client.post(f"/read/{request.data.name}", headers=key)
        if response.status_code == GONE:
            raise Reject(f"there is no file {request.data.name}", code="no_such_file")
        if response.status_code == BUSY:
            raise Retry("the service is busy", after=timedelta(seconds=float(response.headers["Retry-After"])))
        if response.is_server_error:
            raise ServiceBroke(f"{response.status_code} from the service")
        return Page.model_validate(response.json())

    return reader


def make_worker() -> Worker:
    worker = Worker("folders")

    @worker.on_task("folder.count.requested", response_schema=Total)
    async def begin(task: TaskContext[Folder], context: PlatformContext) -> None:
        parts = [DelegationSpec("file.read.requested", File(name=name), "file.read") for name in task.data.names]
        task.state["group"] = await task.delegate_parallel(parts, timeout=timedelta(minutes=10))

    @worker.on_result("file.read")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        pages = await task.aggregate_parallel_results(task.state["group"])
        if pages is None:
            return  # some are still being read
        # They come in the order in which they were asked, whatever came first.
        replies = [*zip(task.data.names, pages.values(), strict=True)]
        missing = {name: reply["error"]["message"] for name, reply in replies if not reply["success"]}
        words = sum(reply["result"]["words"] for _, reply in replies if reply["success"])
        await task.complete(Total(files=len(replies) - len(missing), words=words, missing=missing))

    return worker
