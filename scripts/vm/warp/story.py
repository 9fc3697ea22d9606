"""Five days away, by a real kernel's clock. Runs inside the guest, which has both controllers.

The phone runs the packages that a user installs. The door is a second latchkeyd, with the first adapter and a
separate bus for its apps. Everything waits for events of the journal; the only sleeps are the hours and days of the
story.

It does what story.yaml says, and records each step. It does not check promises: the host does that with the journals
that this leaves behind (`latchkey judge`). It only checks what no scenario covers, which is the machine.
"""

from __future__ import annotations

import glob
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

# Next to this folder in the sources, and in air/ on the guest's share.
sys.path += [str(pathlib.Path(__file__).parent / "air"), str(pathlib.Path(__file__).parent.parent)]
import recorded  # noqa: E402

SHARE = pathlib.Path(os.environ.get("LATCHKEY_SHARE", "/share"))
HOME = pathlib.Path("/opt/latchkey-warp")
AGENT = "org.latchkey.agent"
LOCK = "org.latchkey.lock"
DOOR_ADDRESS = "C0:DE:00:00:00:01"
PHONE_ADDRESS = "C0:DE:00:00:00:02"
DEVICE = "/org/bluez/hci1/dev_C0_DE_00_00_00_01"
DAY = 86400
UNITS = ("bluetooth.service", "latchkeyd.service", "door.service", "latchkey-air.service", "dbus.service")


#: The journals of the two machines, from a guest that is both. The phone's also contains the story and the air.
JOURNALS = {
    "door": ["_SYSTEMD_UNIT=door.service", "_PID=1 UNIT=door.service"],
    "phone": [
        "_SYSTEMD_UNIT=latchkeyd.service", "_SYSTEMD_UNIT=latchkey-agent.service",
        "_PID=1 UNIT=latchkeyd.service", "_PID=1 UNIT=bluetooth.service", "_PID=1 UNIT=dbus.service",
        f"SYSLOG_IDENTIFIER={recorded.ORCHESTRATOR}", f"SYSLOG_IDENTIFIER={recorded.AIR}",
    ],
}  # fmt: skip
#: The phone's place at home, and while its owner is away, in metres from the door.
HOME_X, AWAY_X = 1.0, 200.0
#: The duration of the owner's walk to the door, in seconds, at a usual pace.
WALK_SECONDS = 140


class Broken(Exception):
    """The story can't continue. The message says what was missing."""


def say(text: str) -> None:
    print(f"{time.strftime('%F %T', time.gmtime())} {text}", flush=True)


def run(*command: str, allow_failure: bool = False) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 and not allow_failure:
        raise Broken(f"{' '.join(command)} failed ({done.returncode}): {done.stdout[-2000:]}")
    return done.stdout.strip()


def boot_clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Events:
    """The events of Latchkey's processes in the journal, in its order."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["journalctl", "--follow", "--boot", "--lines=all", "--output=json", "--all"], stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.file = self.process.stdout.fileno()
        self.rest = b""
        self.all: list[dict[str, Any]] = []
        self.taken = 0

    def read(self, seconds: float) -> bool:
        """Reads new events, and waits at most this many seconds for one."""
        if not select.select([self.file], [], [], seconds)[0]:
            return False
        self.rest += os.read(self.file, 1 << 20)
        *lines, self.rest = self.rest.split(b"\n")
        for line in lines:
            entry = json.loads(line)
            if entry.get("LATCHKEY_EVENT"):
                self.all.append(entry)
                show(entry)
        return True

    def wait(self, name: str, within: float, **fields: str) -> dict[str, Any]:
        """Returns the next such event after those that were already returned."""
        end = time.monotonic() + within
        while True:
            for index in range(self.taken, len(self.all)):
                entry = self.all[index]
                if entry["LATCHKEY_EVENT"] == name and all(field(entry, k) == v for k, v in fields.items()):
                    self.taken = index + 1
                    return entry
            left = end - time.monotonic()
            if left <= 0:
                raise Broken(f"waited {within:.0f} s in vain for {name} {fields or ''}")
            self.read(left)


def field(entry: dict[str, Any], name: str) -> str | None:
    return entry.get("LATCHKEY_FIELD_" + name.upper())


def when(entry: dict[str, Any]) -> float:
    """The event's time by the wall clock, in seconds, in the guest."""
    return int(entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry["__REALTIME_TIMESTAMP"]) / 1e6


def show(entry: dict[str, Any]) -> None:
    prefix = "LATCHKEY_FIELD_"
    fields = " ".join(f"{k.removeprefix(prefix).lower()}={v}" for k, v in entry.items() if k.startswith(prefix))
    moment = time.strftime("%F %T", time.gmtime(when(entry)))
    print(f"{moment}   {entry.get('SYSLOG_IDENTIFIER', '?'):15} {entry['LATCHKEY_EVENT']:22} {fields[:140]}", flush=True)


