"""Hears the lock with bleak, as it comes from PyPI, without asking it for anything: a passive scan.

Every step that worked is said as one line of JSON. A story that takes longer than a minute ends with an error.
"""

import asyncio
import json
import sys

from bleak import BleakScanner
from bleak.args.bluez import BlueZScannerArgs, OrPattern
from bleak.assigned_numbers import AdvertisementDataType
from bleak.exc import BleakError

SERVICE = "b126f569-34d9-4140-a7ad-42cd26d0ff85"


def say(step: str, **facts: object) -> None:
    print(json.dumps({"step": step, **facts}), flush=True)


async def hear(flags: bytes, want: bool) -> None:
    heard = asyncio.Event()

    def take(_: object, advertisement: object) -> None:
        if SERVICE in advertisement.service_uuids:
            heard.set()

    patterns = BlueZScannerArgs(or_patterns=[OrPattern(0, AdvertisementDataType.FLAGS, flags)])
    async with BleakScanner(take, scanning_mode="passive", bluez=patterns):
        say("scanning")
        if want:
            await heard.wait()
            say("heard")


async def main() -> None:
    async with asyncio.timeout(60):
        # What habluetooth, the Bluetooth of Home Assistant, asks for is among these.
        await hear(b"\x7f", want=False)
        await hear(b"\x06", want=True)
        say("stopped")


try:
    asyncio.run(main())
except BleakError as error:
    say("refused", error=type(error).__name__)
    sys.exit(1)
