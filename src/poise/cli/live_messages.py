"""The messages of `poise follow`: JSON objects that move a Follower, and the answers to them.

| message | effect |
|---|---|
| ``{"targets": {goal: target}, "dt": 0.01}`` | `Follower.step`; also ``"measured": q``, ``"why": true`` |
| ``{"engage": goal, "pose": target}`` | `Follower.engage`; also ``"scale"`` and ``"axes"`` |
| ``{"release": goal}`` | `Follower.release` |
| ``{"pause": true}``, ``{"resume": true}`` | `Follower.pause`, `Follower.resume` |
| ``{"reset": true}`` | `Follower.reset` where the body is now, or at ``"measured": q`` |

A target is a point ``[x, y, z]``, a 4x4 matrix as a list of rows, ``{"position": [x, y, z], "quaternion": [w, x, y,
z]}``, or null if it was lost. Every message gets one answer; a wrong one gets ``{"error": text}`` and changes nothing.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import poise
from poise.arguments import check_flag
from poise.diagnosis.misses import is_missed
from poise.errors import InvalidValue, PoiseError, name_not_found, show_value
from poise.goals.goal import POSE, POSITION, ROTATION
from poise.kinematics.column_names import name_columns, name_velocities
from poise.kinematics.regions import LARGEST
from poise.motion import Follower, LiveSolution
from poise.spatial import Transform

__all__ = ["LiveMessages", "read_message"]

PROTOCOL = 1
STEP = ("targets", "dt", "measured", "why")
COMMANDS = {
    "engage": ("pose", "scale", "axes"),
    "release": (),
    "pause": (),
    "resume": (),
    "reset": ("measured",),
}
KINDS = {POSITION: "position", ROTATION: "rotation", POSE: "pose"}
PLACE = {"position": 3, "quaternion": 4}  # counts of numbers

Message = dict[str, Any]


class LiveMessages:
    """The conversation of one client at a time with a Follower.

    Args:
        follower: The follower.
        report: A function that is called with a line of text when a client comes or goes.
    """

    def __init__(self, follower: Follower, report: Callable[[str], object] = str) -> None:
        self.follower, self.report, self.busy = follower, report, False

    @contextmanager
    def admit(self, name: str) -> Iterator[Message]:
        """Serve one client, which gets the message that is yielded first.

        Raises:
            InvalidValue: Another client is connected.
        """
        if self.busy:
            raise InvalidValue("another client is connected; one at a time is served. Disconnect it and try again.")
        self.busy = True
        self.report(f"{name} is connected")
        try:
            yield self.greet()
        finally:
            self.busy = False
            self.report(f"{name} has left")

    def greet(self) -> Message:
        """Begin again where the body is, with nothing engaged; return the message to send first.

        Ranges are those of the velocities' coordinates, null if unlimited.
        """
        follower, model = self.follower, self.follower.model
        follower.reset(follower.q)
        ends = zip(model.lower.tolist(), model.upper.tolist(), strict=True)
        ranges = [[end if math.isfinite(end) else None for end in pair] for pair in ends]
        return {
            "poise": "follow",
            "protocol": PROTOCOL,
            "version": poise.__version__,
            "model": model.name,
            "units": model.units,
            "joints": name_columns(model),
            "ranges": dict(zip(name_velocities(model), ranges, strict=True)),
            "goals": {name: KINDS.get(row.op, "other") for name, row in follower.rows.items()},
            "q": follower.q.tolist(),
        }

    def answer(self, data: bytes | str, parse: Callable[[Any], Any] = json.loads) -> Message:
        """Return the answer to one message; `parse` reads its format."""
        try:
            message = read_message(data, parse)
            given = [name for name in COMMANDS if name in message]
            if len(given) > 1:
                raise InvalidValue(f"the message has {' and '.join(map(repr, given))}; send one of them in a message.")
            if not given:
                return self.step(message)
            check_keys(message, (given[0], *COMMANDS[given[0]]))
            self.command(given[0], message)
        except PoiseError as error:
            return {"error": str(error)}
        return {"done": given[0]}

    def command(self, name: str, message: Message) -> None:
        """Engage, release, pause, resume or reset."""
        follower, value = self.follower, message[name]
        if name in ("engage", "release"):
            if not isinstance(value, str):
                raise InvalidValue(f"{name} is {show_value(value)}; it must be the name of a goal.")
        elif value is not True:
            raise InvalidValue(f"{name} is {show_value(value)}; it must be true.")
        match name:
            case "engage":
                if message.get("pose") is None:
                    raise InvalidValue("pose is missing; give the pose of the controller now.")
                pose = read_target(message.get("pose"), f"pose of the controller of goal {value!r}")
                axes = check_numbers(message["axes"], "axes") if "axes" in message else None
                follower.engage(value, pose, scale=message.get("scale", 1.0), axes=axes)
            case "release":
                follower.release(value)
            case "pause":
                follower.pause()
            case "resume":
                follower.resume()
            case "reset":
                q = message.get("measured")
                follower.reset(follower.q if q is None else check_numbers(q, "measured"))

    def step(self, message: Message) -> Message:
        """Take one time step."""
        check_keys(message, STEP, COMMANDS)
        if "dt" not in message:
            raise InvalidValue('dt is missing; give the seconds since your last message, such as "dt": 0.01.')
        targets, measured = message.get("targets"), message.get("measured")
        if isinstance(targets, dict):
            targets = {name: read_target(target, f"target of goal {name!r}") for name, target in targets.items()}
        reasons = check_flag(message.get("why", False), "why")
        q = None if measured is None else check_numbers(measured, "measured")
        return write_step(self.follower.step(targets, message["dt"], q), reasons=reasons)


def write_step(step: LiveSolution, *, reasons: bool) -> Message:
    """Return the answer to a step."""
    missed = {} if step.reached else {name: e for name, e in step.errors.items() if is_missed(step.solution, name)}
    answer = {"q": step.q.tolist(), "velocity": step.velocity.tolist(), "state": step.state}
    return {**answer, "missed": missed, "gaps": dict(step.gaps), **({"why": step.why()} if reasons else {})}


# ------------------------------------------------------------------------------------------------ parsing


def read_message(data: bytes | str, parse: Callable[[Any], Any] = json.loads) -> Message:
    """Return the object of a message; all its numbers are floats, below LARGEST.

    Raises:
        InvalidValue: The message is not an object in this format, or has a value that no message has.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) and parse is json.loads else data
        message = read_value(parse(text))
    except InvalidValue:
        raise
    except (ValueError, RecursionError) as error:
        name = "JSON in UTF-8" if parse is json.loads else "msgpack"
        raise InvalidValue(f"the message is not {name}: {str(error) or type(error).__name__}.") from None
    if not isinstance(message, dict):
        raise InvalidValue(f'the message is {show_value(message)}; send an object, such as {{"dt": 0.01}}.')
    return message


