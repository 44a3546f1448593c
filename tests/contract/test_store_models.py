"""Replacements of models are in force in every process, and are read once until they change."""

import pytest
from msgspec.structs import replace
from postgres_server import Server
from sqlite_kit import explain_plan, trace_statements
from store_kit import NOW, later, open_store, planner, save_running_plan

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.records import ModelReplacement
from soorma_ai.kernel.ports import Store

AB = ModelReplacement("a", "b", NOW, (1e-6, 2e-6))


async def test_a_replacement_is_in_force_until_it_is_removed(store: Store) -> None:
    models = store.part(MODELS)
    assert await models.replacements("default") == {}
    await models.replace_model("default", AB)
    assert await models.replacements("default") == {"a": AB}
    assert await models.replacements("other") == {}
    again = ModelReplacement("a", "c", later(5))
    switch = await models.replace_model("default", again)
    assert (switch.model, switch.to) == ("b", "c")
    assert await models.replacements("default") == {"a": again}
    with pytest.raises(NotFound):
        await models.restore_model("other", "a", NOW)
    await models.restore_model("default", "a", NOW)
    assert await models.replacements("default") == {}


async def test_a_refused_circle_changes_nothing(store: Store) -> None:
    models = store.part(MODELS)
    await models.replace_model("default", AB)
    with pytest.raises(ConfigError, match="circle"):
        await models.replace_model("default", ModelReplacement("b", "a", NOW))
    assert await models.replacements("default") == {"a": AB}


async def test_uses_count_the_open_plans_of_planners_by_their_models(store: Store) -> None:
    await store.registry.register([replace(planner(), model="a"), replace(planner("others"), model="b")], NOW)
    await save_running_plan(store)
    models = store.part(MODELS)
    assert [(one.model, one.planners, one.open_plans) for one in await models.model_uses("default")] == [
        ("a", ("planner",), 1),
        ("b", ("others",), 0),
    ]
    assert (await models.replace_model("default", AB)).open_plans == 1


async def test_planners_of_other_stores_have_models_of_their_own(store: Store) -> None:
    await store.registry.register([replace(planner(), model="a", store="elsewhere")], NOW)
    assert await store.part(MODELS).model_uses("default") == []
    assert (await store.part(MODELS).replace_model("default", AB)).planners == ()


async def test_open_plans_are_counted_by_their_status() -> None:
    """Ended plans of the tenant are not read."""
    async with open_store(SqliteStore(None, ALL_FEATURES)) as store:
        await store.registry.register([replace(planner(), model="a")], NOW)
        with trace_statements(store) as seen:
            await store.part(MODELS).model_uses("default")
        (counting,) = [one for one in seen if "FROM plan" in one]
        (step, *_) = [one for one in await explain_plan(store, counting) if "plan" in one]
        assert "plan_status" in step


async def test_replacements_are_read_once_until_they_change() -> None:
    async with open_store(SqliteStore(None, ALL_FEATURES)) as store:
        models = store.part(MODELS)

        async def reads() -> int:
            with trace_statements(store) as seen:
                found = await models.replacements("default")
            assert found == ({} if not replaced else {"a": AB})
            return len([one for one in seen if "model_replacement" in one])

        replaced = False
        assert [await reads(), await reads()] == [1, 0]
        await models.replace_model("default", AB)
        replaced = True
        assert [await reads(), await reads()] == [1, 0]


async def test_another_process_sees_a_replacement_with_its_next_read_of_the_registry(postgres: Server) -> None:
    url = postgres.empty()
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        assert await other.part(MODELS).replacements("default") == {}
        await one.part(MODELS).replace_model("default", AB)
        await other.registry.live_events("default", NOW)
        assert await other.part(MODELS).replacements("default") == {"a": AB}
        await other.part(MODELS).restore_model("default", "a", NOW)
        await one.registry.live_events("default", NOW)
        assert await one.part(MODELS).replacements("default") == {}
