"""The Raspberry Pi's driver on gpiozero's own simulated pins."""
import importlib.machinery
import importlib.util
import json
import os
import sys
import unittest

from gpiozero import Device
from gpiozero.pins.mock import MockFactory

FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, FOLDER)
import latchkey_driver  # noqa: E402


def program(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), f"{FOLDER}/{name}")
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


pi = program("raspberry-pi-bolt")


class Bench:
    """The driver, its pins, and a lock that speaks with it; the clock is moved by hand."""

    def __init__(self, *words):
        Device.pin_factory = MockFactory()
        self.now = 100.0
        self.options = pi.arguments(
            list(words) + ["--locked-switch", "5", "--unlocked-switch", "6", "--door-switch", "13"])
        self.bolt = pi.RaspberryPiBolt(self.options)
        # Pulled-up switches: low is closed. The bolt is locked, the door closed.
        self.switch(5, True)
        self.switch(6, False)
        self.switch(13, True)
        self.driver = latchkey_driver.Driver(self.bolt, self.options.turn_limit)

    def switch(self, number, is_closed):
        pin = Device.pin_factory.pin(number)
        pin.drive_low() if is_closed else pin.drive_high()

    def pin(self, number):
        return Device.pin_factory.pin(number).state

    def hear(self, **message):
        return [json.loads(line) for line in self.driver.hear(json.dumps(message), self.now)]

    def look(self, seconds=0.02):
        self.now += seconds
        return [json.loads(line) for line in self.driver.look(self.now)]

    def greet(self):
        return self.hear(type="hello", versions=[1], watchdog=3000)


class MotorTests(unittest.TestCase):
    def setUp(self):
        self.bench = Bench("--motor", "17,27")
        self.hello, self.state = self.bench.greet()

    def tearDown(self):
        self.bench.bolt.close()

    def test_says_hello_and_shows_its_switches(self):
        self.assertEqual(self.hello, {"type": "hello", "version": 1, "name": "raspberry-pi-bolt"})
        self.assertEqual(self.state, {"type": "state", "locked": True, "unlocked": False, "door": "closed"})

    def test_turns_until_the_switch_at_the_end_closes(self):
        bench = self.bench
        self.assertEqual(bench.hear(type="retract", id=1), [])
        self.assertEqual((bench.pin(17), bench.pin(27)), (0, 1))
        bench.switch(5, False)
        self.assertEqual([line["type"] for line in bench.look()], ["state"])
        bench.switch(6, True)
        state, stopped = bench.look()
        self.assertEqual((state["locked"], state["unlocked"]), (False, True))
        self.assertNotIn("hand", state)
        self.assertEqual(stopped, {"type": "stopped", "id": 1, "at": "unlocked"})
        self.assertEqual((bench.pin(17), bench.pin(27)), (0, 0))
        bench.hear(type="extend", id=2)
        self.assertEqual((bench.pin(17), bench.pin(27)), (1, 0))

    def test_a_bolt_that_does_not_arrive_is_given_up(self):
        bench = self.bench
        bench.hear(type="retract", id=1)
        bench.switch(5, False)
        bench.look()
        # The lock lives all the time.
        for number in range(3):
            bench.now += 1
            bench.hear(type="ping", id=number)
        self.assertEqual(bench.look(1.1), [{"type": "stopped", "id": 1, "at": "between"}])
        self.assertEqual((bench.pin(17), bench.pin(27)), (0, 0))

    def test_a_lock_that_is_silent_stops_the_motor(self):
        bench = self.bench
        bench.hear(type="retract", id=1)
        bench.switch(5, False)
        bench.look()
        self.assertEqual(bench.pin(27), 1)
        bench.look(3.1)
        self.assertEqual(bench.pin(27), 0)

    def test_the_lock_stops_the_motor(self):
        bench = self.bench
        bench.hear(type="retract", id=1)
        self.assertEqual(bench.hear(type="stop")[-1], {"type": "stopped", "id": 1, "at": "locked"})
        self.assertEqual(bench.pin(27), 0)

    def test_the_motor_is_off_when_the_lock_is_gone(self):
        bench = self.bench
        bench.hear(type="retract", id=1)
        bench.driver.end()
        self.assertEqual(bench.pin(27), 0)

    def test_a_hand_and_the_door(self):
        bench = self.bench
        bench.switch(5, False)
        self.assertEqual(bench.look()[0]["hand"], "unknown")
        bench.switch(6, True)
        self.assertEqual(bench.look()[0]["hand"], "unknown")
        bench.switch(13, False)
        self.assertEqual(
            bench.look(), [{"type": "state", "locked": False, "unlocked": True, "door": "open"}])
        self.assertEqual(bench.look(), [])

    def test_a_broken_wire_is_never_locked(self):
        self.bench.switch(5, False)
        self.assertFalse(self.bench.look()[0]["locked"])

    def test_a_lock_of_another_version_is_refused(self):
        with self.assertRaises(latchkey_driver.ProtocolError):
            self.bench.hear(type="hello", versions=[2], watchdog=3000)


class RelayTests(unittest.TestCase):
    def test_a_relay_unlocks_while_it_is_on(self):
        bench = Bench("--relay", "22")
        bench.greet()
        self.assertEqual(bench.pin(22), 0)
        bench.hear(type="retract", id=1)
        self.assertEqual(bench.pin(22), 1)
        bench.switch(5, False)
        bench.switch(6, True)
        self.assertEqual(bench.look()[-1]["at"], "unlocked")
        self.assertEqual(bench.pin(22), 1, "it holds the bolt")
        bench.hear(type="extend", id=2)
        self.assertEqual(bench.pin(22), 0)
        bench.bolt.close()

    def test_wrong_arguments_are_refused(self):
        for words in (["--motor", "17"], ["--motor", "17,17"], ["--motor", "1,2", "--relay", "3"], []):
            with self.assertRaises(SystemExit), open(os.devnull, "w", encoding="utf-8") as nowhere:
                errors, sys.stderr = sys.stderr, nowhere
                try:
                    pi.arguments(words + ["--locked-switch", "5", "--unlocked-switch", "6"])
                finally:
                    sys.stderr = errors


if __name__ == "__main__":
    unittest.main()
