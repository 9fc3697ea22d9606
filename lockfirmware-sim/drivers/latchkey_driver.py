"""The driver's side of the lock's driver protocol, version 1 (docs/lock-driver.md).

A driver is a Bolt and a call of run(). Everything happens in one thread: the lock's lines, the switches and the motor are
looked at in turn, so nothing here waits for anything while the motor runs. Standard library only.
"""
import json
import os
import select
import signal
import sys
import time

VERSION = 1
MAXIMUM_LINE = 1024


class Bolt:
    """The motor and the sensors. Override what the hardware has."""

    name = "bolt"

    def extend(self):
        """Starts the motor towards locked."""
        raise NotImplementedError

    def retract(self):
        """Starts the motor towards unlocked."""
        raise NotImplementedError

    def stop(self):
        """Stops the motor. Called again and again, also when it rests."""
        raise NotImplementedError

    def is_locked(self):
        """Whether the switch at the extended end is on."""
        raise NotImplementedError

    def is_unlocked(self):
        """Whether the switch at the retracted end is on."""
        raise NotImplementedError

    def is_stalled(self):
        """Whether the motor's current shows that the bolt is stuck."""
        return False

    def sensors(self):
        """What else there is: door ("open", "closed"), battery (percent), tamper (bool). Leave out what there is not."""
        return {}

    def hand(self):
        """Where a hand turned the bolt: "inside", "outside" or "unknown"."""
        return "unknown"

    def buttons(self):
        """What was pressed since the last call: a list of {"type": "mode", ...}, {"type": "reset", ...} and
        {"type": "enroll"}."""
        return []

    def close(self):
        """Lets go of the hardware."""


class Driver:
    """One conversation with the lock. Give it lines and the time; it calls the bolt and returns lines."""

    def __init__(self, bolt, turn_limit=4.0, settle=0.3):
        """turn_limit: seconds after which a turn is given up. settle: how long after the motor's stop the bolt may still
        move by itself."""
        self.bolt = bolt
        self.turn_limit = turn_limit
        self.settle = settle
        self.watchdog = None
        self.heard_at = None
        self.turn = None
        self.rests_since = None
        self.shown = None
        self.is_over = False
        self.lines = []

    # The lock's lines

    def hear(self, line, now):
        """A line of the lock, without its end. Returns the lines to send."""
        self.heard_at = now
        try:
            message = json.loads(line)
            kind = message["type"]
        except (ValueError, KeyError, TypeError) as error:
            raise ProtocolError(f"not a message of the lock: {line[:100]!r}") from error
        if kind == "hello":
            if VERSION not in message.get("versions", []):
                raise ProtocolError(f"the lock speaks {message.get('versions')}, this driver {VERSION}")
            self.watchdog = message["watchdog"] / 1000
            self.say({"type": "hello", "version": VERSION, "name": self.bolt.name})
            self.show()
        elif self.watchdog is None:
            raise ProtocolError("the lock did not say hello first")
        elif kind in ("extend", "retract"):
            self.begin(kind, message["id"], now)
        elif kind == "stop":
            if self.turn:
                self.end_turn(now)
        elif kind == "ping":
            self.say({"type": "pong", "id": message["id"]})
        elif kind == "bye":
            self.is_over = True
        return self.taken()

    def look(self, now):
        """Looks at the switches and the clock. Call it every few milliseconds. Returns the lines to send."""
        if self.watchdog is None:
            return []
        if self.turn:
            kind, _, began = self.turn
            arrived = self.bolt.is_locked() if kind == "extend" else self.bolt.is_unlocked()
            is_abandoned = now - self.heard_at > self.watchdog
            if arrived or self.bolt.is_stalled() or is_abandoned or now - began > self.turn_limit:
                self.end_turn(now)
        is_moving = self.turn or (self.rests_since is not None and now - self.rests_since < self.settle)
        self.show(hand=None if is_moving else self.bolt.hand)
        for pressed in self.bolt.buttons():
            self.say(pressed)
        return self.taken()

    def end(self):
        """The lock is gone, or said goodbye."""
        self.bolt.stop()
        self.turn = None

    # Inside

    def begin(self, kind, number, now):
        self.turn = (kind, number, now)
        if kind == "extend":
            self.bolt.extend()
        else:
            self.bolt.retract()

    def end_turn(self, now):
        self.bolt.stop()
        _, number, _ = self.turn
        self.turn = None
        self.rests_since = now
        self.show()
        self.say({"type": "stopped", "id": number, "at": self.position()})

    def position(self):
        if self.shown["locked"]:
            return "locked"
        return "unlocked" if self.shown["unlocked"] else "between"

    def show(self, hand=None):
        """Sends the sensors if they have changed.

        hand: tells where a hand is, if only a hand can have turned the bolt."""
        state = {"locked": self.bolt.is_locked(), "unlocked": self.bolt.is_unlocked(), **self.bolt.sensors()}
        if state == self.shown:
            return
        before, self.shown = self.shown, state
        message = {"type": "state", **state}
        switches = ("locked", "unlocked")
        if hand and before and any(before[name] != state[name] for name in switches):
            message["hand"] = hand()
        self.say(message)

    def say(self, message):
        self.lines.append(json.dumps(message, separators=(",", ":")))

    def taken(self):
        lines, self.lines = self.lines, []
        return lines


class ProtocolError(Exception):
    pass


def run(bolt, turn_limit=4.0, interval=0.02):
    """Speaks with the lock over standard input and output until it ends. The motor is off afterwards, however it ends."""
    driver = Driver(bolt, turn_limit)
    # A signal ends this program by an exception, so that the motor is switched off.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    received = b""
    try:
        while not driver.is_over:
            readable, _, _ = select.select([sys.stdin.fileno()], [], [], interval)
            lines = []
            if readable:
                data = os.read(sys.stdin.fileno(), 4096)
                if not data:
                    break
                *whole, received = (received + data).split(b"\n")
                if len(received) > MAXIMUM_LINE:
                    raise ProtocolError("the lock's line is too long")
                for line in whole:
                    lines += driver.hear(line.decode(), time.monotonic())
            lines += driver.look(time.monotonic())
            if lines:
                sys.stdout.write("".join(line + "\n" for line in lines))
                sys.stdout.flush()
    except (BrokenPipeError, ProtocolError) as error:
        print(f"{bolt.name}: {error}", file=sys.stderr)
        return 1
    finally:
        driver.end()
        bolt.close()
    return 0
