"""Finds the lock by a passive scan with unmodified bleak from PyPI, without sending it anything.

Each successful step prints one line of JSON. A run longer than a minute ends with an error.
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
        # These include the patterns that habluetooth, the Bluetooth library of Home Assistant, asks for.
        await hear(b"\x7f", want=False)
        await hear(b"\x06", want=True)
        say("stopped")


try:
    asyncio.run(main())
except BleakError as error:
    say("refused", error=type(error).__name__)
    sys.exit(1)
