"""Whole motions: contacts that are found and held, goals along a clip, edits, and what a clip is worth in numbers."""

from poise.motion.carried import Retargeted
from poise.motion.editing import edit
from poise.motion.finding import contacts
from poise.motion.ledger import Contact, Contacts
from poise.motion.locking import lock
from poise.motion.mapping import Mapping, Pair
from poise.motion.measures import Quality, quality
from poise.motion.result import Released, Track
from poise.motion.retargeter import Retargeter
from poise.motion.retargeting import retarget
from poise.motion.tracking import track

__all__ = [
    "Contact",
    "Contacts",
    "Mapping",
    "Pair",
    "Quality",
    "Released",
    "Retargeted",
    "Retargeter",
    "Track",
    "contacts",
    "edit",
    "lock",
    "quality",
    "retarget",
    "track",
]