def ask(path: str, message: dict[str, Any]) -> dict[str, Any]:
    """Sends a line of JSON to a socket, and returns the line that answers it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(json.dumps(message).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            piece = connection.recv(65536)
            if not piece:
                raise Broken(f"{path} hung up on {message}")
            answer += piece
    reply = json.loads(answer)
    if reply.get("error") or reply.get("ok") is False:
        raise Broken(f"{message} was refused: {reply}")
    return reply


def air(command: str, **fields: Any) -> dict[str, Any]:
    return ask("/run/latchkey-air", {"id": 1, "command": command, **fields})


def device_is(name: str) -> bool:
    answer = run("busctl", "get-property", "org.bluez", DEVICE, "org.bluez.Device1", name, allow_failure=True)
    return answer == "b true"


def unit_processes() -> dict[str, str]:
    """Each unit with its main process and its number of restarts."""
    return {unit: run("systemctl", "show", "--property=MainPID,NRestarts", unit) for unit in UNITS}


def wakes() -> dict[str, int]:
    """How often each process has slept so far, by its name and number."""
    counts = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/task/*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        counts[f"{lines['Name'].strip()} {status.parts[2]}/{status.parts[4]}"] = int(lines["voluntary_ctxt_switches"])
    return counts


def prepare() -> None:
    say("installing the packages")
    # The kernel's memory housekeeping wakes the machine twice a second, which would take most of the time of the five
    # days.
    run("sysctl", "--quiet", "--write", "vm.compaction_proactiveness=0", "vm.stat_interval=3600")
    shutil.copytree(SHARE / "air", HOME, dirs_exist_ok=True)
    shutil.copytree(SHARE / "units", HOME / "units", dirs_exist_ok=True)
    pathlib.Path("/etc/default/latchkeyd").write_text(f"LATCHKEYD_OPTIONS=--adapter {PHONE_ADDRESS}\n")
    for unit in (HOME / "units").glob("*.[st][ei]*e*"):
        shutil.copy(unit, "/etc/systemd/system/")
    packages = {path.name.split("_")[0]: str(path) for path in (SHARE / "packages").glob("*.deb")}
    for package in ("latchkeyd", "latchkey-lock"):
        run("dpkg", "--extract", packages[package], "/opt/door")
    run("modprobe", "hci_vhci")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "latchkey-air.service")
    # Nothing here must survive a power cut, and each wait for the disk makes the clock jump.
    run("dpkg", "--force-unsafe-io", "--install", packages["latchkeyd"], packages["latchkey-agent"], packages["latchkey"])
    apps = pathlib.Path("/etc/door/apps") / LOCK
    apps.mkdir(parents=True)
    declaration = pathlib.Path(f"/opt/door/usr/share/latchkey/apps/{LOCK}/Info.plist").read_text()
    declaration = declaration.replace("<key>LatchkeySystemdUnit</key>", "")
    declaration = declaration.replace("<string>latchkey-lock.service</string>", "")
    (apps / "Info.plist").write_text(declaration)
    keys = f"/etc/door/credentials/{LOCK}"
    run("latchkey", "provision", "--lock", keys, "--phone", "/etc/latchkey/agent")
    say("starting the phone and the door")
    run("systemctl", "restart", "bluetooth.service", "latchkeyd.service")
    run("systemctl", "start", "door.service", "days.timer")


def trace(to: pathlib.Path) -> list[subprocess.Popen[bytes]]:
    """Records everything between the kernel and the controllers, and between bluetoothd and the bus."""
    bus = open(to / "bluetoothd.txt", "wb")
    return [
        subprocess.Popen(["btmon", "--write", str(to / "hci.btsnoop")], stdout=subprocess.DEVNULL),
        subprocess.Popen(["busctl", "monitor", "--json=short", "org.bluez"], stdout=bus, stderr=subprocess.DEVNULL),
    ]


def bolt_by_hand(to: str) -> None:
    sockets = glob.glob("/var/lib/door/apps/*/**/hardware.sock", recursive=True)
    if len(sockets) != 1:
        raise Broken(f"the lock's hardware: {sockets}")
    ask(sockets[0], {"turn": to})


def deed(event: str, words: str, machine: str = "", **fields: str) -> None:
    """Records the story's next step before it is done, so that its consequences come after it."""
    say(words)
    recorded.record(recorded.ORCHESTRATOR, event, machine, {WRITTEN.get(name, name): fields[name] for name in fields}, words)


#: Fields whose names are not valid in Python.
WRITTEN = {"from_x": "from.x", "from_y": "from.y", "away_at_least": "away.at-least"}


def move(event: str, words: str, from_x: float, to_x: float, **fields: str) -> None:
    deed(event, words, "phone", x=str(to_x), y="0.0", from_x=str(from_x), from_y="0.0", **fields)


