#!/usr/bin/env python3
"""Unlocks a Latchkey lock with bleak whenever it comes into range, for comparison with Latchkey's agent.

    unlock.py KEYS      KEYS is the phone's phone-keys.json

The phone is already bonded with the lock. The program stays alive and works as well as a bleak program can: it scans
for the lock's service, connects as soon as it hears the lock, reads the offer while it subscribes, writes the unlock,
and waits until the link is lost. Each step prints a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time

from bleak import BleakClient, BleakScanner
from bleak.backends.device import BLEDevice
from bleak.exc import BleakError
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from noise import PhoneSession

SERVICE = "b126f569-34d9-4140-a7ad-42cd26d0ff85"
OFFER = "33818d1d-5751-4a1b-9838-98ab845634f9"
COMMAND = "91cf470b-0c9c-4243-b5a9-37212bdd4ee8"
ANSWER = "d40ff2ee-283e-41ef-92a2-4d0b4638abd6"


def say(step: str, **facts: object) -> None:
    print(json.dumps({"step": step, "time": time.monotonic(), **facts}), flush=True)


async def heard() -> BLEDevice:
    """The lock, from its next advertisement."""
    found: asyncio.Future[BLEDevice] = asyncio.get_running_loop().create_future()

    def take(device: BLEDevice, _: object) -> None:
        if not found.done():
            found.set_result(device)

    async with BleakScanner(take, service_uuids=[SERVICE]):
        say("scanning")
        return await found


async def visit(keys: dict[str, str]) -> None:
    """One arrival: from the first advertisement to the end of the link."""
    device = await heard()
    say("heard")
    gone = asyncio.Event()
    answers: asyncio.Queue[bytes] = asyncio.Queue()

    async with BleakClient(device, disconnected_callback=lambda _: gone.set(), timeout=30.0) as lock:
        say("connected")
        # All at once. The offer that the lock notifies at link-up may have come before the subscription, so the offer
        # is read as well; a later one replaces it. The lock sends answers only to subscribers.
        offers: list[bytes] = []

        def notified(_: object, value: bytearray) -> None:
            # Fragments are of an offer that is read as well.
            if len(value) == 32:
                offers.append(bytes(value))

        async def read() -> None:
            offers.append(bytes(await lock.read_gatt_char(OFFER)))

        await asyncio.gather(
            read(),
            lock.start_notify(ANSWER, lambda _, value: answers.put_nowait(bytes(value))),
            lock.start_notify(OFFER, notified),
        )
        session = PhoneSession(
            offers[-1],
            bytes.fromhex(keys["lockIdentity"]),
            bytes.fromhex(keys["lockPublicKey"]),
            X25519PrivateKey.from_private_bytes(bytes.fromhex(keys["privateKey"])),
        )
        await lock.write_gatt_char(COMMAND, session.unlock(secrets.randbits(64)), response=True)
        say("written")
        answer = session.open(await asyncio.wait_for(answers.get(), timeout=10.0))
        say("answered", result=answer[1])
        await gone.wait()
        say("gone")


async def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        keys = json.load(file)
    while True:
        try:
            await visit(keys)
        except (BleakError, TimeoutError, OSError) as error:
            say("failed", error=repr(error))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
