"""Motions in a scene: footholds on its surfaces, and a body that stays out of it."""