def story(events: Events, days: float, check: Callable[[bool, str], None]) -> None:
    air("place", name="door", x=0, y=0)
    air("place", name="phone", x=HOME_X, y=0)
    deed("chapter.began", "five days away, the agent dead", name="five days away, the agent dead")
    events.wait("lock.started", 120)
    agent = subprocess.Popen(["python3", str(HOME / "pairing_agent.py")], stdout=subprocess.PIPE, text=True)
    assert agent.stdout is not None
    if agent.stdout.readline().strip() != "ready":
        raise Broken("the pairing agent does not start")
    deed("app.open", "at home, the owner opens the agent for the first time", "phone", app=AGENT)
    run("latchkey", "open", AGENT)
    events.wait("subscribed", 300)
    events.wait("status.answered", 300)
    agent.terminate()
    agent.wait()
    check(device_is("Bonded"), "the phone is bonded with the door")
    deed("fault", "the owner unlocks by hand from inside", "door")
    bolt_by_hand("unlocked")
    events.wait("bolt.moved", 60, to="unlocked")
    deed("app.leave", "the owner puts the phone away", "phone", app=AGENT)
    run("latchkey", "leave", AGENT)
    events.wait("app.suspended", 300, app=AGENT)
    before = unit_processes()

    departure, departure_wall = boot_clock(), time.time()
    move("owner.left", f"the owner leaves, for {days:g} days", HOME_X, AWAY_X, way="jump")
    air("place", name="phone", x=AWAY_X, y=0)
    events.wait("bolt.moved", 300, to="locked")
    time.sleep(3 * 3600 * days / 5)
    deed("app.reclaim", "the agent is ended for its memory", "phone", app=AGENT)
    run("latchkey", "reclaim", AGENT)
    events.wait("app.ended", 60, app=AGENT)
    state = air("state")["controllers"]["phone"]
    check(DOOR_ADDRESS in state["acceptList"], "GattProfile1 has the door on the kernel's accept list, no app running")
    asleep = wakes()
    time.sleep(max(departure + days * DAY - boot_clock(), 0))
    woken = {name: count - asleep.get(name, 0) for name, count in wakes().items()}
    for name in sorted(woken, key=lambda name: -woken[name])[:8]:
        say(f"woke {woken[name]} times meanwhile: {name}")

    away, away_wall = boot_clock() - departure, time.time() - departure_wall
    fired = len(pathlib.Path("/run/days").read_text().split()) if os.path.exists("/run/days") else 0
    check(away >= days * DAY and away_wall >= days * DAY - 1, f"{away / DAY:.3f} days passed on both of its clocks")
    check(abs(fired - days) < 1, f"the daily timer fired {fired} times")
    check(unit_processes() == before, "bluetoothd, both latchkeyds, the air and the bus lived through all of it")
    move(
        "owner.returned", f"the owner comes home after {away / DAY:.4f} days of the kernel's clock", AWAY_X, HOME_X,
        way="walk", over=str(WALK_SECONDS), away_at_least=str(int(days * DAY * 1e9)),
    )  # fmt: skip
    air("walk", name="phone", x=HOME_X, y=0, seconds=WALK_SECONDS)
    events.wait("bolt.moved", 300, to="unlocked")
    events.wait("unlock.answered", 60)
    # Long enough for a wrong second unlock to happen.
    time.sleep(60)
    failed = run("systemctl", "list-units", "--failed", "--plain", "--no-legend")
    check(failed == "", f"no unit has failed {failed}")


def export(to: pathlib.Path) -> None:
    """Exports each machine's journal, with which the host checks the promises."""
    run("journalctl", "--sync")
    for machine, matches in JOURNALS.items():
        sets = " + ".join(matches).split()
        with open(to / f"{machine}.json", "wb") as file:
            subprocess.run(["journalctl", "--boot", "--output=json", "--no-pager", *sets], stdout=file, check=True)


def main() -> int:
    days = float((SHARE / "days").read_text())
    failed: list[str] = []

    def check(holds: bool, text: str) -> None:
        say(f"{'machine as it should be' if holds else 'MACHINE WRONG'}   {text}")
        if not holds:
            failed.append(text)

    traces: list[subprocess.Popen[bytes]] = []
    try:
        if (SHARE / "trace").is_dir():
            traces = trace(SHARE / "trace")
        prepare()
        story(Events(), days, check)
    except Broken as problem:
        deed("wait.failed", str(problem))
        failed.append(str(problem))
    if failed:
        for unit in UNITS:
            print(run("journalctl", "--boot", "--no-pager", "--lines=60", "--unit", unit, allow_failure=True))
        logs = glob.glob("/var/lib/door/logs/*") + glob.glob("/var/lib/latchkey/logs/*")
        for log in logs:
            print(f"{log}:\n{pathlib.Path(log).read_text()[-4000:]}")
        try:
            print(json.dumps(air("state"), indent=1))
        except (OSError, Broken) as problem:
            print(f"the air: {problem}")
    for process in traces:
        process.terminate()
        process.wait()
    export(SHARE)
    (SHARE / "machine").write_text("wrong\n" if failed else "as it should be\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
