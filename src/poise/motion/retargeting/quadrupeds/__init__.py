"""Retargeting from quadruped to quadruped: the legs of both bodies, and the goals that transfer the motion."""
