#!/usr/bin/env python3
"""Measures the time from being in range again to the accepted unlock: Latchkey's agent, alive and dead, and a bleak
program.

    compare.py [--returns N] [--rounds N] [--json FILE]

Boots a door and a phone as virtual machines, installs Latchkey's packages on both and sets them up. The phone then
leaves and returns, equally often for each contender, in turns. Benchmarks/README.md describes what is measured, and
how.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pathlib
import statistics
import subprocess
import sys
from typing import Any

from machines import ROOT, Machines

CONTENDERS = {"alive": "Latchkey, agent alive", "dead": "Latchkey, agent dead", "bleak": "bleak, alive"}
PACKAGES = {
    "door": ["latchkeyd", "latchkey", "latchkey-lock"],
    "phone": ["latchkeyd", "latchkey", "latchkey-agent"],
}
BLEAK = ["bleak==3.1.0", "dbus-fast==5.2.0", "cryptography==50.0.2"]
# For the Python and C library of Debian 13, in the guests.
WHEELS = ["--python-version=3.13", "--only-binary=:all:", "--platform=manylinux_2_17_x86_64"]
WHEELS += ["--platform=manylinux2014_x86_64", "--platform=manylinux_2_28_x86_64"]
RETURN_LIMIT = 120.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def drop_in(unit: str, command: str) -> str:
    folder = f"/etc/systemd/system/{unit}.service.d"
    return f"mkdir -p {folder} && printf '[Service]\\nExecStart=\\nExecStart={command}\\n' >{folder}/bench.conf"


class Comparison:
    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        #: Seconds from being in range again to the link, and to the accepted unlock.
        self.figures: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
        self.failures = dict.fromkeys(CONTENDERS, 0)
        self.journal: asyncio.Queue[tuple[float, dict[str, Any]]] = asyncio.Queue()

    async def prepare(self) -> None:
        run = self.machines.run
        await asyncio.gather(*(self._install(name, packages) for name, packages in PACKAGES.items()))
        # Makes the lock lock again, and the phone count as away, within seconds.
        await run("door", drop_in("latchkey-lock", "/usr/libexec/latchkey/latchkey-lock --leaving-delay 1"))
        await run("phone", drop_in("latchkey-agent", "/usr/libexec/latchkey/latchkey-agent --away 1"))
        await asyncio.gather(run("door", "systemctl daemon-reload"), run("phone", "systemctl daemon-reload"))
        phone = (await run("phone", "latchkey setup phone")).strip()
        lock = (await run("door", f"latchkey setup lock --phone {phone}")).strip()
        self.journal = await self.machines.follow(
            "door", "journalctl --follow --lines=0 --output=json --unit=latchkey-lock"
        )
        await run("phone", f"latchkey setup phone --lock {lock}")
        await self.machines.air_event("link.up")
        await run("phone", self._until_journal("latchkey-agent", "^subscribed$"))
        await self._install_bleak()
        say("set up, bonded and subscribed")

    async def _install(self, name: str, packages: list[str]) -> None:
        for package in packages:
            (file,) = (ROOT / ".build/packages").glob(f"{package}_*.deb")
            await self.machines.run(name, f"cat >/root/{package}.deb", file.read_bytes())
        await self.machines.run(name, "DEBIAN_FRONTEND=noninteractive apt-get install -y /root/*.deb", limit=600)

    async def _install_bleak(self) -> None:
        folder = ROOT / ".build/bleak-machine"
        stamp = folder / "latchkey-packages"
        if not stamp.exists() or stamp.read_text() != " ".join(BLEAK):
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
            subprocess.run([*pip, f"--target={folder}", *WHEELS, *BLEAK], check=True)
            stamp.write_text(" ".join(BLEAK))
        here = pathlib.Path(__file__).parent
        archive = subprocess.run(
            ["tar", "c", "-C", folder, ".", "-C", here, "noise.py", "unlock.py"], stdout=subprocess.PIPE, check=True
        )
        await self.machines.run("phone", "mkdir -p /opt/bleak && tar x -C /opt/bleak", archive.stdout)

    @staticmethod
    def _until_journal(unit: str, pattern: str) -> str:
        """A command that ends at the unit's first journal entry like this, past or future."""
        return f"timeout 120 sh -c 'journalctl --follow --lines=all --output=cat --unit={unit} | grep -m1 {pattern}'"

    # Contenders

    async def begin(self, contender: str) -> None:
        run = self.machines.run
        if contender == "bleak":
            await run("phone", "latchkey quit org.latchkey.agent; systemctl stop latchkeyd")
            # Makes bluetoothd forget which devices to keep connected, so that this contender has the radio for
            # itself.
            await run("phone", "systemctl restart bluetooth")
            await run("phone", "bluetoothctl --timeout 5 power on >/dev/null || true")
            command = "systemd-run --quiet --unit=bleak-unlock --setenv=PYTHONUNBUFFERED=1 python3 /opt/bleak/unlock.py"
            await run("phone", f"{command} /etc/latchkey/agent/phone-keys.json")
        else:
            await run("phone", "systemctl start latchkeyd && latchkey open org.latchkey.agent")
            await run("phone", "latchkey leave org.latchkey.agent")

    async def end(self, contender: str) -> None:
        if contender == "bleak":
            await self.machines.run("phone", "systemctl stop bleak-unlock; systemctl restart bluetooth")

    async def entry(self, message: str, limit: float, **fields: str) -> float:
        """The time of the lock's next entry like this."""

        async def next_one() -> float:
            while True:
                moment, entry = await self.journal.get()
                if entry.get("MESSAGE") == message and all(
                    entry.get(f"LATCHKEY_FIELD_{name.upper()}") == value for name, value in fields.items()
                ):
                    return moment

        return await asyncio.wait_for(next_one(), limit)

    def forget(self) -> None:
        while not self.journal.empty():
            self.journal.get_nowait()
        while not self.machines.air_events.empty():
            self.machines.air_events.get_nowait()

    async def leave(self, contender: str) -> None:
        self.forget()
        await self.machines.in_range(False)
        try:
            # If the last return failed, there is no link, and the lock is still locked.
            await self.machines.air_event("link.down", 10)
            await self.entry("bolt.moved", 20, to="locked")
        except TimeoutError:
            pass
        if contender == "dead":
            await self.machines.run("phone", "latchkey reclaim org.latchkey.agent")
        elif contender == "alive":
            await self.machines.run(
                "phone", "timeout 30 sh -c 'until latchkey apps | grep -q suspended; do sleep 0.5; done' || true"
            )

    async def measure(self, contender: str) -> None:
        await self.leave(contender)
        self.forget()
        began = await self.machines.in_range(True)
        try:
            accepted = asyncio.create_task(self.entry("command.accepted", RETURN_LIMIT, command="unlock"))
            linked = await self.machines.air_event("link.up", RETURN_LIMIT)
            figure = (linked - began, await accepted - began)
            await self.entry("bolt.moved", 20, to="unlocked")
        except TimeoutError:
            self.failures[contender] += 1
            say(f"{contender}: no unlock within {RETURN_LIMIT:.0f} s")
            return
        self.figures[contender].append(figure)
        say(f"{contender} {len(self.figures[contender])}: link {figure[0]:.2f} s, accepted {figure[1]:.2f} s")

    async def run(self, returns: int, rounds: int) -> None:
        for turn in range(rounds):
            for contender in CONTENDERS:
                await self.leave("")
                await self.begin(contender)
                # One return is not counted, because of the first imports, reads and link.
                await self.machines.in_range(True)
                await self.entry("command.accepted", RETURN_LIMIT)
                for _ in range(returns // rounds + (turn < returns % rounds)):
                    await self.measure(contender)
                await self.end(contender)


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def report(comparison: Comparison) -> str:
    bleak = statistics.median(accepted for _, accepted in comparison.figures["bleak"])
    lines = [
        "| | returns | failed | link p50 | accepted p50 | p95 | accepted p50, bleak's = 1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for contender, name in CONTENDERS.items():
        figures = comparison.figures[contender]
        if not figures:
            lines.append(f"| {name} | 0 | {comparison.failures[contender]} | | | | |")
            continue
        link = statistics.median(linked for linked, _ in figures)
        accepted = [value for _, value in figures]
        median = statistics.median(accepted)
        lines.append(
            f"| {name} | {len(figures)} | {comparison.failures[contender]} | {link:.2f} s | {median:.2f} s "
            f"| {quantile(accepted, 0.95):.2f} s | {median / bleak:.2f} |"
        )
    return "\n".join(lines)


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--returns", type=int, default=30, help="of each contender")
    parser.add_argument("--rounds", type=int, default=3, help="turns in which they come")
    parser.add_argument("--json", type=pathlib.Path, help="a file for every figure")
    arguments = parser.parse_args()
    async with Machines() as machines:
        comparison = Comparison(machines)
        await comparison.prepare()
        await comparison.run(arguments.returns, arguments.rounds)
        if arguments.json:
            arguments.json.write_text(json.dumps({"figures": comparison.figures, "failures": comparison.failures}))
        print(report(comparison))


if __name__ == "__main__":
    asyncio.run(main())
