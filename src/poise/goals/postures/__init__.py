"""Postures: goals that draw the whole body to a pose and live below all others."""
