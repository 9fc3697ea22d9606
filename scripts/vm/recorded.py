"""Writes lines into systemd's journal in the vocabulary of Latchkey's programs (Sources/JournalEvents): the steps of
a story, and the events of the air. `latchkey judge` reads them."""

from __future__ import annotations

import socket
import time

#: The socket on which systemd's journal accepts lines with fields (systemd.io/JOURNAL_NATIVE_PROTOCOL).
JOURNAL = "/run/systemd/journal/socket"
#: The names of the story's program and of the air in the journal.
ORCHESTRATOR = "orchestrator"
AIR = "air"


def systemd_name(field: str) -> str:
    """The field's name in systemd's journal: capital letters, digits and underscores."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in field)
    return "LATCHKEY_FIELD_" + letters.upper()


def line(process: str, event: str, machine: str, fields: dict[str, str], message: str = "") -> bytes:
    """One line in the format of the journal's socket."""
    values = {
        "MESSAGE": message or event,
        "PRIORITY": "5",
        "SYSLOG_IDENTIFIER": process,
        "LATCHKEY_TIME": str(time.clock_gettime_ns(time.CLOCK_BOOTTIME)),
        "LATCHKEY_EVENT": event,
    }
    if machine:
        values["LATCHKEY_MACHINE"] = machine
    if fields:
        values["LATCHKEY_FIELDS"] = " ".join(sorted(fields))
        values |= {systemd_name(name): value for name, value in fields.items()}
    # A line break within a value would make several fields of it.
    return "".join(f"{name}={' '.join(value.splitlines())}\n" for name, value in values.items()).encode()


def record(process: str, event: str, machine: str = "", fields: dict[str, str] | None = None, message: str = "") -> None:
    """Writes an event to the journal, before anything that is written after this returns."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.connect(JOURNAL)
        journal.send(line(process, event, machine, fields or {}, message))
