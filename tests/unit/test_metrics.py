"""Metrics in the text format of Prometheus: gauges of a tenant's work and counters of a process."""

from datetime import UTC, datetime, timedelta

import pytest

from soorma_ai.api.server.metrics import MOST_AGENTS, Family, metrics, write
from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.registry import Backlog

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def lines(standing: TenantStats, counted: dict[tuple[str, tuple[str, ...]], float] | None = None) -> list[str]:
    return [line for line in write(metrics(standing, counted or {}, NOW)).splitlines() if not line.startswith("#")]


def backlog(agent: str, waiting: int = 1, minutes: float = 1.5) -> Backlog:
    return Backlog(agent, waiting, 2, NOW - timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("standing", "wanted"),
    [
        (TenantStats(), "soorma_dead_letters 0"),
        (TenantStats(), "soorma_unsent_oldest_seconds 0"),
        (TenantStats(dead_letters=3), "soorma_dead_letters 3"),
        (TenantStats(unsent=2, unsent_since=NOW - timedelta(seconds=7)), "soorma_unsent_oldest_seconds 7"),
        (TenantStats(unsent=2, unsent_since=NOW + timedelta(seconds=7)), "soorma_unsent_oldest_seconds 0"),
        (TenantStats([backlog("till", 4)]), 'soorma_backlog{agent="till"} 4'),
        (TenantStats([backlog("till")]), 'soorma_in_hand{agent="till"} 2'),
        (TenantStats([backlog("till")]), 'soorma_backlog_oldest_seconds{agent="till"} 90'),
        (TenantStats([backlog('a"b\\c\nd')]), 'soorma_backlog{agent="a\\"b\\\\c\\nd"} 1'),
        (TenantStats(questions={(ExpectationKind.GATE, 1): 5}), 'soorma_waits_open{kind="gate",age="1d"} 5'),
        (TenantStats(questions={(ExpectationKind.DOUBT, 3): 5}), 'soorma_waits_open{kind="doubt",age="older"} 5'),
    ],
)
def test_waiting_work_is_a_gauge(standing: TenantStats, wanted: str) -> None:
    assert wanted in lines(standing)


@pytest.mark.parametrize(
    ("key", "count", "wanted"),
    [
        (("commits", ("done",)), 4, 'soorma_commits_total{outcome="done"} 4'),
        (("dollars", ()), 0.25, "soorma_cost_dollars_total 0.25"),
        (("leases_lost", ()), 1, "soorma_leases_lost_total 1"),
        (("decisions", ("publish", "refused")), 2, 'soorma_decisions_total{action="publish",verdict="refused"} 2'),
        (("http", ("submit", "2xx")), 9, 'soorma_http_requests_total{operation="submit",status="2xx"} 9'),
    ],
)
def test_finished_work_is_a_counter(key: tuple[str, tuple[str, ...]], count: float, wanted: str) -> None:
    assert wanted in lines(TenantStats(), {key: count})


def test_unpriced_calls_are_counted_and_no_zero_cost_is_reported() -> None:
    told = lines(TenantStats(), {("unpriced", ()): 2})
    assert "soorma_unpriced_calls_total 2" in told
    assert not [one for one in told if one.startswith("soorma_cost_dollars")]
    assert "soorma_cost_dollars_total 0" in lines(TenantStats())


def test_ten_thousand_agents_make_a_hundred_series_with_the_full_sum() -> None:
    hostile = [backlog(f"agent-{n}" * 50, 1 + (n == 77), minutes=n) for n in range(10_000)]
    told = [line for line in lines(TenantStats([*hostile, backlog("(others)")])) if line.startswith("soorma_backlog{")]
    assert len(told) <= MOST_AGENTS + 1
    assert sum(int(line.rpartition(" ")[2]) for line in told) == 10_002
    assert max(map(len, told)) < 150


def test_each_family_has_help_and_type_and_one_without_samples_is_left_out() -> None:
    text = write([Family("a_total", "counter", "Things.", [({}, 1)]), Family("b", "gauge", "None.", [])])
    assert text == "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\n"
