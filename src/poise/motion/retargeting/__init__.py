"""Retargeting: a motion of one body transferred to another, offline or frame by frame."""
