"""An app of the phone's latchkeyd that uses the D-Bus interface directly."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dbus
import dbus.mainloop.glib
import story
from answers import APP, note
from gi.repository import GLib

CENTRAL, PERIPHERAL = 1, 2
#: docs/lock-protocol.md, "The service"
LOCK_SERVICE = "B126F569-34D9-4140-A7AD-42CD26D0FF85"


class App:
    """One app of the phone's latchkeyd, through its D-Bus interface."""

    def __init__(self) -> None:
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        self.loop = GLib.MainContext.default()
        self.events: list[tuple[str, tuple[Any, ...]]] = []
        self.follows_bluetooth = False
        self.operation = 0
        self.connect()

    def connect(self) -> None:
        self.bus = dbus.SystemBus(private=True)
        self.bus.set_exit_on_disconnect(False)
        if self.follows_bluetooth:
            self.follow_bluetooth()
        self.bus.add_signal_receiver(
            lambda *arguments, member: self.events.append((member, arguments)),
            dbus_interface="org.latchkey.System1", member_keyword="member",
        )  # fmt: skip
        self.system = dbus.Interface(
            self.bus.get_object("org.latchkey.System1", "/org/latchkey/System1", introspect=False),
            "org.latchkey.System1",
        )

    def call(self, name: str, *arguments: Any) -> Any:
        method = self.system.get_dbus_method(name)
        try:
            return method(*arguments, timeout=120)
        except dbus.DBusException as problem:
            if problem.get_dbus_name() != "org.latchkey.Error.NotAttached":
                raise
        # The system has just launched the app for an event. The launched program is /bin/true, and the system takes
        # its exit for ours. A latchkeyd that has not noticed that our connection is over needs a new one.
        self.bus.close()
        self.connect()
        self.attach()
        return self.system.get_dbus_method(name)(*arguments, timeout=120)

    def wait(self, *names: str, seconds: float = 180, operation: int | None = None) -> tuple[Any, ...]:
        """Returns the first event, old or new, with one of these names; with `operation`, the end of this operation."""
        deadline = time.monotonic() + seconds
        while True:
            for index, (name, arguments) in enumerate(self.events):
                if name in names and operation in (None, arguments[3] if len(arguments) > 3 else None):
                    self.events = [event for event in self.events[:index] if event[0] == "Disconnected"] + self.events[index + 1 :]
                    return (name, *arguments)
            if not self.await_more(deadline):
                raise story.Broken(f"none of {names} within {seconds:.0f} s; there were {[name for name, _ in self.events]}")

    def await_more(self, deadline: float) -> bool:
        """Blocks until a message arrives on the bus. Returns whether one came before the deadline."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        timer = GLib.Timeout(int(left * 1000) + 1)
        timer.set_callback(lambda *_: GLib.SOURCE_REMOVE)
        timer.attach(self.loop)
        self.loop.iteration(True)
        timer.destroy()
        return True

    def was_dropped(self) -> bool:
        """Whether there is an unconsumed event which says that the link is lost."""
        while self.loop.iteration(False):
            pass
        dropped = any(name == "Disconnected" and arguments[2] == self.peer for name, arguments in self.events)
        if dropped:
            self.events.clear()
            note("dropped")
        return dropped

    def attach(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self.call("Attach", dbus.UInt32(1), APP, dbus.Array([], signature="t"))
                break
            except dbus.DBusException as problem:
                # The launched program is just ending, or our earlier connection is.
                passing = ("org.latchkey.Error.NotThatApp", "org.latchkey.Error.AlreadyAttached")
                if problem.get_dbus_name() not in passing or time.monotonic() > deadline:
                    raise
            self.await_more(time.monotonic() + 1)
        self.call("CreateManager", dbus.UInt32(CENTRAL), "central", ["promises.central"])
        self.call("CreateManager", dbus.UInt32(PERIPHERAL), "peripheral", ["promises.peripheral"])

    def perform(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        self.operation += 1
        self.call(name, dbus.UInt32(CENTRAL), self.peer, dbus.UInt64(self.operation), *arguments)
        return self.wait(
            "OperationFailed", "ServicesDiscovered", "CharacteristicsDiscovered", "NotifyingChanged", seconds=60,
            operation=self.operation,
        )  # fmt: skip

    def discover(self) -> None:
        """Finds the door, which is not known yet."""
        nothing = dbus.Array([], signature="as")
        scan = dbus.Struct((nothing, dbus.Boolean(False), dbus.Array([], signature="s")))
        self.call("Scan", dbus.UInt32(CENTRAL), scan)
        self.peer = str(self.wait("Discovered")[3][0])
        self.call("StopScan", dbus.UInt32(CENTRAL))

    def find(self) -> None:
        """Finds the door, to which the agent is connected."""
        # bluetoothd announces a link to all its clients at once. A request made after that announcement reaches
        # latchkeyd after it.
        self.follow_bluetooth()

        def is_found() -> bool:
            services = dbus.Array([LOCK_SERVICE], signature="s")
            found = self.call("RetrieveConnectedPeripherals", dbus.UInt32(CENTRAL), services)
            self.peer = str(found[0][0]) if found else ""
            return bool(found)

        self.await_that(is_found, 240, "the phone does not connect to the door")

    def follow_bluetooth(self) -> None:
        """From now on `await_more` returns at each change of one of bluetoothd's devices."""
        self.follows_bluetooth = True
        self.bus.add_signal_receiver(
            lambda *_: None, signal_name="PropertiesChanged", dbus_interface="org.freedesktop.DBus.Properties",
            arg0="org.bluez.Device1",
        )  # fmt: skip

    def await_that(self, holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Checks again whenever a message arrives on the bus."""
        deadline = time.monotonic() + seconds
        while not holds():
            if not self.await_more(deadline):
                raise story.Broken(f"{otherwise} within {seconds:.0f} s")

    def is_bonded(self, path: str) -> bool:
        device = self.bus.get_object("org.bluez", path, introspect=False)
        try:
            return bool(device.Get("org.bluez.Device1", "Bonded", dbus_interface=dbus.PROPERTIES_IFACE))
        except dbus.DBusException:
            return False

    def subscribable(self) -> int | None:
        """The handle of a characteristic of the lock that notifies, or None if the link was just lost."""
        done = self.perform("DiscoverServices", dbus.Array([], signature="as"))
        for service in done[-1] if done[0] == "ServicesDiscovered" else []:
            done = self.perform("DiscoverCharacteristics", dbus.Array([], signature="as"), dbus.UInt16(service[0]))
            for characteristic in done[-1] if done[0] == "CharacteristicsDiscovered" else []:
                if int(characteristic[2]) & 0x10:
                    return int(characteristic[0])
        return None
