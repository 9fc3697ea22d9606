"""Connects a controller to a machine: over a socket (a guest's console), or through the kernel's /dev/vhci."""

from __future__ import annotations

import asyncio
import logging
import os
import pathlib
from collections.abc import Callable
from typing import Any, Protocol

from bumble.transport.common import PacketParser

from controller import Controller

_log = logging.getLogger(__name__)

#: Vendor commands (OGF 0x3F), which a guest's controller unit sends: plugged in, unplugged.
_PLUGGED = b"\x01\x01\xfc\x00"
_UNPLUGGED = b"\x01\x02\xfc\x00"

Tell = Callable[[dict[str, Any]], None]


class Wire(Protocol):
    async def open(self, controller: Controller, tell: Tell) -> None: ...


class UnixWire:
    """A listening socket. QEMU connects to it, and reconnects if this process was restarted."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    async def open(self, controller: Controller, tell: Tell) -> None:
        self.path.unlink(missing_ok=True)
        await asyncio.get_running_loop().create_unix_server(lambda: _Port(controller, tell), self.path)


class _Port(asyncio.Protocol):
    def __init__(self, controller: Controller, tell: Tell) -> None:
        self.controller = controller
        self.tell = tell
        self.transport: asyncio.WriteTransport | None = None
        self.parser = PacketParser(_Sink(self))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except Exception as problem:  # Bumble raises what it likes; noise on a wire ends nothing.
            _log.warning("%s: %r in %s", self.controller.name, problem, data[:16].hex())
            self.parser.reset()

    def connection_lost(self, problem: Exception | None) -> None:
        self.transport = None
        self.unplug()

    def plug(self) -> None:
        self.unplug()
        self.controller.attach(self)
        self.tell({"event": "attached", "name": self.controller.name})

    def unplug(self) -> None:
        if self.controller.hci_sink is self:
            self.controller.attach(None)
            self.tell({"event": "detached", "name": self.controller.name})

    def on_packet(self, packet: bytes) -> None:
        """Sends a packet from the controller to the machine."""
        if self.transport is not None:
            self.transport.write(packet)


class _Sink:
    """Receives data from the machine for the controller."""

    def __init__(self, port: _Port) -> None:
        self.port = port

    def on_packet(self, packet: bytes) -> None:
        if packet == _PLUGGED:
            self.port.plug()
        elif packet == _UNPLUGGED:
            self.port.unplug()
        elif self.port.controller.hci_sink is self.port:
            self.port.controller.on_packet(packet)


class VirtualHCI:
    """The kernel's virtual controller, which exists while its file is open."""

    async def open(self, controller: Controller, tell: Tell) -> None:
        file = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.file = file
        # Creates a controller (drivers/bluetooth/hci_vhci.c). The answer contains its number.
        os.write(file, b"\xff\x00")
        parser = PacketParser(controller)
        controller.attach(self)
        tell({"event": "attached", "name": controller.name})

        def readable() -> None:
            data = os.read(file, 4096)
            if data[:1] == b"\xff":
                tell({"event": "adapter", "name": controller.name, "number": int.from_bytes(data[2:4], "little")})
            elif data:
                parser.feed_data(data)

        asyncio.get_running_loop().add_reader(file, readable)

    def on_packet(self, packet: bytes) -> None:
        os.write(self.file, packet)
