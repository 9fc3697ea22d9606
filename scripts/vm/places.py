"""Where machines are, and how strongly they hear each other there: the mean path loss of Sources/Radio/RadioPhysics.swift,
without its shadows and noise. The two are tried against each other (test_air.py, RadioTests)."""

from __future__ import annotations

import dataclasses
import math

#: What is heard at one metre, in dBm, and how fast that falls with the logarithm of the distance.
SIGNAL_AT_ONE_METRE = -59.0
PATH_LOSS_EXPONENT = 2.2
#: Below this strength, in dBm, nothing arrives.
SENSITIVITY = -94.0
#: The farthest place from the middle, in metres in each direction.
FARTHEST = 1e6
#: The longest walk, in seconds: a day.
LONGEST_WALK = 86400.0


def signal_over(distance: float) -> float:
    """The strength over that many metres, in dBm; nearer than 10 cm it grows no more."""
    return SIGNAL_AT_ONE_METRE - 10 * PATH_LOSS_EXPONENT * math.log10(max(distance, 0.1))


@dataclasses.dataclass(frozen=True)
class Way:
    """A straight line that is walked evenly; where both ends are one, a place."""

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
