"""Sends random requests, each as soon as the previous one is answered, until the power is cut."""

from __future__ import annotations

import glob
import random
import time
import uuid
from typing import Any

import dbus
import story
from answers import Expected, note
from app import CENTRAL, PERIPHERAL, App


class Refused(Exception):
    """The answer was an error, so nothing was promised."""


def lock_socket(door: str = "/var/lib/door") -> str:
    """Returns the path of the lock's hardware socket, which exists at `lock.started`."""
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
    """Called after each answer. The power may be cut here."""


def do(what: str, work: Any, **more: Any) -> None:
    note("ask", do=what, **more)
    found = work() or {}
    note("ok", do=what, **more, **found)
    answered(what)


def ask_for_more(app: App, expected: Expected, bolt: str) -> None:
    """Sends random requests, each as soon as the previous one is answered, until the power is cut."""
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
                        # The link was just lost. Other requests are still possible.
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
                    # The other side has just restarted, which ended the link.
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
