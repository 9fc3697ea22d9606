"""Lines for systemd's journal in the vocabulary of Latchkey's own programs (Sources/JournalEvents): what whoever tells a story
did, and what the air saw. `latchkey judge` reads them there."""

from __future__ import annotations

import socket
import time

#: Where systemd's journal takes lines with fields (systemd.io/JOURNAL_NATIVE_PROTOCOL).
JOURNAL = "/run/systemd/journal/socket"
#: Who tells a story, and the air, as the journal names them.
ORCHESTRATOR = "orchestrator"
AIR = "air"


def systemd_name(field: str) -> str:
    """The same name as systemd's journal takes it: capital letters, digits and underscores."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in field)
    return "LATCHKEY_FIELD_" + letters.upper()


def line(process: str, event: str, machine: str, fields: dict[str, str], message: str = "") -> bytes:
    """One line, as the journal's socket takes it."""
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
    # A value with a line's end in it would be several fields.
    return "".join(f"{name}={' '.join(value.splitlines())}\n" for name, value in values.items()).encode()


def record(process: str, event: str, machine: str = "", fields: dict[str, str] | None = None, message: str = "") -> None:
    """Puts it on record; when this returns, the journal has it before whatever is written later."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.connect(JOURNAL)
        journal.send(line(process, event, machine, fields or {}, message))
