"""The log of a test: what was asked and answered, what must therefore be there, and what is found on the disk."""

from __future__ import annotations

import glob
import json
import os
import shutil
import sqlite3
import tempfile
from typing import Any

import story

APP = "org.latchkey.promises"
#: Each line is on the host when `write` returns.
LOG = os.open(story.SHARE / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(kind: str, **what: Any) -> None:
    os.write(LOG, f"{kind} {json.dumps(what, sort_keys=True)}\n".encode())


class Expected:
    """What was promised: everything that was answered, and possibly the last request."""

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
                # It may have been stored before it turned out to be impossible.
                self.pending, self.notifying = None, None
            elif kind == "dropped":
                # A lost link ends the request, as on iOS. Only the store says which of the two came first.
                self.wanted, self.notifying = None, None
            elif kind == "found":
                found = json.loads(rest)
                # From here on the state that was found counts, including a last request that was carried out.
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
        """Returns what is missing or unexpected; an empty list if all promises are kept."""
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
        # A record may be there although its answer was not sent any more.
        return wrong + (["records"] if found["records"] < before["records"] else [])


def stored(phone: str = "/var/lib/latchkey", door: str = "/var/lib/door") -> dict[str, Any]:
    """What the phone's store contains for our app, read from a copy, and what the lock's log contains."""
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
            # A subscription belongs to a connection that is wanted.
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
