"""Runs in a guest whose power is cut. After each boot it checks that everything that was answered before is there,
and then sends more requests until the power is cut. The guest is a phone and a door at once, as in ../warp.

Each line of /share/log is on the host when `write` returns: `ask` before a request, `ok` after its answer, and what
was found after a boot.
"""

from __future__ import annotations

import sqlite3
import sys

import dbus
import story
from answers import Expected, note, stored
from app import App
from asking import ask_for_more, lock_socket
from preparation import BEFORE, pair, prepare, start


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
        # By now the door's store and the lock's log are open. A program that refuses to start is noticed here.
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
