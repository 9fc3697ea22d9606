#!/usr/bin/env python3
"""The air between virtual machines: their Bluetooth controllers, and which of them hear each other.

    air.py NAME=ADDRESS@unix:PATH | NAME=ADDRESS@vhci ... [--control PATH]

Commands are JSON lines on standard input (its end ends the program) or, with --control, on a socket. Each has an "id"
and gets one reply. Events are JSON lines on standard output. docs/machines.md documents all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import pathlib
import re
import sys
import time
from collections.abc import Callable
from typing import Any

_CACHE = os.environ.get("LATCHKEY_CACHE") or os.path.expanduser("~/.cache/latchkey")
sys.path.insert(0, os.environ.get("LATCHKEY_AIR_PYTHON") or os.path.join(_CACHE, "python"))

import places  # noqa: E402
import recorded  # noqa: E402
from controller import Controller  # noqa: E402
from links import Air  # noqa: E402
from wires import UnixWire, VirtualHCI, Wire  # noqa: E402

#: The maximum length of a command line.
LONGEST_LINE = 65536


class Commands:
    """The commands of the air, and their replies."""

    def __init__(self, air: Air, controllers: dict[str, Controller]) -> None:
        self.air = air
        self.controllers = controllers

    def answer(self, line: str) -> dict[str, Any]:
        request: Any = None
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError("a command is an object")
            return {"id": request.get("id"), "ok": True, **self.perform(request)}
        except (ValueError, RecursionError) as problem:
            identifier = request.get("id") if isinstance(request, dict) else None
            return {"id": identifier, "ok": False, "error": str(problem)}

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        match request.get("command"):
            case "range":
                self.air.set_range(*self.pair(request), self.switch(request))
            case "power":
                self.air.set_power(self.name(request, "name"), self.switch(request))
            case "signal":
                value = request.get("rssi")
                if isinstance(value, bool) or not isinstance(value, int) or not -127 <= value <= 20:
                    raise ValueError("rssi is a whole number of dBm from -127 to 20")
                self.air.signals[frozenset(self.pair(request))] = value
            case "place":
                self.air.move(self.name(request, "name"), *self.place(request), 0)
            case "walk":
                place = self.place(request)
                seconds = self.number(request, "seconds", places.LONGEST_WALK)
                if seconds <= 0:
                    raise ValueError("a walk takes more than no time; there is place for a jump")
                self.air.move(self.name(request, "name"), *place, seconds)
            case "state":
                return self.state()
            case other:
                raise ValueError(f"no command {other!r}: there are range, power, signal, place, walk, state")
        return {}

    def name(self, request: dict[str, Any], key: str) -> str:
        value = request.get(key)
        if not isinstance(value, str) or value not in self.controllers:
            raise ValueError(f"{key} is {value!r}; the controllers are {', '.join(self.controllers)}")
        return value

    def pair(self, request: dict[str, Any]) -> tuple[str, str]:
        one, other = self.name(request, "a"), self.name(request, "b")
        if one == other:
            raise ValueError("a and b are the same controller")
        return one, other

    def place(self, request: dict[str, Any]) -> tuple[float, float]:
        return self.number(request, "x", places.FARTHEST), self.number(request, "y", places.FARTHEST)

    def number(self, request: dict[str, Any], key: str, farthest: float) -> float:
        value = request.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -farthest <= value <= farthest:
            raise ValueError(f"{key} is a number from {-farthest:g} to {farthest:g}")
        return float(value)

    def switch(self, request: dict[str, Any]) -> bool:
        value = request.get("on")
        if not isinstance(value, bool):
            raise ValueError("on is true or false")
        return value

    def state(self) -> dict[str, Any]:
        return {
            "controllers": {
                name: {
                    "address": each.public_address.to_string(False),
                    "attached": each.attached,
                    "power": name not in self.air.silent,
                    "place": list(self.air.ways[name].place(time.monotonic())) if name in self.air.ways else None,
                    "advertising": each.advertiser.enabled,
                    "scanning": each.le_scan_enable,
                    "connecting": each.pending_le_connection is not None,
                    "acceptList": sorted(bytes(reversed(key[0])).hex(":").upper() for key in each.accept_list),
                }
                for name, each in self.controllers.items()
            },
            "links": [
                {
                    "central": each.central.name,
                    "peripheral": each.peripheral.name,
                    "interval": each.interval,
                    "timeout": each.timeout,
                }
                for each in self.air.links
            ],
            "apart": sorted(sorted(pair) for pair in self.air.apart),
        }


def print_line(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def tell(message: dict[str, Any]) -> None:
    print_line({**message, "time": round(time.monotonic(), 6)})
    # Running as a unit, it also records the story's links and walks.
    if "JOURNAL_STREAM" in os.environ:
        testify(message)


def testify(message: dict[str, Any]) -> None:
    """Records links and walks in the journal, from which the story is judged."""
    fields = {key: str(value) for key, value in message.items() if key != "event"}
    match message["event"]:
        case "link.up" | "link.down":
            recorded.record(recorded.AIR, message["event"], fields=fields)
        case "walk.began" | "walk.ended":
            recorded.record(recorded.AIR, message["event"], fields={"machine": fields.pop("name"), **fields})


async def serve(commands: Commands, reader: asyncio.StreamReader, reply: Callable[[dict[str, Any]], None]) -> None:
    while line := await reader.readline():
        if line.strip():
            reply(commands.answer(line.decode(errors="replace")))


async def standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def parse_controller(text: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"([a-z0-9-]{1,64})=((?:[0-9A-F]{2}:){5}[0-9A-F]{2})@(vhci|unix:.+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=AA:BB:CC:DD:EE:FF@unix:PATH or …@vhci")
    return match[1], match[2], match[3]


async def run(arguments: argparse.Namespace) -> None:
    air = Air(tell)
    controllers: dict[str, Controller] = {}
    wires: list[Wire] = []
    for name, address, wire in arguments.controllers:
        if name in controllers:
            raise SystemExit(f"air.py: two controllers named {name}")
        controllers[name] = Controller(name, air, address)
        kind = VirtualHCI() if wire == "vhci" else UnixWire(pathlib.Path(wire.removeprefix("unix:")))
        wires.append(kind)
        await kind.open(controllers[name], tell)
    commands = Commands(air, controllers)
    tell({"event": "ready", "controllers": list(controllers)})
    if arguments.control is None:
        await serve(commands, await standard_input(), print_line)
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(commands, reader, lambda reply: writer.write(json.dumps(reply).encode() + b"\n"))
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    arguments.control.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(answer, arguments.control, limit=LONGEST_LINE)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("controllers", nargs="+", type=parse_controller, metavar="CONTROLLER")
    parser.add_argument("--control", type=pathlib.Path, help="take commands on this socket, and not on standard input")
    logging.basicConfig(level=os.environ.get("LATCHKEY_AIR_LOG", "WARNING").upper(), stream=sys.stderr)
    try:
        asyncio.run(run(parser.parse_args()))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
