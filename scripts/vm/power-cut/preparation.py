"""The guest is a phone and a door at once. This sets it up once, and starts it after each boot."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import story
from answers import APP
from app import App

#: What was on the disk before the two latchkeyds started. It must be copied before, because the link that was up
#: ended with the power, and its request ends as soon as latchkeyd runs.
BEFORE = pathlib.Path("/run/promises")
PROGRAMS = story.SHARE / "programs"
#: bluetoothd's objects of the door and of the phone.
BONDS = (story.DEVICE, "/org/bluez/hci0/dev_C0_DE_00_00_00_02")


def prepare() -> None:
    """Sets up the phone and the door, once."""
    for unit, state in (("latchkeyd", "/var/lib/latchkey"), ("door", "/var/lib/door")):
        folder = pathlib.Path(f"/etc/systemd/system/{unit}.service.d")
        folder.mkdir(parents=True)
        copy = f"mkdir -p {BEFORE} && [ -e {BEFORE}/{unit} ] || cp -a {state} {BEFORE}/{unit} || :"
        (folder / "before.conf").write_text(f"[Service]\nExecStartPre=+/bin/sh -c '{copy}'\n")
        # The processor is emulated, on a busy host.
        (folder / "slow.conf").write_text("[Service]\nWatchdogSec=300s\nTimeoutStopSec=120s\n")
    if PROGRAMS.is_dir():
        prepare_from_programs()
    story.prepare()
    if PROGRAMS.is_dir():
        # All apps were installed, but the phone is not a lock.
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
    """Installs programs that were built without packages, and everything else that the packages would install."""
    home = pathlib.Path("/usr/libexec/latchkey")
    shutil.copytree(PROGRAMS, home)
    story.run("bash", str(story.SHARE / "scripts/install-config.sh"), "/")
    story.run("systemd-sysusers")
    # dbus-daemon resolves the users in its policy only when it reads the policy.
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
    """Pairs the agent with its lock, so that the bonds are on the disk before any power is cut."""
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
