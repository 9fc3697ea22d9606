"""The places of machines, and how strongly they hear each other there: the mean path loss of
Sources/Radio/RadioPhysics.swift, without its shadowing and noise. Tests check that the two agree (test_air.py,
RadioTests)."""

from __future__ import annotations

import dataclasses
import math

#: The strength at one metre, in dBm, and how fast it decreases with the logarithm of the distance.
SIGNAL_AT_ONE_METRE = -59.0
PATH_LOSS_EXPONENT = 2.2
#: Nothing below this strength, in dBm, is received.
SENSITIVITY = -94.0
#: The maximum coordinate, in metres in each direction.
FARTHEST = 1e6
#: The longest walk, in seconds: a day.
LONGEST_WALK = 86400.0


def signal_over(distance: float) -> float:
    """The strength at that distance in metres, in dBm. It does not increase below 10 cm."""
    return SIGNAL_AT_ONE_METRE - 10 * PATH_LOSS_EXPONENT * math.log10(max(distance, 0.1))


@dataclasses.dataclass(frozen=True)
class Way:
    """A straight walk at a constant speed. If both ends are the same, it is a place."""

    x: float
    y: float
    to_x: float
    to_y: float
    began: float
    seconds: float

    def place(self, now: float) -> tuple[float, float]:
        share = 1.0 if now >= self.began + self.seconds else max(0.0, (now - self.began) / self.seconds)
        return self.x + (self.to_x - self.x) * share, self.y + (self.to_y - self.y) * share


def standing(x: float, y: float) -> Way:
    return Way(x, y, x, y, 0, 0)


def signal_between(one: Way, other: Way, now: float) -> float:
    (x, y), (other_x, other_y) = one.place(now), other.place(now)
    return signal_over(math.hypot(x - other_x, y - other_y))
