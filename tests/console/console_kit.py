"""A browser without script: it reads pages, fills in forms and follows redirects. And a shop with questions for
people."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from html.parser import HTMLParser
from typing import Any, Literal

import httpx
import pytest
from pydantic import BaseModel, Field
from starlette.applications import Starlette

from soorma_ai import Approval, ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.tokens import ApiKeys, new_key
from soorma_ai.apps.console import Console
from soorma_ai.errors import Held
from soorma_ai.gateways.user_agent import Links
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.server import app
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

SECRET = "of the tests, with thirty-two characters"
ORDER = {"order_id": "4711", "payee": "ACME Tools", "amount": 1840.0, "lines": [{"sku": "lathe", "quantity": 1}]}


class Line(BaseModel):
    sku: str
    quantity: int = Field(ge=1, le=100)


class Payment(BaseModel):
    order_id: str
    payee: str
    amount: float = Field(gt=0, le=5000, description="US dollars")
    speed: Literal["standard", "express"] = "standard"
    due: date | None = None
    lines: list[Line] = Field(default_factory=list[Line])


def shop(charged: list[float] | None = None) -> tuple[ChoreographyPlanner, Tool]:
    """Return a planner of payments, and its tool with the approval of a manager."""
    payments = Tool("payments")
    approval = Approval(
        when="payload.amount > 1000.0",
        approvers=("manager",),
        timeout=timedelta(hours=2),
        message="Pay {amount} $ to {payee} for order {order_id}",
    )

    @payments.on_invoke("payment.charge.requested", payload_schema=Payment, approval=approval)
    async def charge(request: InvocationContext[Any], context: PlatformContext) -> dict[str, Any]:
        if charged is not None:
            charged.append(request.data["amount"])
        return {"charged": request.data["amount"]}

    def decide(question: ModelQuestion) -> Any:
        is_over = "charged" in str(question) or "rejected" in str(question)
        if is_over:
            return complete({"done": True})
        return {**publish("payment.charge.requested", data=ORDER), "reasoning": "The goods are reserved: pay them."}

    return ChoreographyPlanner("orders", goals=["order.received"], reasoner=ScriptedReasoner(decide)), payments


async def key_for(platform: Platform, user: str, *roles: str) -> str:
    """Return the token of a new key of a person."""
    key, token = new_key("default", user, platform.services.clock.now(), roles=roles)
    await platform.keys.add(key)
    return token


def site(platform: Platform, *, is_open: bool = False, links: Links | None = None, **options: Any) -> Starlette:
    auth = None if is_open else ApiKeys(platform)
    return app(platform, auth=auth, site=Console(secret=SECRET, links=links), **options)


async def ask(platform: Platform, **data: Any) -> str:
    """Hold a payment requested by eve, and return the id of its question."""
    eve = platform.as_user(tenant_id="default", user_id="eve")
    with pytest.raises(Held) as held:
        await eve.request("payment.charge.requested", {**ORDER, **data}, timeout=1)
    return held.value.wait_id


@dataclass
class Form:
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    buttons: list[str] = field(default_factory=list[str])


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.text: list[str] = []
        self._area: str | None = None
        self._select: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        match tag:
            case "form":
                self.forms.append(Form(given["action"]))
            case "input" if name:
                self.forms[-1].fields.append((name, given.get("value", "")))
            case "button":
                self.forms[-1].buttons.append(given.get("value", ""))
            case "textarea":
                self._area = ""
                self.forms[-1].fields.append((name, ""))
            case "select":
                self._select = name
                self.forms[-1].fields.append((name, ""))
            case "option" if self._select is not None and "selected" in given:
                self.forms[-1].fields[-1] = (self._select, given.get("value", ""))
            case _:
                pass

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area += data
        self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            name, _ = self.forms[-1].fields[-1]
            self.forms[-1].fields[-1] = (name, self._area.removeprefix("\n").replace("\n", "\r\n"))
            self._area = None
        if tag == "select":
            self._select = None


@dataclass
class Browser:
    """`page` is the last answer."""

    client: httpx.AsyncClient
    page: httpx.Response = field(default_factory=lambda: httpx.Response(200, text=""))

    async def open(self, path: str) -> "Browser":
        self.page = await self.client.get(path)
        return self

    @property
    def text(self) -> str:
        """The words of the page, on one line."""
        return " ".join(" ".join(_Page(self.page.text).text).split())

    def form(self, button: str) -> Form:
        return next(one for one in _Page(self.page.text).forms if button in one.buttons)

    async def press(self, button: str, **typed: str) -> "Browser":
        """Press a button of its form, with these texts typed over the present ones."""
        form = self.form(button)
        sent = [(name, typed.get(name, value)) for name, value in form.fields]
        assert set(typed) <= {name for name, _ in sent}, sorted(name for name, _ in sent)
        sent += [("do", button)] if button else []
        path = form.action.partition("#")[0]
        body = httpx.QueryParams(sent)
        headers = {"content-type": "application/x-www-form-urlencoded"}
        self.page = await self.client.post(path, content=str(body), headers=headers)
        return self

    async def sign_in(self, token: str) -> "Browser":
        """Sign in, and open the inbox."""
        await self.open("/sign-in?next=/inbox")
        return await self.press("", token=token)


@asynccontextmanager
async def open_browser(served: Starlette, **headers: str) -> AsyncGenerator[Browser]:
    transport = httpx.ASGITransport(served)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", follow_redirects=True, headers=headers
    ) as client:
        yield Browser(client)
