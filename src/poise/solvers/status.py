"""Status: the result of a solve."""

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """The result of a solve. Missing the goals is a result, not an exception."""

    REACHED = "reached"
    STALLED = "stalled"
    OUT_OF_STEPS = "out of steps"
    OUT_OF_TIME = "out of time"
    UNREACHABLE = "unreachable"
    INVALID = "invalid"
    IN_COLLISION = "in collision"

    def __str__(self) -> str:
        return self.value
