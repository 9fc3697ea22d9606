"""Accepts pairings without numbers, for every device of every adapter.

bluetoothd has one default agent for all its adapters, and asks it for both ends of a pairing within one machine. Each
of the two latchkeyds answers only for its own adapter, so neither can be that agent.
"""

from __future__ import annotations

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

PATH = "/lab/agent"


class Agent(dbus.service.Object):
    @dbus.service.method("org.bluez.Agent1", in_signature="o")
    def RequestAuthorization(self, device: str) -> None:
        print(f"yes to {device}", flush=True)

    @dbus.service.method("org.bluez.Agent1")
    def Cancel(self) -> None: ...

    @dbus.service.method("org.bluez.Agent1")
    def Release(self) -> None: ...


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
agent = Agent(bus, PATH)
manager = dbus.Interface(bus.get_object("org.bluez", "/org/bluez"), "org.bluez.AgentManager1")
manager.RegisterAgent(PATH, "NoInputNoOutput")
manager.RequestDefaultAgent(PATH)
print("ready", flush=True)
GLib.MainLoop().run()
