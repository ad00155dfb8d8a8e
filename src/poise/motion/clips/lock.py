"""Lock: hold the contacts of a clip exactly, with the smallest change elsewhere.

The displacement from the clip is made as small and as smooth over time as the contacts allow, root first, because a
metre of the root costs no more than a radian of a joint. A place that cannot be held for a whole contact moves to the
mean place of the point; contacts that still fail are released and reported. Kovar, Schreiner and Gleicher, Footskate
cleanup for motion capture editing (2002), solve the same problem frame by frame.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from poise.anatomy import find_edges
from poise.arrays import Floats
from poise.errors import InvalidValue
from poise.goals import HalfSpace, Inside, Reach
from poise.goals.inside import pack_region
from poise.kinematics import Motion
from poise.kinematics.clip_edits import follow_branches
from poise.kinematics.motion import check_motion
from poise.limits import Limit
from poise.motion.clips.clip_limits import part_limits, read_limits, read_number
from poise.motion.clips.edge_goals import list_edge_goals
from poise.motion.clips.lock_options import LockOptions
from poise.motion.clips.result import HOLD_ERROR, Released, Track, list_holding
from poise.motion.clips.whole_clip import ClipGoal, Progress, RepeatedProgress
from poise.motion.contact.cuts import find_cuts
from poise.motion.contact.detector import contacts as find_contacts
from poise.motion.contact.detector import find_runs
from poise.motion.contact.ledger import Contact, Contacts, Place, find_kind, flag_contact
from poise.motion.contact.sole_places import MAX_PLACE_SHIFT, TiltedSoles, fit_places, measure_shift
from poise.motion.contact.soles import measure_giant
from poise.motion.contact.standing_heights import find_heights_below, list_swinging

__all__ = ["lock", "lock_places"]

Key = tuple[str, Place]
SHIFT_ROUNDS = 3  # rounds in which places move to the mean of the body's points
FIND_ROUNDS = 2  # rounds in which contacts are found that show only after others are held
RELEASE_ROUNDS = 3  # rounds in which contacts that do not hold are released
FLOOR_DISTANCE = 0.05  # m: points that stay farther above the floor cannot sink into it
EXACT_HOLD = 1e-9  # m: a place held to within this distance is not moved
SAME_PLACE = 1e-7  # m: smaller changes of a place are ignored
MOST_RELEASE_ERROR = 2e-3  # m: contacts with a smaller error are reported but stay held
CONTACT_TOLERANCE = 1e-5, 1e-3  # m, rad


def lock(
    clip: Motion,
    contacts: Contacts | str = "auto",
    *,
    floor: float | None = None,
    smooth: float = 1.0,
    joints: Sequence[str] | None = None,
    limits: Iterable[Limit] | Limit = (),
    max_steps: int | None = None,
    progress: Progress | None = None,
) -> Track:
    """Return a clip whose contacts stand exactly still on the floor, and whose soles do not sink into it.

    Args:
        clip: The motion.
        contacts: The contacts to hold; "auto" detects them.
        floor: The height of the floor [m]; by default the height at which the clip stands.
        smooth: The spread of a correction in time; 1 is about 0.1 s before and after a contact.
        joints: The only joints that may move; by default all.
        limits: Limits in addition to the joint ranges, such as `Speed(8.0)`: they have priority over the contacts.
        max_steps: The most steps of one solve; contacts are exact after a few, further steps make changes smaller.
        progress: Called with the number of frames done and the total.

    Raises:
        InvalidValue: The clip has no frame, the contacts belong to another clip, or the body has no feet.
    """
    check_motion(clip)
    smooth = read_number(smooth, "smooth", 0.0)
    height = None if floor is None else read_number(floor, "floor")
    ledger = read_contacts(clip, contacts)
    if height is not None:
        ledger = move_ground(ledger, height, clip.model.up_direction)
    passes = None if progress is None else RepeatedProgress(progress)
    options = LockOptions(smooth, joints, read_limits(limits), passes, max_steps)
    track = lock_places(clip, ledger, options)
    for _ in range(FIND_ROUNDS if isinstance(contacts, str) else 0):
        others = find_others(track.motion, ledger, height)
        if not others:
            break
        ledger = replace(ledger, intervals=(*ledger, *others))
        track = lock_places(clip, ledger, options)
    if progress is not None:
        progress(len(clip), len(clip))
    return replace(track, demanded=ledger)


def find_others(locked: Motion, ledger: Contacts, floor: float | None) -> list[Contact]:
    """List the contacts of a locked clip at times without any before: held feet show which others stand."""
    known = {name: flag_contact(ledger, name) for name in {contact.name for contact in ledger}}
    found = find_contacts(locked, floor=floor)
    return [c for c in found if c.name not in known or not known[c.name][c.start : c.end].any()]


def lock_places(clip: Motion, ledger: Contacts, options: LockOptions) -> Track:
    """Return a clip with its contacts held at their places, by default those of the clip."""
    ledger = fit_places(clip, fill_places(clip, ledger))
    if part_limits(options.limits)[1]:
        clip = Motion(clip.model, follow_branches(clip.model, clip.q), clip.fps)
    return hold_contacts(clip, ledger, replace(options, size=measure_giant(clip), cuts=tuple(find_cuts(clip))))


def hold_contacts(clip: Motion, ledger: Contacts, options: LockOptions) -> Track:
    """Return the clip with its contacts held; contacts that do not hold are released, in rounds.

    Contacts that miss by less than `MOST_RELEASE_ERROR` are reported but stay held, also while others are released: a
    point that is free for one frame jumps.
    """
    released, q = list[Released](), clip.q
    for left in reversed(range(RELEASE_ROUNDS)):
        ledger, q, errors, broken = shift_places(clip, ledger, q, options)
        far = max((errors[c.frame, c.point][c.start : c.end, 0].max() for c in ledger), default=0.0)
        last = not left or far <= MOST_RELEASE_ERROR * options.size
        most = HOLD_ERROR if last else MOST_RELEASE_ERROR
        kept, let_go = part_held(Motion(clip.model, q, clip.fps), ledger, errors, options.limits, most * options.size)
        released += let_go
        ledger = replace(ledger, intervals=tuple(kept))
        if last:
            break
    names = {contact.name: errors.get((contact.frame, contact.point)) for contact in ledger}
    flags = {name: flag_contact(ledger, name) for name in names}
    return Track(
        Motion(clip.model, q, clip.fps),
        {name: error for name, error in names.items() if error is not None},
        dict.fromkeys(names, (options.size * CONTACT_TOLERANCE[0], CONTACT_TOLERANCE[1])),
        ledger,
        tuple(released),
        clip,
        flags,
        options.limits,
        broken,
    )


def shift_places(
    clip: Motion, ledger: Contacts, q: Floats, options: LockOptions
) -> tuple[Contacts, Floats, dict[Key, Floats], NDArray[np.bool_]]:
    """Return the contacts at places that the body can hold together, the solved clip, and the remaining errors.

    The last item flags the frames that still break a limit.

    The places of the heel and toe of one foot must fit each other: if they do not, each moves to the mean place of its
    point in the solved clip.
    """
    errors: dict[Key, Floats] = {}
    broken, before, timed = np.zeros(len(clip), dtype=bool), np.inf, bool(part_limits(options.limits)[1])
    exact = options.size * (0.5 * HOLD_ERROR if options.limits else EXACT_HOLD)
    for round_ in range(SHIFT_ROUNDS):
        goals = list_goals(clip, ledger, None, options.size)
        if not goals and not options.limits:
            return ledger, q, {}, broken
        answer = options.solve(clip, goals, q)
        q, broken = answer.q, answer.broken
        keys = list_keys(ledger)
        errors = {key: answer.errors[:, i] for i, key in enumerate(keys)}
        off = [errors[c.frame, c.point][c.start : c.end, 0].max() for c in ledger]
        far = max(off, default=0.0)
        if round_ + 1 == SHIFT_ROUNDS or far <= exact or (timed and far > 0.5 * before):
            break
        before = far
        moved = Motion(clip.model, q, clip.fps)
        shifted = tuple(
            c if far <= EXACT_HOLD * options.size else recentre(moved, c) for c, far in zip(ledger, off, strict=True)
        )
        fitted = fit_places(clip, replace(ledger, intervals=shifted))
        if measure_shift(ledger, fitted) <= SAME_PLACE * options.size:
            break
        ledger = fitted
    return ledger, q, errors, broken


def recentre(moved: Motion, contact: Contact) -> Contact:
    """Return a contact moved horizontally to the mean place of its point in a clip."""
    if contact.place is None:
        return contact
    up = moved.model.up_direction
    path = moved[contact.start : contact.end].positions(contact.frame, contact.point)
    shift = path.mean(axis=0) - np.array(contact.place)
    normal = up if contact.normal is None else np.array(contact.normal)
    shift -= (shift @ normal) * normal
    if np.linalg.norm(shift) > MAX_PLACE_SHIFT * moved.model.length:
        return contact
    place = np.array(contact.place) + shift
    return replace(contact, place=(place[0], place[1], place[2]))


def list_keys(ledger: Contacts) -> list[Key]:
    """List the points of the contacts, each once."""
    return list(dict.fromkeys((contact.frame, contact.point) for contact in ledger))


def list_goals(clip: Motion, ledger: Contacts, tipping: TiltedSoles | None = None, size: float = 1.0) -> list[ClipGoal]:
    """List the goals of the contacts: points at their places, and no sole below the floor."""
    up = clip.model.up_direction
    floors = {} if tipping is None else tipping.list_floors()
    stood, kin = find_stood(clip, ledger, floors)
    held, above, most = [], [], 0.0
    for key, (name, own) in stood.items():
        path = clip.positions(*key)
        targets, weights = np.zeros((len(clip), 12)), np.zeros(len(clip))
        targets[:, [0, 4, 8]] = 1.0
        targets[:, 9:] = path
        for contact in ledger:
            if (contact.frame, contact.point) == key and contact.place is not None:
                targets[contact.start : contact.end, 9:] = contact.place
                weights[contact.start : contact.end] = 1.0
        goal = Reach(key[0], path[0], point=key[1], name=f"{key[0]} {key[1]}")
        held.append(ClipGoal(goal, targets, weights, hard=True))
        pull = float(
            np.abs(path @ up - targets[:, 9:] @ up).max()
        )  # a point that is pulled down takes its neighbours along
        most = max(most, pull)
        floor = find_heights_below(float(np.nanmin(kin[find_kind(name)])), size, own, kin[find_kind(name)])
        near = (path @ up < floor + FLOOR_DISTANCE * size + pull) & (weights == 0.0)
        above += raise_point(*key, floor, up, near)
    swinging, ground = list_swinging(clip.model, ledger, carried=tipping is not None)
    none = np.full(len(clip), np.nan)
    below = [find_heights_below(ground, size, kin.get(find_kind(sole.name), none)) for sole in swinging]
    heights = [clip.positions(sole.frame, sole.point) @ up - b for sole, b in zip(swinging, below, strict=True)]
    edges = find_edges(clip.model)
    corners = [corner for sole in swinging if sole.name in edges for corner in edges[sole.name].corners]
    lowest = [*heights, *(clip.positions(corner.frame, corner.point) @ up - ground for corner in corners)]
    if not held and all((height >= -SAME_PLACE * size).all() for height in lowest):
        return []  # nothing moves the body
    for sole, height, floor in zip(swinging, heights, below, strict=True):
        near = height < FLOOR_DISTANCE * size + most
        above += raise_point(sole.frame, sole.point, floor, up, near)
        floors[sole.name] = ground + (edges[sole.name].stands if sole.name in edges else 0.0)
    return held + above + list_edge_goals(clip, ledger, floors, size, None if tipping is None else tipping.levels)


def find_stood(
    clip: Motion, ledger: Contacts, floors: dict[str, float]
) -> tuple[dict[Key, tuple[str, Floats]], dict[str, Floats]]:
    """Return the name of each point with the heights at which it stands, and these by kind of point, (frames,) [m].

    They are nan while none stands. `floors` are heights that replace those of the places, by name.
    """
    stood: dict[Key, tuple[str, Floats]] = {}
    kin: dict[str, Floats] = {}
    for contact in ledger:
        _, own = stood.setdefault((contact.frame, contact.point), (contact.name, np.full(len(clip), np.nan)))
        if contact.place is not None:
            own[contact.start : contact.end] = floors.get(
                contact.name, float(np.array(contact.place) @ clip.model.up_direction)
            )
    for name, own in stood.values():
        kind = find_kind(name)
        kin[kind] = np.fmin(kin.get(kind, own), own)
    return stood, kin


def raise_point(frame: str, point: Place, floor: Floats, up: Floats, near: NDArray[np.bool_]) -> list[ClipGoal]:
    """List the goal that keeps a point above floor heights, (frames,), in the frames flagged as near, if any."""
    if not near.any():
        return []
    first = HalfSpace(floor[0] * up, -up)
    targets = np.tile(pack_region((first,)), (len(floor), 1))
    targets[:, -1] = -floor
    goal = Inside(frame, first, point=point, name=f"{frame} {point} above the floor")
    return [ClipGoal(goal, targets, near.astype(np.float64), hard=True)]


def part_held(
    moved: Motion, ledger: Contacts, errors: dict[Key, Floats], limits: Sequence[Limit], most: float
) -> tuple[list[Contact], list[Released]]:
    """Split contacts into ranges of frames that hold to within `most` [m], and released ranges with their reasons."""
    kept: list[Contact] = []
    let_go: list[Released] = []
    shortest = max(2, round(0.1 * moved.fps))
    for contact in ledger:
        far = errors[contact.frame, contact.point][contact.start : contact.end, 0]
        holds = far <= most
        for a, b in find_runs(holds):
            if b - a >= shortest or (b - a) == len(contact):
                kept.append(replace(contact, start=contact.start + a, end=contact.start + b))
            else:
                holds[a:b] = False
        for a, b in find_runs(~holds):
            piece = replace(contact, start=contact.start + a, end=contact.start + b)
            worst = contact.start + a + int(np.argmax(far[a:b]))
            let_go.append(Released(piece, explain(moved, contact, float(far[a:b].max()), worst, limits)))
    return kept, let_go


def explain(moved: Motion, contact: Contact, far: float, t: int, limits: Sequence[Limit]) -> str:
    """Return the reason why a contact fails at a frame: its error, and the active limits of the joints above it."""
    held = list_holding(moved, limits, t, moved.model.joints_above(contact.frame))
    by = f"it is {1e3 * moved.model.metres_per_unit * far:.2f} mm out of reach"
    return f"{by}, {' and '.join(held[:3])}" if held else f"{by} next to the other contacts"


def read_contacts(clip: Motion, given: Contacts | str) -> Contacts:
    """Return the given contacts of a clip, or detect them."""
    if isinstance(given, Contacts):
        if given.frames != len(clip):
            raise InvalidValue(f"contacts are of a clip of {given.frames} frames; this one has {len(clip)}.")
        for contact in given:
            clip.model.frame(contact.frame)
        return given
    if given != "auto":
        raise InvalidValue(
            f"contacts is {given!r}; it must be 'auto' or Contacts, as poise.motion.contacts finds them."
        )
    return find_contacts(clip)


def fill_places(clip: Motion, ledger: Contacts) -> Contacts:
    """Return the contacts, each with a place: by default the mean position of its point."""

    def fill(contact: Contact) -> Contact:
        if contact.place is not None:
            return contact
        x = clip[contact.start : contact.end].positions(contact.frame, contact.point).mean(axis=0)
        return replace(contact, place=(x[0], x[1], x[2]))

    return replace(ledger, intervals=tuple(map(fill, ledger)))


def move_ground(ledger: Contacts, ground: float, up: Floats) -> Contacts:
    """Return the contacts with the floor moved to another height."""
    shift = 0.0 if ledger.floor is None else ground - ledger.floor

    def lift(contact: Contact) -> Contact:
        if contact.place is None:
            return contact
        place = np.array(contact.place) + shift * up
        return replace(contact, place=(place[0], place[1], place[2]))

    return replace(ledger, intervals=tuple(map(lift, ledger)), floor=ground)
