"""Which controllers hear each other, and the links between them, with their connection events and their loss."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import places
from bumble import controller as bumble
from bumble import core, hci, link, ll
from controller import Controller

#: The signal strength that a controller reads of a peer, in dBm, unless set otherwise: a peer at arm's length.
DEFAULT_SIGNAL = -50
#: The interval in which the place of a walking machine is checked, in seconds.
STEP = 0.1

_REASONS = {
    0x08: "connectionTimeout",
    0x13: "remoteUserTerminated",
    0x15: "remotePowerOff",
    0x16: "localHostTerminated",
    0x3D: "micFailure",
}


@dataclasses.dataclass(eq=False)
class Link:
    """A connection, with those of its two ends that have not left."""

    central: Controller
    peripheral: Controller
    ends: dict[Controller, bumble.Connection]
    #: The connection interval and the supervision timeout, in seconds.
    interval: float
    timeout: float
    anchor: float
    waiting: collections.deque[tuple[Controller, Callable[[], None]]] = dataclasses.field(
        default_factory=collections.deque
    )
    event: asyncio.TimerHandle | None = None
    supervision: asyncio.TimerHandle | None = None

    def other(self, controller: Controller) -> Controller:
        return self.peripheral if controller is self.central else self.central


class Air(link.LocalLink):
    """Which controllers hear each other, and their links, connection events and losses."""

    controllers: set[Controller]  # type: ignore[assignment]

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self.tell = tell
        self.links: list[Link] = []
        self.apart: set[frozenset[str]] = set()
        self.silent: set[str] = set()
        self.signals: dict[frozenset[str], int] = {}
        self.ways: dict[str, places.Way] = {}
        self.walks: dict[str, asyncio.TimerHandle] = {}

    # Places and ranges.

    def reaches(self, one: Controller, other: Controller) -> bool:
        names = frozenset((one.name, other.name))
        if names in self.apart or names & self.silent:
            return False
        strength = self.strength(one, other)
        return strength is None or strength >= places.SENSITIVITY

    def strength(self, one: Controller, other: Controller) -> float | None:
        """The strength at the present places. None if a command has set the signal, or a place is unknown."""
        if frozenset((one.name, other.name)) in self.signals:
            return None
        ways = self.ways.get(one.name), self.ways.get(other.name)
        return None if None in ways else places.signal_between(*ways, time.monotonic())  # type: ignore[arg-type]

    def signal(self, one: Controller, other: Controller) -> int:
        strength = self.strength(one, other)
        if strength is None:
            return self.signals.get(frozenset((one.name, other.name)), DEFAULT_SIGNAL)
        return max(-127, min(20, round(strength)))

    def move(self, name: str, x: float, y: float, seconds: float) -> None:
        """Moves a machine: at once if `seconds` is 0, otherwise straight and at a constant speed from where it is."""
        if name in self.walks:
            self.walks.pop(name).cancel()
        now = time.monotonic()
        here = self.ways[name].place(now) if name in self.ways else (x, y)
        if seconds == 0:
            self.ways[name] = places.standing(x, y)
        else:
            self.ways[name] = places.Way(*here, x, y, now, seconds)
            self.tell({"event": "walk.began", "name": name, "x": here[0], "y": here[1]})
            self.step(name)
        self.world_changed()

    def step(self, name: str) -> None:
        """Checks a walking machine, which may have come into range of another or left it."""
        way = self.ways[name]
        left = way.began + way.seconds - time.monotonic()
        if left <= 0:
            self.walks.pop(name, None)
            self.tell({"event": "walk.ended", "name": name, "x": way.to_x, "y": way.to_y})
        else:
            self.walks[name] = asyncio.get_running_loop().call_later(min(left, STEP), self.step, name)
        self.world_changed()

    def set_range(self, one: str, other: str, on: bool) -> None:
        (self.apart.discard if on else self.apart.add)(frozenset((one, other)))
        self.world_changed()

    def set_power(self, name: str, on: bool) -> None:
        (self.silent.discard if on else self.silent.add)(name)
        self.world_changed()

    def world_changed(self) -> None:
        for each in list(self.links):
            self.supervise(each)
        self.listeners_changed()

    # Advertisements.

    def is_heard(self, sender: Controller) -> bool:
        return any(each.listens and self.reaches(sender, each) for each in self.controllers if each is not sender)

    def listeners_changed(self) -> None:
        for each in self.controllers:
            each.advertiser.resume()

    def advertise(self, sender: Controller) -> None:
        for each in list(self.controllers):
            if each is not sender and each.listens and sender.advertiser.enabled and self.reaches(sender, each):
                each.hear(sender)

    # Links.

    def connect(self, central: Controller, peripheral: Controller, address: hci.Address) -> None:
        """The central heard the peripheral that it connects to. From here on both have the link."""
        wanted = central.pending_le_connection
        assert isinstance(wanted, hci.HCI_LE_Create_Connection_Command)
        if address in central.le_connections:
            return
        own = central.public_address if wanted.own_address_type in (0, 2) else central.random_address
        if own in peripheral.le_connections:
            # The peripheral still has an earlier link with this central, until its timeout.
            return
        central.pending_le_connection = None
        peripheral.advertiser.stop()
        parameters = (wanted.connection_interval_max, wanted.max_latency, wanted.supervision_timeout)
        ends = {
            central: central.open_connection(hci.Role.CENTRAL, own, address, *parameters),
            peripheral: peripheral.open_connection(hci.Role.PERIPHERAL, address, own, *parameters),
        }
        interval, timeout = parameters[0] * 0.00125, parameters[2] * 0.01
        self.links.append(Link(central, peripheral, ends, interval, timeout, time.monotonic()))
        self.tell({"event": "link.up", "central": central.name, "peripheral": peripheral.name})

    def find(self, controller: Controller, connection: bumble.Connection) -> Link | None:
        return next((each for each in self.links if each.ends.get(controller) is connection), None)

    def peer(self, controller: Controller, connection: bumble.Connection) -> Controller | None:
        found = self.find(controller, connection)
        return found.other(controller) if found else None

    def supervise(self, each: Link) -> None:
        """A link is lost after its supervision timeout if its ends can't hear each other (Vol 6, Part B, 4.5.2)."""
        whole = len(each.ends) == 2 and self.reaches(each.central, each.peripheral)
        if whole and each.supervision is not None:
            each.supervision.cancel()
            each.supervision = None
            self.schedule(each)
        elif not whole and each.ends and each.supervision is None:
            each.supervision = asyncio.get_running_loop().call_later(each.timeout, self.lose, each)

    def lose(self, each: Link) -> None:
        each.waiting.clear()
        for controller, connection in list(each.ends.items()):
            controller.on_le_disconnected(connection, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)

    def link_left(self, controller: Controller, connection: bumble.Connection, reason: int) -> bool:
        """One end leaves. Returns whether it is the first: then its host requested it, or the link was lost."""
        found = self.find(controller, connection)
        if found is None:
            return False
        first = len(found.ends) == 2
        del found.ends[controller]
        if first:
            self.tell_down(found, reason)
        if found.ends:
            # Packets sent before still arrive, including the notice of the end. Otherwise the other end notices by
            # its timeout.
            self.supervise(found)
        else:
            self.end(found)
        return first

    def link_updated(self, controller: Controller, connection: bumble.Connection, interval: int, timeout: int) -> None:
        found = self.find(controller, connection)
        if found is not None:
            found.interval, found.timeout = interval * 0.00125, timeout * 0.01

    def forget(self, controller: Controller) -> None:
        """A controller was reset or unplugged: its ends of links disappear without notice."""
        for each in list(self.links):
            if controller in each.ends:
                if len(each.ends) == 2:
                    self.tell_down(each, None)
                del each.ends[controller]
                each.waiting = collections.deque(entry for entry in each.waiting if entry[0] is not controller)
                if each.ends:
                    self.supervise(each)
                else:
                    self.end(each)

    def end(self, each: Link) -> None:
        for timer in (each.event, each.supervision):
            if timer is not None:
                timer.cancel()
        self.links.remove(each)

    def tell_down(self, each: Link, reason: int | None) -> None:
        name = "reset" if reason is None else _REASONS.get(reason, f"0x{reason:02x}")
        self.tell(
            {"event": "link.down", "central": each.central.name, "peripheral": each.peripheral.name, "reason": name}
        )

    # Packets on a link are sent in order, at connection events, and are lost only with the link.

    def send(self, sender: Controller, connection: bumble.Connection, deliver: Callable[[], None]) -> None:
        found = self.find(sender, connection)
        if found is not None:
            found.waiting.append((sender, deliver))
            self.schedule(found)

    def schedule(self, each: Link) -> None:
        if each.event is not None or not each.waiting or not self.reaches(each.central, each.peripheral):
            return
        now = time.monotonic()
        turns = int((now - each.anchor) / each.interval) + 1
        each.event = asyncio.get_running_loop().call_later(each.anchor + turns * each.interval - now, self.meet, each)

    def meet(self, each: Link) -> None:
        each.event = None
        if each not in self.links or not self.reaches(each.central, each.peripheral):
            return
        for _ in range(len(each.waiting)):
            if not each.waiting:
                break
            sender, deliver = each.waiting.popleft()
            if each.other(sender) in each.ends:
                deliver()
        self.schedule(each)

    def send_acl_data(  # type: ignore[override]
        self, sender: Controller, destination: hci.Address, transport: core.PhysicalTransport, data: bytes
    ) -> None:
        connection = sender.le_connections.get(destination)
        peer = self.peer(sender, connection) if connection else None
        if connection and peer:
            own = connection.self_address
            self.send(sender, connection, lambda: peer.on_link_acl_data(own, transport, data))

    def send_ll_control_pdu(
        self, sender_address: hci.Address, receiver_address: hci.Address, packet: ll.ControlPdu
    ) -> None:
        for sender in self.controllers:
            connection = sender.le_connections.get(receiver_address)
            if connection is not None and connection.self_address == sender_address:
                peer = self.peer(sender, connection)
                if peer is not None:
                    self.send(sender, connection, lambda: peer.on_ll_control_pdu(sender_address, packet))
                return
