"""A form with costly checks of its payload: other tenants are served meanwhile."""

import json
from typing import Any

import pytest
from console_kit import Browser, key_for, open_browser, site
from kit import served_meanwhile
from unit.worst_data import UNION

from soorma_ai import Approval, Held, InvocationContext, Platform, PlatformContext, Tool

ITEMS: Any = {"type": "array", "items": UNION}
# A field for JSON text.
SCHEMA: Any = {"type": "object", "properties": {"shape": {"anyOf": [{"type": "string"}, ITEMS]}}}


async def asked(platform: Platform) -> str:
    """Hold a request, and return the id of its question."""
    taker = Tool("taker")

    @taker.on_invoke("shape.requested", payload_schema=SCHEMA, approval=Approval(approvers=("manager",)))
    async def take(request: InvocationContext, context: PlatformContext) -> None: ...

    await platform.start(taker)
    eve = platform.as_user(tenant_id="default", user_id="eve")
    with pytest.raises(Held) as held:
        await eve.request("shape.requested", {"shape": "round"}, timeout=1)
    return held.value.wait_id


@pytest.mark.parametrize("kind", [7, {"kind": "z", "v": "x"}])
async def test_other_tenants_are_served_while_a_large_form_is_refused(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    wait_id = await asked(platform)
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria", "manager", "operator"))
        await browser.open(f"/inbox/{wait_id}")
        typed = json.dumps([kind] * (2**17 // len(json.dumps(kind))))
        _, others = await served_meanwhile(platform, press(browser, typed), monkeypatch)
    assert browser.page.status_code == 422
    assert "cannot be published yet" in browser.text
    assert others == 1


async def press(browser: Browser, typed: str) -> None:
    await browser.press("edit", **{"payload$.shape": typed})
