"""What an advertisement says, in the words of Latchkey's journal (Sources/JournalEvents): its name and its services."""

from __future__ import annotations

#: The Bluetooth base UUID without its first four bytes (Vol 3, Part B, 2.5.1).
_BASE = bytes.fromhex("00001000800000805f9b34fb")
#: The lengths of the UUIDs in the lists of these types (Assigned Numbers, 2.3).
_SERVICES = {0x02: 2, 0x03: 2, 0x04: 4, 0x05: 4, 0x06: 16, 0x07: 16}
_NAMES = (0x08, 0x09)


def structures(data: bytes) -> list[tuple[int, bytes]]:
    """Type and value of each complete structure (Vol 3, Part C, 11)."""
    found = []
    while data and data[0]:
        length, data = data[0], data[1:]
        if len(data) < length:
            break
        found.append((data[0], data[1:length]))
        data = data[length:]
    return found


def uuid(little_endian: bytes) -> str:
    """All of its digits, as the simulator records it."""
    value = little_endian[::-1]
    if len(value) < 16:
        value = value.rjust(4, b"\0") + _BASE
    text = value.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def content(data: bytes) -> dict[str, str]:
    """The name and the services in the data of an advertisement and of its scan response, one after the other."""
    fields: dict[str, str] = {}
    services: list[str] = []
    for kind, value in structures(data):
        if kind in _NAMES:
            fields["local"] = value.decode(errors="replace")
        elif kind in _SERVICES:
            length = _SERVICES[kind]
            services += [uuid(value[start : start + length]) for start in range(0, len(value) - length + 1, length)]
    if services:
        fields["services"] = ",".join(services)
    return fields
