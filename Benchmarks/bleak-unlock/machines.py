"""Two virtual machines, door and phone, and the air between them, which run within a `with` (docs/machines.md)."""

from __future__ import annotations

import asyncio
import json
import pathlib
import subprocess
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORTS = {"door": 2341, "phone": 2342}
ADDRESSES = {"door": "C0:DE:00:00:00:11", "phone": "C0:DE:00:00:00:12"}
BOOT_LIMIT = 300.0


class Machines:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="latchkey-bench-")
        self._path = pathlib.Path(self._folder.name)
        self._processes: list[asyncio.subprocess.Process] = []
        self._image = ""
        self._air: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._requests = 0
        #: The events of the air, each with its arrival time by this machine's monotonic clock.
        self.air_events: asyncio.Queue[tuple[float, dict[str, Any]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Machines:
        try:
            built = subprocess.run([ROOT / "scripts/vm/build-image"], stdout=subprocess.PIPE, check=True, text=True)
            self._image = built.stdout.strip()
            wires = [f"{name}={ADDRESSES[name]}@unix:{self._path}/{name}.hci" for name in PORTS]
            self._air = await self._start(ROOT / "scripts/vm/air.py", *wires, output=True)
            self._tasks.append(asyncio.create_task(self._read_air(self._air)))
            await self.air_event("ready")
            for name, port in PORTS.items():
                await self._start(
                    *(ROOT / "scripts/vm/run-machine", "--name", name, "--image", self._image),
                    *("--disk", self._path / f"{name}.qcow2", "--ssh-port", port),
                    *("--hci", self._path / f"{name}.hci", "--console", self._path / f"{name}.console"),
                )
            await asyncio.wait_for(asyncio.gather(*(self._booted(name) for name in PORTS)), BOOT_LIMIT)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        # Their standard input ends, which ends the processes.
        for process in reversed(self._processes):
            if process.stdin:
                process.stdin.close()
        for process in self._processes:
            try:
                await asyncio.wait_for(process.wait(), 10)
            except TimeoutError:
                process.kill()
        self._folder.cleanup()

    async def _start(self, *command: object, output: bool = False) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(str(part) for part in command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if output else asyncio.subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process

    async def _booted(self, name: str) -> None:
        console = self._path / f"{name}.console"
        tail = await self._start("tail", "--follow=name", "--retry", "--lines=+1", "--quiet", console, output=True)
        assert tail.stdout
        async for line in tail.stdout:
            if b"latchkey-lab: ready" in line:
                tail.terminate()
                return

    # The air

    async def _read_air(self, air: asyncio.subprocess.Process) -> None:
        assert air.stdout
        async for line in air.stdout:
            message = json.loads(line)
            if "event" in message:
                self.air_events.put_nowait((time.monotonic(), message))
            elif message.get("id") in self._waiting:
                self._waiting.pop(message["id"]).set_result(message)

    async def air_event(self, name: str, limit: float = 60.0) -> float:
        """The time of the next event of this name. Skips other events before it."""

        async def next_one() -> float:
            while True:
                moment, event = await self.air_events.get()
                if event["event"] == name:
                    return moment

        return await asyncio.wait_for(next_one(), limit)

    async def in_range(self, on: bool) -> float:
        """Puts the machines into each other's range or out of it, and returns the time."""
        assert self._air and self._air.stdin
        self._requests += 1
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._requests] = reply
        command = {"id": self._requests, "command": "range", "a": "door", "b": "phone", "on": on}
        moment = time.monotonic()
        self._air.stdin.write(json.dumps(command).encode() + b"\n")
        answer = await asyncio.wait_for(reply, 10)
        if not answer["ok"]:
            raise RuntimeError(f"the air refused {command}: {answer}")
        return moment

    # Commands

    def _ssh(self, name: str, *command: str) -> list[str]:
        control = ["-o", "ControlMaster=auto", "-o", f"ControlPath={self._path}/ssh-{name}", "-o", "ControlPersist=60"]
        return ["ssh", "-F", f"{self._image}/ssh_config", *control, "-p", str(PORTS[name]), "machine", *command]

    async def run(self, name: str, command: str, stdin: bytes | None = None, limit: float = 300.0) -> str:
        """Runs a shell command on a machine, and returns its output."""
        process = await asyncio.create_subprocess_exec(
            *self._ssh(name, command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await asyncio.wait_for(process.communicate(stdin or b""), limit)
        if process.returncode != 0:
            raise RuntimeError(f"{name}: {command}: status {process.returncode}\n{output.decode()}{errors.decode()}")
        return output.decode()

    async def follow(self, name: str, command: str) -> asyncio.Queue[tuple[float, dict[str, Any]]]:
        """Runs a command that prints lines of JSON. Yields each with its arrival time by this machine's clock."""
        process = await asyncio.create_subprocess_exec(
            *self._ssh(name, command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        self._processes.append(process)
        queue: asyncio.Queue[tuple[float, dict[str, Any]]] = asyncio.Queue()

        async def read() -> None:
            assert process.stdout
            async for line in process.stdout:
                queue.put_nowait((time.monotonic(), json.loads(line)))

        self._tasks.append(asyncio.create_task(read()))
        return queue
