from dataclasses import dataclass, field

import pytest

from soorma_ai.api.server.connection_bounds import OpenConnections, address_of


@dataclass(eq=False)
class Joined:
    address: str = "a"
    is_dropped: bool = field(default=False, compare=False)

    def drop(self) -> None:
        self.is_dropped = True


def entering(crowd: OpenConnections, address: str = "a", *, is_waiting: bool = True) -> Joined:
    one = Joined(address)
    assert crowd.enter(one)
    crowd.note(one, is_waiting=is_waiting)
    return one


def test_the_connection_that_waits_longest_gives_way_to_a_new_one() -> None:
    crowd = OpenConnections(3, 3)
    busy, first, second = entering(crowd, is_waiting=False), entering(crowd, "b"), entering(crowd, "c")
    entering(crowd, "d")
    assert [one.is_dropped for one in (busy, first, second)] == [False, True, False] and len(crowd) == 3


def test_waiting_on_keeps_the_place_in_line_and_a_request_in_hand_loses_it() -> None:
    crowd = OpenConnections(2, 2)
    slow, quick = entering(crowd), entering(crowd)
    crowd.note(slow, is_waiting=True)
    entering(crowd, "b")
    assert slow.is_dropped and not quick.is_dropped
    crowd.note(quick, is_waiting=False)
    crowd.note(quick, is_waiting=True)
    entering(crowd, "c")
    assert not quick.is_dropped


def test_an_address_with_too_many_makes_room_among_its_own() -> None:
    crowd = OpenConnections(10, 2)
    other, first, second = entering(crowd, "b"), entering(crowd), entering(crowd)
    entering(crowd)
    assert [one.is_dropped for one in (other, first, second)] == [False, True, False]


def test_where_none_gives_way_a_new_connection_is_refused() -> None:
    crowd = OpenConnections(3, 2)
    for address in ("a", "a", "b"):
        entering(crowd, address, is_waiting=False)
    assert not crowd.enter(Joined("a")) and not crowd.enter(Joined("c")) and len(crowd) == 3


def test_a_proxy_without_an_address_of_its_own_has_no_bound_but_that_of_all() -> None:
    crowd = OpenConnections(3, 1)
    for _ in range(3):
        entering(crowd, "", is_waiting=False)
    assert not crowd.enter(Joined(""))


def test_who_leaves_twice_or_was_refused_changes_no_count() -> None:
    crowd = OpenConnections(1, 1)
    one, refused = entering(crowd, is_waiting=False), Joined()
    assert not crowd.enter(refused)
    for gone in (refused, one, one):
        crowd.leave(gone)
    entering(crowd, is_waiting=False)
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
def test_a_client_of_ipv6_is_counted_by_its_network(host: str, address: str) -> None:
    assert address_of(host) == address
