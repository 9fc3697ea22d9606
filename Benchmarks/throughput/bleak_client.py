"""bleak_client.py SECONDS ROUNDS BURST: the throughput benchmark's client on bleak. It prints one line of JSON: notifications and
write round trips a second, of each round."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time

from bleak import BleakClient, BleakScanner

SERVICE = "7b1c0001-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
NOTIFIED = "7b1c0002-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
WRITTEN = "7b1c0003-6d2e-4f7a-9a3b-5c1d2e3f4a5b"
VALUE_LENGTH = 20


def value(count: int) -> bytes:
    return struct.pack("<I", count).ljust(VALUE_LENGTH, b"\0")


async def main(seconds: float, rounds: int, burst: int) -> None:
    device = await BleakScanner.find_device_by_filter(
        lambda _, advertisement: SERVICE in advertisement.service_uuids, timeout=60.0
    )
    if device is None:
        sys.exit("the peripheral was not found")
    arrived = 0
    enough = asyncio.Event()

    def take(_: object, data: bytearray) -> None:
        nonlocal arrived
        if len(data) == VALUE_LENGTH:
            arrived += 1
            if arrived >= burst:
                enough.set()

    def lost(_: object) -> None:
        # Nothing that is waited for comes any more.
        if not done:
            sys.stderr.write("bleak_client.py: the link was lost\n")
            os._exit(1)

    done = False
    async with BleakClient(device, disconnected_callback=lost, timeout=30.0) as client:
        written = client.services.get_characteristic(WRITTEN)
        assert written is not None
        await client.start_notify(NOTIFIED, take)

        async def notifications(limit: float) -> float:
            nonlocal arrived
            begin, count = time.monotonic(), 0
            while time.monotonic() - begin < limit:
                arrived = 0
                enough.clear()
                await client.write_gatt_char(written, value(burst), response=True)
                await enough.wait()
                count += burst
            return count / (time.monotonic() - begin)

        async def writes(limit: float) -> float:
            begin, count = time.monotonic(), 0
            while time.monotonic() - begin < limit:
                await client.write_gatt_char(written, value(0), response=True)
                count += 1
            return count / (time.monotonic() - begin)

        await notifications(seconds / 4)
        notified = [await notifications(seconds) for _ in range(rounds)]
        await writes(seconds / 4)
        print(json.dumps({"notifications": notified, "writes": [await writes(seconds) for _ in range(rounds)]}))
        done = True


asyncio.run(main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
