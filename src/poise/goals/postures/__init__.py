"""Postures: goals that attract the whole body to a pose, with a lower priority than all others."""
