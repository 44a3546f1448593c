"""Bounds on the open connections of a server: in all, and of each address."""

from collections import Counter, OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Protocol

IPV6_PREFIX = 64


class Member(Protocol):
    """An open connection. `address` is empty for a proxy that speaks for many."""

    @property
    def address(self) -> str: ...

    def drop(self) -> None:
        """Close at once."""
        ...


class OpenConnections:
    """The open connections: `most` in all, `most_each` of one address.

    A connection that waits for its client to send bytes gives way to a new one, the longest waiting first: among those
    of the same address when that has too many, else among all.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most = most
        self._most_each = most_each
        self._members = set[Member]()
        self._of = Counter[str]()
        self._waiting = OrderedDict[Member, None]()
        self._waiting_of: dict[str, OrderedDict[Member, None]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def enter(self, member: Member) -> bool:
        """Add a connection. False when there is no room, and none gives way."""
        address = member.address
        if address and self._of[address] >= self._most_each and not self._make_room(self._waiting_of.get(address)):
            return False
        if len(self._members) >= self._most and not self._make_room(self._waiting):
            return False
        self._members.add(member)
        self._of[address] += 1
        return True

    def leave(self, member: Member) -> None:
        """Remove a connection; without effect for one that has left or was refused."""
        if member not in self._members:
            return
        self.note(member, is_waiting=False)
        self._members.remove(member)
        self._of[member.address] -= 1
        if not self._of[member.address]:
            del self._of[member.address]

    def note(self, member: Member, *, is_waiting: bool) -> None:
        """Record whether a connection waits for its client. Waiting on keeps the place in line."""
        if member not in self._members or is_waiting == (member in self._waiting):
            return
        address = member.address
        if is_waiting:
            self._waiting[member] = None
            self._waiting_of.setdefault(address, OrderedDict())[member] = None
            return
        del self._waiting[member]
        line = self._waiting_of[address]
        del line[member]
        if not line:
            del self._waiting_of[address]

    def _make_room(self, line: OrderedDict[Member, None] | None) -> bool:
        if not line:
            return False
        member = next(iter(line))
        self.leave(member)
        member.drop()
        return True


def address_of(host: str) -> str:
    """Return the address of a client for counting: an IPv4 address, or the network of an IPv6 address; one client may
    have any number of the latter."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> (128 - IPV6_PREFIX) << (128 - IPV6_PREFIX)))
