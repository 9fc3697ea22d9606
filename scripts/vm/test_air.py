#!/usr/bin/env python3
"""Tests the air with a host at each end that uses HCI. Run by make test-vm, or alone: scripts/vm/test_air.py"""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import Callable
from typing import Any

from air import Air, Commands  # First: it finds Bumble.
import places
from bumble import hci
from controller import Controller

DOOR = "C0:DE:00:00:00:01"
PHONE = "C0:DE:00:00:00:02"
#: An event that does not come within this many seconds counts as missing.
LIMIT = 10.0


class Host:
    """The machine's side of its controller."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.packets: asyncio.Queue[hci.HCI_Packet] = asyncio.Queue()
        controller.attach(self)

    def on_packet(self, packet: bytes) -> None:
        self.packets.put_nowait(hci.HCI_Packet.from_bytes(packet))

    def send(self, command: hci.HCI_Packet) -> None:
        self.controller.on_packet(bytes(command))

    async def wait(self, kind: type, where: Callable[[Any], bool] = lambda _: True) -> Any:
        async with asyncio.timeout(LIMIT):
            while True:
                packet = await self.packets.get()
                if isinstance(packet, kind) and where(packet):
                    return packet

    def advertise(self, data: bytes = b"\x02\x01\x06") -> None:
        self.send(
            hci.HCI_LE_Set_Advertising_Parameters_Command(
                advertising_interval_min=32,
                advertising_interval_max=32,
                advertising_type=0,
                own_address_type=0,
                peer_address_type=0,
                peer_address=hci.Address.ANY,
                advertising_channel_map=7,
                advertising_filter_policy=0,
            )
        )
        self.send(hci.HCI_LE_Set_Advertising_Data_Command(advertising_data=data))
        self.send(hci.HCI_LE_Set_Advertising_Enable_Command(advertising_enable=1))

    def scan(self, accept_list_only: bool = False) -> None:
        self.send(
            hci.HCI_LE_Set_Scan_Parameters_Command(
                le_scan_type=0,
                le_scan_interval=16,
                le_scan_window=16,
                own_address_type=0,
                scanning_filter_policy=int(accept_list_only),
            )
        )
        self.send(hci.HCI_LE_Set_Scan_Enable_Command(le_scan_enable=1, filter_duplicates=0))

    def connect(self, address: str, timeout: int = 42) -> None:
        self.send(
            hci.HCI_LE_Create_Connection_Command(
                le_scan_interval=16,
                le_scan_window=16,
                initiator_filter_policy=0,
                peer_address_type=0,
                peer_address=hci.Address(address, hci.Address.PUBLIC_DEVICE_ADDRESS),
                own_address_type=0,
                connection_interval_min=24,
                connection_interval_max=40,
                max_latency=0,
                supervision_timeout=timeout,
                min_ce_length=0,
                max_ce_length=0,
            )
        )


class AirTests(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.air = Air(self.events.append)
        controllers = {name: Controller(name, self.air, at) for name, at in (("door", DOOR), ("phone", PHONE))}
        self.commands = Commands(self.air, controllers)
        self.door, self.phone = Host(controllers["door"]), Host(controllers["phone"])

    def command(self, **fields: Any) -> dict[str, Any]:
        return self.commands.answer(json.dumps(fields))

    def range(self, on: bool) -> None:
        self.assertTrue(self.command(id=1, command="range", a="door", b="phone", on=on)["ok"])

    async def link(self) -> tuple[Any, Any]:
        self.door.advertise()
        self.phone.connect(DOOR)
        kind = hci.HCI_LE_Connection_Complete_Event
        return await self.phone.wait(kind), await self.door.wait(kind)

    async def test_an_advertisement_is_heard_with_its_signal_and_not_out_of_range(self) -> None:
        self.command(id=1, command="signal", a="phone", b="door", rssi=-71)
        self.range(False)
        self.door.advertise()
        self.phone.scan()
        await asyncio.sleep(0.1)  # Five intervals in which nothing may come.
        report = hci.HCI_LE_Advertising_Report_Event
        heard = [self.phone.packets.get_nowait() for _ in range(self.phone.packets.qsize())]
        self.assertFalse([packet for packet in heard if isinstance(packet, report)])
        self.assertIsNone(self.door.controller.advertiser.timer_handle, "nobody hears it: it needs no timer")
        self.range(True)
        event = await self.phone.wait(report)
        self.assertEqual(event.reports[0].rssi, -71)
        self.assertEqual(event.reports[0].data, b"\x02\x01\x06")

    async def test_what_is_on_the_air_is_told_once_for_each_change(self) -> None:
        told = [event for event in self.events if event["name"] == "door"]
        self.assertEqual(
            told,
            [
                {"event": "advertising.changed", "name": "door", "set": "0", "on": False},
                {"event": "scanning.changed", "name": "door", "on": False},
            ],
        )
        self.events.clear()
        # Flags, two services, and one in full.
        whole = bytes.fromhex("0f180a180000000061f0454ca5b31f2ab90c6f5b")
        data = b"\x02\x01\x06" + b"\x05\x03" + whole[:4] + b"\x11\x07" + whole[4:]
        self.door.advertise(data)
        base = "-0000-1000-8000-00805f9b34fb"
        services = f"0000180f{base},0000180a{base},5b6f0cb9-2a1f-b3a5-4c45-f06100000000"
        on = {"event": "advertising.changed", "name": "door", "set": "0", "on": True, "interval": "20"}
        self.assertEqual(self.events, [{**on, "services": services}])
        self.door.send(hci.HCI_LE_Set_Advertising_Data_Command(advertising_data=data))
        self.door.send(hci.HCI_LE_Set_Scan_Response_Data_Command(scan_response_data=b"\x05\x09Door\xff"))
        self.assertEqual(self.events[1:], [{**on, "services": services, "local": "Door"}])
        self.door.send(hci.HCI_LE_Set_Advertising_Enable_Command(advertising_enable=0))
        self.door.send(hci.HCI_LE_Set_Advertising_Data_Command(advertising_data=b"\x02\x01\x06"))
        self.assertEqual(self.events[2:], [{"event": "advertising.changed", "name": "door", "set": "0", "on": False}])
        # A peripheral that is linked advertises no more until its host says so.
        self.events.clear()
        await self.link()
        self.assertEqual([event["event"] for event in self.events][-2:], ["advertising.changed", "link.up"])

    async def test_a_scan_for_everybody_is_told_and_one_by_the_accept_list_is_not(self) -> None:
        self.events.clear()
        self.phone.scan(accept_list_only=True)
        self.assertEqual(self.events, [])
        self.phone.send(hci.HCI_LE_Set_Scan_Enable_Command(le_scan_enable=0, filter_duplicates=0))
        self.phone.scan()
        self.phone.scan()
        self.assertEqual(self.events, [{"event": "scanning.changed", "name": "phone", "on": True}])
        self.phone.controller.attach(None)
        self.assertEqual(self.events[1:], [{"event": "scanning.changed", "name": "phone", "on": False}])

    async def test_a_scan_by_the_accept_list_hears_only_who_is_on_it(self) -> None:
        self.door.advertise()
        self.phone.scan(accept_list_only=True)
        await asyncio.sleep(0.1)
        address = hci.Address(DOOR, hci.Address.PUBLIC_DEVICE_ADDRESS)
        heard = [self.phone.packets.get_nowait() for _ in range(self.phone.packets.qsize())]
        self.assertFalse([packet for packet in heard if isinstance(packet, hci.HCI_LE_Advertising_Report_Event)])
        self.phone.send(
            hci.HCI_LE_Add_Device_To_Filter_Accept_List_Command(address_type=0, address=address)
        )
        await self.phone.wait(hci.HCI_LE_Advertising_Report_Event)

    async def test_both_ends_learn_of_a_link_with_the_same_parameters(self) -> None:
        central, peripheral = await self.link()
        for event in (central, peripheral):
            self.assertEqual(event.status, 0)
            self.assertEqual((event.connection_interval, event.supervision_timeout), (40, 42))
        self.assertEqual((central.role, peripheral.role), (0, 1))
        self.assertEqual(self.events[-1], {"event": "link.up", "central": "phone", "peripheral": "door"})

    async def test_a_link_out_of_range_is_lost_on_both_sides_after_its_supervision_timeout(self) -> None:
        await self.link()
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.range(False)
        for host in (self.phone, self.door):
            event = await host.wait(hci.HCI_Disconnection_Complete_Event)
            self.assertEqual(event.reason, 0x08)
        self.assertGreaterEqual(loop.time() - began, 0.41)
        downs = [event for event in self.events if event["event"] == "link.down"]
        self.assertEqual([event["reason"] for event in downs], ["connectionTimeout"])

    async def test_what_is_sent_out_of_range_arrives_if_the_range_is_back_in_time(self) -> None:
        central, _ = await self.link()
        self.range(False)
        self.phone.send(hci.HCI_AclDataPacket(central.connection_handle, 0, 0, 6, b"\x02\x00\x04\x00\x0a\x01"))
        await asyncio.sleep(0.1)
        self.range(True)
        packet = await self.door.wait(hci.HCI_AclDataPacket)
        self.assertEqual(packet.data, b"\x02\x00\x04\x00\x0a\x01")

    async def test_a_long_packet_arrives_in_pieces_that_the_host_has_room_for(self) -> None:
        central, _ = await self.link()
        payload = bytes(range(256)) * 2
        data = len(payload).to_bytes(2, "little") + b"\x04\x00" + payload
        for start in range(0, len(data), 251):
            piece = data[start : start + 251]
            self.phone.send(hci.HCI_AclDataPacket(central.connection_handle, 0 if start == 0 else 1, 0, len(piece), piece))
        received, flags = b"", []
        while len(received) < len(data):
            packet = await self.door.wait(hci.HCI_AclDataPacket)
            self.assertLessEqual(len(packet.data), 251)
            received += packet.data
            flags.append(packet.pb_flag)
        self.assertEqual((received, flags), (data, [2, 1, 1]))

    async def test_a_host_that_ends_a_link_is_told_so_and_its_peer_that_the_other_did(self) -> None:
        central, _ = await self.link()
        self.phone.send(hci.HCI_Disconnect_Command(connection_handle=central.connection_handle, reason=0x13))
        kind = hci.HCI_Disconnection_Complete_Event
        self.assertEqual((await self.phone.wait(kind)).reason, 0x16)
        self.assertEqual((await self.door.wait(kind)).reason, 0x13)

    async def test_the_peer_of_a_controller_that_is_unplugged_finds_out_by_its_timeout(self) -> None:
        await self.link()
        self.phone.controller.attach(None)
        self.assertEqual((await self.door.wait(hci.HCI_Disconnection_Complete_Event)).reason, 0x08)
        self.assertEqual(self.air.links, [])

    async def test_a_connection_that_is_cancelled_completes_as_such(self) -> None:
        self.phone.connect(DOOR)
        self.phone.send(hci.HCI_LE_Create_Connection_Cancel_Command())
        event = await self.phone.wait(hci.HCI_LE_Connection_Complete_Event)
        self.assertEqual(event.status, hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR)
        self.door.advertise()
        self.phone.connect(DOOR)
        self.assertEqual((await self.phone.wait(hci.HCI_LE_Connection_Complete_Event)).status, 0)

    async def test_the_signal_of_a_live_link_is_read(self) -> None:
        central, _ = await self.link()
        self.command(id=1, command="signal", a="door", b="phone", rssi=-88)
        self.phone.send(hci.HCI_Read_RSSI_Command(handle=central.connection_handle))
        event = await self.phone.wait(
            hci.HCI_Command_Complete_Event, lambda event: event.command_opcode == hci.HCI_READ_RSSI_COMMAND
        )
        self.assertEqual(event.return_parameters.rssi, -88)

    async def read_signal(self, handle: int) -> int:
        self.phone.send(hci.HCI_Read_RSSI_Command(handle=handle))
        event = await self.phone.wait(
            hci.HCI_Command_Complete_Event, lambda event: event.command_opcode == hci.HCI_READ_RSSI_COMMAND
        )
        return event.return_parameters.rssi

    def test_signals_fall_with_the_distance_as_the_simulated_radio_has_it(self) -> None:
        # Tests/RadioTests/WalkTests.swift has the same numbers.
        for metres, signal in ((0.05, -37.0), (1, -59.0), (2, -65.623), (10, -81.0), (39, -94.003), (100, -103.0)):
            self.assertAlmostEqual(places.signal_over(metres), signal, places=3)

    async def test_who_walks_up_is_heard_ever_more_strongly_and_linked_on_the_way(self) -> None:
        self.command(id=1, command="place", name="door", x=0, y=0)
        self.command(id=2, command="place", name="phone", x=60, y=0)
        self.door.advertise()
        self.phone.connect(DOOR)
        await asyncio.sleep(0.1)
        self.assertEqual(self.air.links, [], "60 m are too far")
        self.assertTrue(self.command(id=3, command="walk", name="phone", x=1, y=0, seconds=1.5)["ok"])
        complete = await self.phone.wait(hci.HCI_LE_Connection_Complete_Event)
        first = await self.read_signal(complete.connection_handle)
        self.assertTrue(-94 <= first <= -85, first)
        signals = [first]
        while not any(event["event"] == "walk.ended" for event in self.events):
            await asyncio.sleep(0.2)
            signals.append(await self.read_signal(complete.connection_handle))
        self.assertEqual(signals, sorted(signals))
        self.assertEqual(await self.read_signal(complete.connection_handle), -59)
        self.assertEqual(
            [event for event in self.events if event["event"].startswith("walk.")],
            [
                {"event": "walk.began", "name": "phone", "x": 60.0, "y": 0.0},
                {"event": "walk.ended", "name": "phone", "x": 1.0, "y": 0.0},
            ],
        )
        self.assertEqual(self.air.walks, {})

    async def test_who_walks_away_is_lost_on_the_way_and_a_jump_ends_a_walk(self) -> None:
        self.command(id=1, command="place", name="door", x=0, y=0)
        self.command(id=2, command="place", name="phone", x=1, y=0)
        await self.link()
        self.command(id=3, command="walk", name="phone", x=100, y=0, seconds=1)
        event = await self.phone.wait(hci.HCI_Disconnection_Complete_Event)
        self.assertEqual(event.reason, 0x08)
        self.command(id=4, command="walk", name="phone", x=0, y=0, seconds=1000)
        self.command(id=5, command="place", name="phone", x=3, y=4)
        self.assertEqual(self.command(id=6, command="state")["controllers"]["phone"]["place"], [3, 4])
        self.assertEqual((self.air.walks, self.air.ways["phone"].seconds), ({}, 0))

    async def test_a_command_that_is_not_known_is_answered(self) -> None:
        # Kernels wait for each answer, and do nothing else meanwhile.
        self.phone.send(hci.HCI_Read_Remote_Version_Information_Command(connection_handle=1))
        await self.phone.wait(hci.HCI_Command_Status_Event)

    async def test_a_bad_command_is_refused_with_what_is_wrong_and_changes_nothing(self) -> None:
        cases = [
            ("nonsense", None),
            ("[1]", None),
            ('{"id": 7}', 7),
            ('{"id": 8, "command": "range", "a": "door", "b": "cellar", "on": true}', 8),
            ('{"id": 9, "command": "range", "a": "door", "b": "door", "on": true}', 9),
            ('{"id": 10, "command": "power", "name": "door", "on": 1}', 10),
            ('{"id": 11, "command": "signal", "a": "door", "b": "phone", "rssi": 300}', 11),
            ('{"id": 12, "command": "place", "name": "door", "x": 1e9, "y": 0}', 12),
            ('{"id": 13, "command": "place", "name": "door", "x": NaN, "y": 0}', 13),
            ('{"id": 14, "command": "walk", "name": "door", "x": 1, "y": 0, "seconds": 0}', 14),
            ('{"id": 15, "command": "walk", "name": "door", "x": 1, "y": 0, "seconds": "1"}', 15),
            ('{"id": 16, "command": "walk", "name": "cellar", "x": 1, "y": 0, "seconds": 1}', 16),
            ("[" * 100000, None),
        ]
        for line, identifier in cases:
            answer = self.commands.answer(line)
            self.assertEqual((answer["id"], answer["ok"]), (identifier, False), line[:80])
            self.assertTrue(answer["error"])
        self.assertEqual((self.air.apart, self.air.silent, self.air.signals, self.air.ways), (set(), set(), {}, {}))


if __name__ == "__main__":
    unittest.main()
