"""Clips in the studio: player, timeline, edits, a second body."""
