from dataclasses import dataclass, field

import pytest

from soorma_ai.api.server.connection_bounds import OpenConnections, address_of


@dataclass(eq=False)
class FakeConnection:
    address: str = "a"
    is_dropped: bool = field(default=False, compare=False)

    def drop(self) -> None:
        self.is_dropped = True


def enter(crowd: OpenConnections, address: str = "a", *, is_waiting: bool = True) -> FakeConnection:
    one = FakeConnection(address)
    assert crowd.enter(one)
    crowd.note(one, is_waiting=is_waiting)
    return one


def test_the_longest_waiting_connection_gives_way_to_a_new_one() -> None:
    crowd = OpenConnections(3, 3)
    busy, first, second = enter(crowd, is_waiting=False), enter(crowd, "b"), enter(crowd, "c")
    enter(crowd, "d")
    assert [one.is_dropped for one in (busy, first, second)] == [False, True, False] and len(crowd) == 3


def test_a_waiting_connection_keeps_its_place_and_loses_it_during_a_request() -> None:
    crowd = OpenConnections(2, 2)
    slow, quick = enter(crowd), enter(crowd)
    crowd.note(slow, is_waiting=True)
    enter(crowd, "b")
    assert slow.is_dropped and not quick.is_dropped
    crowd.note(quick, is_waiting=False)
    crowd.note(quick, is_waiting=True)
    enter(crowd, "c")
    assert not quick.is_dropped


def test_an_address_over_its_limit_drops_one_of_its_own_connections() -> None:
    crowd = OpenConnections(10, 2)
    other, first, second = enter(crowd, "b"), enter(crowd), enter(crowd)
    enter(crowd)
    assert [one.is_dropped for one in (other, first, second)] == [False, True, False]


def test_a_new_connection_is_refused_if_none_can_give_way() -> None:
    crowd = OpenConnections(3, 2)
    for address in ("a", "a", "b"):
        enter(crowd, address, is_waiting=False)
    assert not crowd.enter(FakeConnection("a")) and not crowd.enter(FakeConnection("c")) and len(crowd) == 3


def test_connections_without_an_address_have_only_the_total_limit() -> None:
    crowd = OpenConnections(3, 1)
    for _ in range(3):
        enter(crowd, "", is_waiting=False)
    assert not crowd.enter(FakeConnection(""))


def test_a_repeated_or_refused_leave_changes_no_count() -> None:
    crowd = OpenConnections(1, 1)
    one, refused = enter(crowd, is_waiting=False), FakeConnection()
    assert not crowd.enter(refused)
    for gone in (refused, one, one):
        crowd.leave(gone)
    enter(crowd, is_waiting=False)
    assert len(crowd) == 1


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_ipv6_client_is_counted_by_its_network(host: str, address: str) -> None:
    assert address_of(host) == address
