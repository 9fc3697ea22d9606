"""What runs in a guest whose power is cut: after each boot it looks whether everything that was answered before is there,
and then asks for more until the power goes. The guest is a phone and a door at once, as in ../warp.

Each line of /share/log is on the host when `write` returns: `ask` before something is asked for, `ok` when it was
answered, and what was found after a boot.
"""

from __future__ import annotations

import glob
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from typing import Any

import dbus
import dbus.mainloop.glib
import story
from gi.repository import GLib

APP = "org.latchkey.promises"
#: What was on the disk before the phone's latchkeyd and the door's began: a link that was up ended with the power, and so
#: does a request for it as soon as latchkeyd runs.
BEFORE = pathlib.Path("/run/promises")
CENTRAL, PERIPHERAL = 1, 2
PROGRAMS = story.SHARE / "programs"
#: The door as bluetoothd knows it, and the phone.
BONDS = (story.DEVICE, "/org/bluez/hci0/dev_C0_DE_00_00_00_02")
LOG = os.open(story.SHARE / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(kind: str, **what: Any) -> None:
    os.write(LOG, f"{kind} {json.dumps(what, sort_keys=True)}\n".encode())


class Refused(Exception):
    """Answered with an error: nothing was promised."""


class Expected:
    """What was promised: everything that was answered, and perhaps what was asked for last."""

    def __init__(self, log: str) -> None:
        self.wanted: bool | None = False
        self.notifying: bool | None = False
        self.services: set[str] = set()
        self.records = 0
        self.counts: dict[str, int] = {}
        self.pending: dict[str, Any] | None = None
        for line in log.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "ask":
                self.pending = json.loads(rest)
            elif kind == "ok":
                what = json.loads(rest)
                self.apply(what)
                self.counts[what["do"]] = self.counts.get(what["do"], 0) + 1
                self.pending = None
            elif kind == "failed":
                # It may have been stored before it was found to be impossible.
                self.pending, self.notifying = None, None
            elif kind == "dropped":
                # A link that is lost ends the request, as it does on iOS; what is stored of it says which came first.
                self.wanted, self.notifying = None, None
            elif kind == "found":
                found = json.loads(rest)
                # From here on it counts what is there, be it what was asked for last.
                self.wanted, self.notifying = found["wanted"], found["notifying"]
                self.services, self.records = set(found["services"]), found["records"]
                self.pending = None

    def apply(self, what: dict[str, Any]) -> None:
        match what["do"]:
            case "connect":
                self.wanted = True
            case "cancel":
                self.wanted = self.notifying = False
            case "subscribe" | "unsubscribe":
                self.notifying = what["do"] == "subscribe"
            case "publish":
                self.services.add(what["service"])
            case "withdraw":
                self.services.discard(what["service"])
            case "bolt":
                self.records = max(self.records, what["records"])

    def state(self) -> dict[str, Any]:
        return {
            "wanted": self.wanted, "notifying": self.notifying, "services": sorted(self.services),
            "records": self.records,
        }  # fmt: skip

    def allows(self, found: dict[str, Any]) -> list[str]:
        """What is missing or too much; nothing: all promises are kept."""
        before = self.state()
        after = before
        if self.pending is not None and self.pending["do"] != "bolt":
            self.apply(self.pending)
            after = self.state()
        wrong = [
            key
            for key in ("wanted", "notifying", "services")
            if found[key] not in (before[key], after[key]) and before[key] is not None
        ]
        # A record may be there whose answer was not given any more.
        return wrong + (["records"] if found["records"] < before["records"] else [])


def stored(phone: str = "/var/lib/latchkey", door: str = "/var/lib/door") -> dict[str, Any]:
    """What the phone's store holds for our app, from a copy of it, and what the lock's log does."""
    with tempfile.TemporaryDirectory() as folder:
        for path in glob.glob(phone + "/state.sqlite*"):
            if not path.endswith("-shm"):
                shutil.copy(path, folder)
        database = sqlite3.connect(folder + "/state.sqlite")
        try:
            rows = [(kind, json.loads(value)) for kind, value in database.execute("SELECT kind, value FROM record")]
        except sqlite3.Error as problem:
            print(f"the store: {problem}")
            rows = []
        database.close()
    wanted = notifying = False
    services = []
    for kind, record in rows:
        if kind == "peripheral" and record["manager"]["app"] == APP:
            wanted = wanted or record["isWanted"]
            # A subscription is of a connection that is wanted.
            notifying = record["isWanted"] and any(
                characteristic["isNotifying"]
                for service in record.get("services") or []
                for characteristic in service.get("characteristics") or []
            )
        if kind == "service" and record["manager"]["app"] == APP:
            services.append(record["definition"]["identifier"].lower())
    logs = glob.glob(door + "/apps/*/**/records.log", recursive=True)
    records = (os.path.getsize(logs[0]) - 18) // 68 if logs else 0
    return {"wanted": wanted, "notifying": notifying, "services": sorted(services), "records": records}


class App:
    """One app of the phone's latchkeyd, as its D-Bus interface has it."""

    def __init__(self) -> None:
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        self.bus = dbus.SystemBus(private=True)
        self.bus.set_exit_on_disconnect(False)
        self.loop = GLib.MainContext.default()
        self.events: list[tuple[str, tuple[Any, ...]]] = []
        self.bus.add_signal_receiver(
            lambda *arguments, member: self.events.append((member, arguments)),
            dbus_interface="org.latchkey.System1", member_keyword="member",
        )  # fmt: skip
        self.system = dbus.Interface(
            self.bus.get_object("org.latchkey.System1", "/org/latchkey/System1", introspect=False),
            "org.latchkey.System1",
        )
        self.operation = 0

    def call(self, name: str, *arguments: Any) -> Any:
        method = self.system.get_dbus_method(name)
        try:
            return method(*arguments, timeout=120)
        except dbus.DBusException as problem:
            if problem.get_dbus_name() != "org.latchkey.Error.NotAttached":
                raise
        # The system has just started the app for what happened meanwhile: /bin/true, whose end it takes for ours.
        self.attach()
        return method(*arguments, timeout=120)

    def wait(self, *names: str, seconds: float = 180, operation: int | None = None) -> tuple[Any, ...]:
        """The first event of one of these names, from now on or not looked at yet; of an operation, its end."""
        deadline = time.monotonic() + seconds
        while True:
            for index, (name, arguments) in enumerate(self.events):
                if name in names and operation in (None, arguments[3] if len(arguments) > 3 else None):
                    self.events = [event for event in self.events[:index] if event[0] == "Disconnected"] + self.events[index + 1 :]
                    return (name, *arguments)
            if not self.await_more(deadline):
                raise story.Broken(f"none of {names} within {seconds:.0f} s; there were {[name for name, _ in self.events]}")

    def await_more(self, deadline: float) -> bool:
        """Blocks until the bus brings something; returns whether that was before the deadline."""
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
        """Whether the system has told, and nobody looked at it yet, that the link is lost."""
        while self.loop.iteration(False):
            pass
        dropped = any(name == "Disconnected" and arguments[2] == self.peer for name, arguments in self.events)
        if dropped:
            self.events.clear()
            note("dropped")
        return dropped

    def attach(self) -> None:
        self.call("Attach", dbus.UInt32(1), APP, dbus.Array([], signature="t"))
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
        """The door, which is not known yet."""
        nothing = dbus.Array([], signature="as")
        scan = dbus.Struct((nothing, dbus.Boolean(False), dbus.Array([], signature="s")))
        self.call("Scan", dbus.UInt32(CENTRAL), scan)
        self.peer = str(self.wait("Discovered")[3][0])
        self.call("StopScan", dbus.UInt32(CENTRAL))

    def find(self) -> None:
        """The door, which the agent is connected to."""
        # bluetoothd tells everybody at once of a link: whoever asks the system then asks behind that word.
        self.follow_bluetooth()

        def is_found() -> bool:
            found = self.call("RetrieveConnectedPeripherals", dbus.UInt32(CENTRAL), dbus.Array([], signature="s"))
            self.peer = str(found[0][0]) if found else ""
            return bool(found)

        self.await_that(is_found, 240, "the phone does not connect to the door")

    def follow_bluetooth(self) -> None:
        """From now on `await_more` returns at each change of a device of bluetoothd's."""
        self.bus.add_signal_receiver(
            lambda *_: None, signal_name="PropertiesChanged", dbus_interface="org.freedesktop.DBus.Properties",
            arg0="org.bluez.Device1",
        )  # fmt: skip

    def await_that(self, holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Looks again whenever the bus has brought something."""
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
        """The handle of a characteristic of the lock's that notifies; none, where the link has just gone."""
        done = self.perform("DiscoverServices", dbus.Array([], signature="as"))
        for service in done[-1] if done[0] == "ServicesDiscovered" else []:
            done = self.perform("DiscoverCharacteristics", dbus.Array([], signature="as"), dbus.UInt16(service[0]))
            for characteristic in done[-1] if done[0] == "CharacteristicsDiscovered" else []:
                if int(characteristic[2]) & 0x10:
                    return int(characteristic[0])
        return None


def prepare() -> None:
    """The phone and the door, set up once."""
    for unit, state in (("latchkeyd", "/var/lib/latchkey"), ("door", "/var/lib/door")):
        folder = pathlib.Path(f"/etc/systemd/system/{unit}.service.d")
        folder.mkdir(parents=True)
        copy = f"mkdir -p {BEFORE} && [ -e {BEFORE}/{unit} ] || cp -a {state} {BEFORE}/{unit} || :"
        (folder / "before.conf").write_text(f"[Service]\nExecStartPre=+/bin/sh -c '{copy}'\n")
        # An emulated processor on a busy host.
        (folder / "slow.conf").write_text("[Service]\nWatchdogSec=300s\nTimeoutStopSec=120s\n")
    if PROGRAMS.is_dir():
        prepare_from_programs()
    story.prepare()
    if PROGRAMS.is_dir():
        # All apps came, and the phone is no lock.
        shutil.rmtree(f"/usr/share/latchkey/apps/{story.LOCK}")
    apps = pathlib.Path("/usr/share/latchkey/apps") / APP
    apps.mkdir(parents=True)
    (apps / "Info.plist").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>'
        f"<key>CFBundleIdentifier</key><string>{APP}</string><key>CFBundleExecutable</key><string>/bin/true</string>"
        "<key>UIBackgroundModes</key><array><string>bluetooth-central</string><string>bluetooth-peripheral</string>"
        "</array></dict></plist>\n"
    )
    story.run("systemctl", "restart", "latchkeyd.service")


def prepare_from_programs() -> None:
    """Programs that were built without packages, and what the packages would install with them."""
    home = pathlib.Path("/usr/libexec/latchkey")
    shutil.copytree(PROGRAMS, home)
    story.run("bash", str(story.SHARE / "scripts/install-config.sh"), "/")
    story.run("systemd-sysusers")
    # It knows the users of its policy from when it reads that.
    story.run("systemctl", "reload", "dbus.service")
    story.run("systemd-tmpfiles", "--create")
    libraries = "[Service]\nEnvironment=LD_LIBRARY_PATH=/usr/libexec/latchkey/lib\n"
    for unit in ("latchkeyd", "latchkey-agent", "door"):
        folder = pathlib.Path(f"/etc/systemd/system/{unit}.service.d")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "swift.conf").write_text(libraries)
    command = pathlib.Path("/usr/bin/latchkey")
    command.write_text('#!/bin/sh\nLD_LIBRARY_PATH=/usr/libexec/latchkey/lib exec /usr/libexec/latchkey/latchkey "$@"\n')
    command.chmod(0o755)
    pathlib.Path("/opt/door").symlink_to("/")
    installed = story.run

    def run(*words: str, allow_failure: bool = False) -> str:
        return "" if words[0] == "dpkg" else installed(*words, allow_failure=allow_failure)

    story.run = run
    (story.SHARE / "packages").mkdir(exist_ok=True)
    for package in ("latchkeyd", "latchkey-lock", "latchkey-agent", "latchkey"):
        (story.SHARE / "packages" / f"{package}_0.deb").touch()


