"""The server works over a store without features; a call of a disabled feature is refused by the feature's name."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from http_kit import local
from kit import PATIENCE, payments, planner, the_wait

from soorma_ai import Approval, Platform
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

CHARGE = publish("payment.charge.requested", amount=12_000)


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Platform]:
    async with Platform(store=SqliteStore(tmp_path / "bare.db"), clock=VirtualClock()) as platform:
        yield platform


async def test_a_held_request_is_listed_and_approved_over_http(bare: Platform) -> None:
    await bare.start(planner([CHARGE, complete({"paid": True})]), payments(Approval(when="payload.amount > 5000")))
    async with local(bare) as http:
        plan_id = (await http.post("/v1/plans", json={"goal": "order.received", "data": {}})).json()["plan_id"]
        question = await the_wait(bare)
        (listed,) = (await http.get("/v1/waits")).json()["items"]
        assert (listed["wait_id"], listed["claim"]) == (question.wait_id, None)
        answered = await http.post(f"/v1/waits/{question.wait_id}/answer", json={"payload": {"approved": True}})
        assert answered.json()["outcome"] == "accepted"
        end = await http.get(f"/v1/plans/{plan_id}/result?wait={PATIENCE / 4:.0f}")
        assert end.json()["result"] == {"paid": True}


@pytest.mark.parametrize(
    ("method", "path", "sent", "feature"),
    [
        ("GET", "/v1/absences", None, "human_tasks"),
        ("POST", "/v1/memory/knowledge/search", {"query": "owls"}, "knowledge"),
    ],
)
async def test_a_call_of_a_disabled_feature_names_the_feature(
    bare: Platform, method: str, path: str, sent: object, feature: str
) -> None:
    async with local(bare) as http:
        refused = await http.request(method, path, json=sent)
    assert refused.status_code == 422
    assert f"feature '{feature}' is off" in refused.json()["detail"]
