"""Whole motions: contacts that are found and held, goals along a clip, edits, and what a clip is worth in numbers."""

from poise.motion.finding import contacts
from poise.motion.ledger import Contact, Contacts
from poise.motion.locking import lock
from poise.motion.measures import Quality, quality
from poise.motion.result import Released, Track

__all__ = ["Contact", "Contacts", "Quality", "Released", "Track", "contacts", "lock", "quality"]
