"""Clips in the studio: player, timeline, editing, a second body."""