def pair(app: App, events: story.Events) -> None:
    """The agent meets its lock; bonds are on the disk before any power is cut."""
    agent = subprocess.Popen(["python3", str(story.HOME / "pairing_agent.py")], stdout=subprocess.PIPE, text=True)
    assert agent.stdout is not None
    if agent.stdout.readline().strip() != "ready":
        raise story.Broken("the pairing agent does not start")
    story.run("latchkey", "open", story.AGENT)
    events.wait("subscribed", 300)
    app.follow_bluetooth()
    for path in BONDS:
        app.await_that(lambda: app.is_bonded(path), 120, f"{path} is not bonded")
    agent.terminate()
    agent.wait()
    os.sync()


def start() -> None:
    story.run("modprobe", "hci_vhci")
    story.run("systemctl", "start", "latchkey-air.service")
    story.run("systemctl", "restart", "bluetooth.service")
    story.run("systemctl", "start", "latchkeyd.service", "door.service")


def lock_socket(door: str = "/var/lib/door") -> str:
    """Where the lock's hardware is. Whoever has a journal waits for `lock.started` before, and finds it at the first look."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = glob.glob(door + "/apps/*/**/hardware.sock", recursive=True)
        if found:
            try:
                story.ask(found[0], {"status": True})
                return found[0]
            except OSError:
                pass
        time.sleep(0.2)
    raise story.Broken("the lock does not start")


def answered(what: str) -> None:
    """Called when something was answered; the power may go right now."""


def do(what: str, work: Any, **more: Any) -> None:
    note("ask", do=what, **more)
    found = work() or {}
    note("ok", do=what, **more, **found)
    answered(what)


def ask_for_more(app: App, expected: Expected, bolt: str) -> None:
    """Anything, in any order, as fast as it is answered, until the power goes."""
    characteristic: int | None = None
    position = "unlocked"
    while True:
        if app.was_dropped():
            expected.wanted = expected.notifying = False
        choices = ["connect" if not expected.wanted else "cancel", "publish", "bolt"]
        if len(expected.services) > 8:
            choices.append("withdraw")
        if expected.wanted:
            choices += ["subscribe", "subscribe"]
        choice = random.choice(choices)
        note("turn", choice=choice)
        match choice:
            case "connect":
                options = tuple(dbus.Boolean(False) for _ in range(4)) + (0.0,)
                do("connect", lambda: app.call("Connect", dbus.UInt32(CENTRAL), app.peer, dbus.Struct(options)))
                expected.wanted = True
                app.wait("Connected")
            case "cancel":
                do("cancel", lambda: app.call("CancelConnection", dbus.UInt32(CENTRAL), app.peer))
                expected.wanted = expected.notifying = False
                app.wait("Disconnected")
            case "subscribe":
                if characteristic is None:
                    characteristic = app.subscribable()
                    if characteristic is None:
                        # The link has just gone; there are other things to ask for.
                        continue
                on = not expected.notifying
                handle = dbus.UInt16(characteristic)

                def subscribe() -> None:
                    done = app.perform("SetNotify", dbus.Boolean(on), handle)
                    if done[0] != "NotifyingChanged":
                        raise Refused(f"SetNotify ended in {done[0]}")

                try:
                    do("subscribe" if on else "unsubscribe", subscribe)
                    expected.notifying = on
                except Refused as problem:
                    # The other side has just begun anew, and the link with it.
                    note("failed", problem=str(problem))
            case "publish":
                service = str(uuid.uuid4())
                definition = dbus.Struct(
                    (service, str(uuid.uuid4()), True, dbus.Array([], signature="s"),
                     dbus.Array([], signature="(ssqyaaya(say))"))
                )  # fmt: skip
                do("publish", lambda: app.call("AddService", dbus.UInt32(PERIPHERAL), definition), service=service)
                expected.services.add(service)
            case "withdraw":
                service = random.choice(sorted(expected.services))
                do("withdraw", lambda: app.call("RemoveService", dbus.UInt32(PERIPHERAL), service), service=service)
                expected.services.discard(service)
            case "bolt":
                do("bolt", lambda: {"records": int(story.ask(bolt, {"turn": position})["records"])})
                position = "locked" if position == "unlocked" else "unlocked"


def main() -> int:
    log = (story.SHARE / "log").read_text()
    is_first = "found " not in log
    expected = Expected(log)
    try:
        if is_first:
            prepare()
        else:
            start()
        events = story.Events()
        events.wait("lock.started", 300)
        bolt = lock_socket()
        # The door's store and the lock's log are open by now: who refuses to start is found out here.
        for unit in ("latchkeyd.service", "door.service"):
            if story.run("systemctl", "is-active", unit, allow_failure=True) != "active":
                raise story.Broken(f"{unit} does not run after the power cut")
        found = stored() if is_first else stored(f"{BEFORE}/latchkeyd", f"{BEFORE}/door")
        wrong = [] if is_first else expected.allows(found)
        status = story.run("latchkey", "status", allow_failure=True)
        if wrong:
            note("BROKEN", wrong=wrong, expected=expected.state(), found=found, status=status)
        app = App()
        app.attach()
        if is_first:
            pair(app, events)
        elif not wrong:
            restored = app.wait("WillRestorePeripheral", "StateChanged") if expected.services else ("", "")
            note("kept", restored=restored[0], status=status.splitlines())
        note("found", **found)
        if (story.SHARE / "last").exists():
            note("end")
            return 0
        app.find()
        note("ready")
        ask_for_more(app, Expected((story.SHARE / "log").read_text()), bolt)
    except (story.Broken, OSError, dbus.DBusException, sqlite3.Error) as problem:
        units = ("latchkeyd.service", "door.service", "bluetooth.service")
        journals = [
            story.run("journalctl", "--boot", "--no-pager", "--lines=20", "--output=cat", "--unit", unit, allow_failure=True)
            for unit in units
        ]
        note("BROKEN", problem=str(problem), journals=journals)
    return 1


if __name__ == "__main__":
    sys.exit(main())
