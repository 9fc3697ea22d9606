"""Uses the lock with unmodified bleak from PyPI: finds it, pairs, connects, reads, writes and subscribes.

Each successful step prints one line of JSON. Any failure, and a run longer than a minute, ends it with an error.
"""

import asyncio
import json
import sys

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError, BleakGATTProtocolError
from dbus_fast import BusType, Message, MessageType
from dbus_fast.aio import MessageBus

SERVICE = "b126f569-34d9-4140-a7ad-42cd26d0ff85"
OFFER = "33818d1d-5751-4a1b-9838-98ab845634f9"
COMMAND = "91cf470b-0c9c-4243-b5a9-37212bdd4ee8"
ANSWER = "d40ff2ee-283e-41ef-92a2-4d0b4638abd6"
MANUFACTURER, MODEL, FIRMWARE_REVISION = (f"00002a{n}-0000-1000-8000-00805f9b34fb" for n in ("29", "24", "26"))
BATTERY_LEVEL = "00002a19-0000-1000-8000-00805f9b34fb"
# As long as a command, but not a valid one.
GARBAGE = bytes(range(106))


def say(step: str, **facts: object) -> None:
    print(json.dumps({"step": step, **facts}), flush=True)


async def register_agent() -> MessageBus:
    """Registers the agent without which bluetoothd pairs with nobody. bleak has none. With Just Works it is asked nothing."""
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    reply = await bus.call(
        Message(
            destination="org.bluez", path="/org/bluez", interface="org.bluez.AgentManager1", member="RegisterAgent",
            signature="os", body=["/agent", "NoInputNoOutput"],
        )
    )
    if reply is None or reply.message_type is MessageType.ERROR:
        raise BleakError(f"no agent: {reply}")
    return bus


async def story(**notify_options: object) -> None:
    agent = await register_agent()
    device = await BleakScanner.find_device_by_filter(
        lambda _, advertisement: SERVICE in advertisement.service_uuids, timeout=30.0
    )
    if device is None:
        raise BleakError("the lock was not found")
    say("discovered", address=device.address, name=device.name)

    offers: "asyncio.Queue[bytes]" = asyncio.Queue()

    def take(_: object, value: bytearray) -> None:
        offers.put_nowait(bytes(value))

    async with BleakClient(device, pair=True, timeout=30.0) as lock:
        service = lock.services.get_service(SERVICE)
        if service is None:
            raise BleakError("the lock's service is not there")
        say(
            "paired and connected",
            characteristics={c.uuid: sorted(c.properties) for c in service.characteristics},
        )
        texts = [bytes(await lock.read_gatt_char(text)).decode() for text in (MANUFACTURER, MODEL, FIRMWARE_REVISION)]
        say("read of itself", texts=texts, battery=(await lock.read_gatt_char(BATTERY_LEVEL))[0])
        # It reads its offer, and could not hear an answer. Then it could.
        await lock.read_gatt_char(OFFER)
        try:
            await lock.write_gatt_char(COMMAND, GARBAGE, response=True)
        except BleakGATTProtocolError as error:
            say("refused unsubscribed", error=hex(error.code.value))
        await lock.start_notify(ANSWER, lambda _, value: say("answered", value=value.hex()), **notify_options)
        try:
            await lock.write_gatt_char(COMMAND, GARBAGE, response=True)
        except BleakGATTProtocolError as error:
            say("refused to be written", error=error.code.name)
        await lock.start_notify(OFFER, take, **notify_options)
        # An offer comes in two fragments, with a mark of two bytes each.
        notified = (await offers.get())[2:] + (await offers.get())[2:]
        say("notified", value=notified.hex())
        value = bytes(await lock.read_gatt_char(OFFER))
        say("read", value=value.hex())
        try:
            await lock.read_gatt_char(COMMAND)
        except BleakGATTProtocolError as error:
            say("refused to be read", error=error.code.name)
        try:
            await lock.write_gatt_char(COMMAND, GARBAGE[:3], response=True)
        except BleakGATTProtocolError as error:
            say("refused to be written", error=error.code.name)
        await lock.stop_notify(OFFER)
        say("stopped")
    say("disconnected")

    # The existing bond is enough for another connection.
    async with BleakClient(device, timeout=30.0) as lock:
        say("connected again", value=bytes(await lock.read_gatt_char(OFFER)).hex())
        await lock.unpair()
    say("unpaired")
    agent.disconnect()


if __name__ == "__main__":
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    asyncio.run(asyncio.wait_for(story(**options), 60.0))