def read_value(value: Any) -> Any:
    """Return a value of a message, with floats, which are small enough that no square overflows."""
    if isinstance(value, dict):
        return {name: read_value(each) for name, each in value.items()}
    if isinstance(value, list):
        return [read_value(each) for each in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if not isinstance(value, (int, float)):
        raise InvalidValue(f"the message has {show_value(value)}; it can have objects, lists, text and numbers.")
    if not abs(value) < LARGEST:
        rule = f"every number must be finite and below {LARGEST:g}. Send null for a target that was lost."
        raise InvalidValue(f"the message has {show_value(value)}; {rule}")
    return float(value)


def read_target(value: Any, what: str) -> Any:
    """Return a target or the pose of a controller for a Follower."""
    if value is None:
        return None
    if not isinstance(value, dict):
        return check_numbers(value, what)
    check_keys(value, PLACE)
    place = {key: check_numbers(value.get(key), f"{key} in the {what}", PLACE[key]) for key in {"position": 3, **value}}
    if "quaternion" not in value:
        return place["position"]
    try:
        return Transform(place["quaternion"], place["position"])
    except PoiseError as error:
        raise type(error)(f"{what}: {error}") from None


def check_numbers(value: Any, what: str, count: int = 0) -> list[Any]:
    """Return a list of `count` numbers as it is, or if that is 0, a list of any numbers or of lists of numbers."""
    listed = value if isinstance(value, list) else []
    flat = [x for row in listed for x in (row if isinstance(row, list) and not count else [row])]
    if not flat or len(flat) != (count or len(flat)) or not all(isinstance(x, float) for x in flat):
        raise InvalidValue(f"{what} is {show_value(value)}; it must be a list of {f'{count} ' * (count > 0)}numbers.")
    return listed


def check_keys(message: Message, known: Iterable[str], others: Iterable[str] = ()) -> None:
    """Raise an error for a key that is not known; `others` are suggested, too."""
    for key in message:
        if key not in known:
            raise name_not_found("key of this message", key, [*known, *others])
