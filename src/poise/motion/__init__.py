"""Whole motions: contact detection and locking, clip goals, edits, retargeting and quality measures."""

from poise.motion.clips.edit import edit
from poise.motion.clips.lock import lock
from poise.motion.clips.quality import Quality, quality
from poise.motion.clips.result import Released, Track
from poise.motion.clips.spot_walk import add_path, measure_spot_speed
from poise.motion.contact.detector import contacts
from poise.motion.contact.ledger import Contact, Contacts
from poise.motion.live.follower import Follower
from poise.motion.live.live_solution import LiveSolution
from poise.motion.paths.track import track
from poise.motion.retargeting.hands.layouts import HandLayout
from poise.motion.retargeting.hands.points import hand_points
from poise.motion.retargeting.hands.stream import HandRetargeter
from poise.motion.retargeting.mapping import Mapping, Pair
from poise.motion.retargeting.offline import retarget
from poise.motion.retargeting.online import Retargeter
from poise.motion.retargeting.result import Retargeted

__all__ = [
    "Contact",
    "Contacts",
    "Follower",
    "HandLayout",
    "HandRetargeter",
    "LiveSolution",
    "Mapping",
    "Pair",
    "Quality",
    "Released",
    "Retargeted",
    "Retargeter",
    "Track",
    "add_path",
    "contacts",
    "edit",
    "hand_points",
    "lock",
    "measure_spot_speed",
    "quality",
    "retarget",
    "track",
]
